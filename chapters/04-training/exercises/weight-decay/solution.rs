//! Weight decay: in Adam's gradient, or decoupled from it. Loshchilov and Hutter 2019, algorithm 2.

/// How much Adam's two means keep of themselves.
pub const BETAS: [f32; 2] = [0.9, 0.999];
/// Keeps the division away from zero.
pub const EPSILON: f32 = 1e-8;

/// Where a weight's decay takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decay {
    /// In the gradient, which gains this times the weight: Adam with L2.
    Gradient(f32),
    /// Decoupled from Adam's step: the weight also loses `lr` times this, times itself. `AdamW`.
    Step(f32),
}

/// Adam's memory.
#[derive(Clone, Debug, Default)]
pub struct Adam {
    /// Running means of the gradients, one for each weight; empty before the first step.
    m: Vec<f32>,
    /// Running means of their squares.
    v: Vec<f32>,
    /// Steps taken.
    t: i32,
}

impl Adam {
    /// One step of the weights `p` with the gradients `g`.
    pub fn step(&mut self, p: &mut [f32], g: &[f32], lr: f32, decay: Decay) {
        self.m.resize(p.len(), 0.0);
        self.v.resize(p.len(), 0.0);
        self.t += 1;
        let [beta1, beta2] = BETAS;
        let (part1, part2) = (1.0 - beta1.powi(self.t), 1.0 - beta2.powi(self.t));
        let means = self.m.iter_mut().zip(&mut self.v);
        for ((p, (m, v)), g) in p.iter_mut().zip(means).zip(g) {
            // EXERCISE: begin
            let (inside, outside) = match decay {
                Decay::Gradient(decay) => (decay * *p, 0.0),
                Decay::Step(decay) => (0.0, decay * *p),
            };
            let g = g + inside;
            *m = beta1 * *m + (1.0 - beta1) * g;
            *v = beta2 * *v + (1.0 - beta2) * g * g;
            *p -= lr * ((*m / part1) / ((*v / part2).sqrt() + EPSILON) + outside);
            // EXERCISE: instead
            // let _ = decay; // nothing decays
            // *m = beta1 * *m + (1.0 - beta1) * g;
            // *v = beta2 * *v + (1.0 - beta2) * g * g;
            // *p -= lr * (*m / part1) / ((*v / part2).sqrt() + EPSILON);
            // EXERCISE: end
        }
    }
}
