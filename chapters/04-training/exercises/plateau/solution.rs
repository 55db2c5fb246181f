//! PyTorch's `ReduceLROnPlateau`, in Rust.

/// A learning rate that falls when the loss has stopped falling. The names are PyTorch's.
#[derive(Clone, Debug)]
pub struct ReduceOnPlateau {
    /// The rate of the next epoch.
    pub lr: f64,
    /// What the rate is multiplied by.
    pub factor: f64,
    /// Epochs in a row that may be no better than the best.
    pub patience: usize,
    /// A loss is better if it is below (1 − threshold) times the best.
    pub threshold: f64,
    /// Epochs after a reduction in which a bad one does not count.
    pub cooldown: usize,
    /// The lowest rate.
    pub min_lr: f64,
    /// The best loss so far.
    pub best: f64,
    /// Bad epochs since the best, since a reduction or since the end of its cooldown.
    pub bad: usize,
    /// Epochs that are left of the cooldown.
    pub cooling: usize,
}

impl ReduceOnPlateau {
    /// A rate, with PyTorch's defaults.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            factor: 0.1,
            patience: 10,
            threshold: 1e-4,
            cooldown: 0,
            min_lr: 0.0,
            best: f64::INFINITY,
            bad: 0,
            cooling: 0,
        }
    }

    /// Takes the loss of an epoch on held-out images, which is 0 or more, and returns the rate of the
    /// next one.
    pub fn step(&mut self, loss: f64) -> f64 {
        // EXERCISE: begin
        if loss < self.best * (1.0 - self.threshold) {
            self.best = loss;
            self.bad = 0;
        } else {
            self.bad += 1;
        }
        if self.cooling > 0 {
            self.cooling -= 1;
            self.bad = 0;
        }
        if self.bad > self.patience {
            self.lr = self.min_lr.max(self.factor * self.lr);
            self.cooling = self.cooldown;
            self.bad = 0;
        }
        // EXERCISE: instead
        // // No patience, no threshold, no cooldown, no floor.
        // let _ = (self.patience, self.threshold, self.cooldown, self.min_lr, self.bad, self.cooling);
        // if loss < self.best {
        //     self.best = loss;
        // } else {
        //     self.lr *= self.factor;
        // }
        // EXERCISE: end
        self.lr
    }
}
