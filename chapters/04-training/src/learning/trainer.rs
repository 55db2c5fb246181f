//! A run in memory: what is trained, and where it is.

use crate::{
    Error, Result,
    config::Settings,
    learning::{
        engine::Engine,
        loss::Tally,
        metrics::Epoch,
        snapshot::{Checkpoint, Header},
        step::Stepper,
    },
};
use backprop::train::exploded;
use lab::run::{Identity, Journal};
use std::time::Instant;

/// A run in memory: what is trained, and where it is.
pub struct Trainer<'s, D: Engine> {
    /// What is trained.
    pub stepper: &'s mut dyn Stepper<Device = D>,
    /// Where the run is.
    pub at: Header,
    /// The weights after the epoch [`Header::best`]; empty without one.
    pub best: Vec<f32>,
    /// Steps that were begun and are not counted yet.
    pub begun: usize,
    /// Whether somebody waits for a run without any, to look at it as a whole.
    pub waits: bool,
    /// The learning rate of the last step.
    lr: f64,
    /// When the last lap ended.
    lap: Instant,
}

impl<'s, D: Engine> Trainer<'s, D> {
    /// A run at its beginning, on this data.
    ///
    /// # Errors
    /// The stepper's.
    pub fn new(
        stepper: &'s mut dyn Stepper<Device = D>,
        settings: Settings,
        identity: Identity,
    ) -> Result<Self> {
        let at = Header {
            masks: settings.masks(),
            settings,
            epoch: 0,
            step: 0,
            steps: 0,
            loss_scale: stepper.loss_scale(),
            numbers: [stepper.parameters()?.len(), stepper.learned()],
            best: None,
            tally: Tally::default(),
            epoch_seconds: 0.0,
            seconds: 0.0,
            history: Vec::new(),
            journal: Journal::new(identity),
        };
        let (lr, lap) = (at.settings.lr, Instant::now());
        Ok(Self { stepper, best: Vec::new(), begun: 0, waits: false, lr, at, lap })
    }

    /// Goes on from a checkpoint with a stepper that has just been built, as it was in the run's first life.
    ///
    /// # Errors
    /// The stepper's.
    pub fn resume(
        stepper: &'s mut dyn Stepper<Device = D>,
        dev: &D,
        settings: Settings,
        saved: Checkpoint,
    ) -> Result<Self> {
        stepper.restore(dev, &saved)?;
        let at = Header { settings, ..saved.header };
        let (lr, lap) = (at.settings.lr, Instant::now());
        Ok(Self { stepper, best: saved.best, begun: 0, waits: false, lr, at, lap })
    }

    /// Whether there is nothing left to do: all epochs are over, or patience is.
    pub fn is_over(&self) -> bool {
        let since_best = self.at.best.map_or(0, |best| self.at.epoch - best);
        self.at.epoch >= self.at.settings.epochs
            || self.at.settings.patience.is_some_and(|patience| since_best >= patience)
    }

    /// Starts the clock.
    pub fn start_clock(&mut self) {
        self.lap = Instant::now();
    }

    /// Adds the seconds since the last lap to those of the run, and returns them.
    fn lap(&mut self) -> f64 {
        let seconds = self.lap.elapsed().as_secs_f64();
        self.lap = Instant::now();
        self.at.seconds += seconds;
        seconds
    }

    /// Adds the seconds since the last lap to those of the epoch's training.
    pub fn lap_of_training(&mut self) {
        self.at.epoch_seconds += self.lap();
    }

    /// Counts a step that was taken at this learning rate. Returns its mean loss.
    ///
    /// # Errors
    /// [`Error::Diverged`].
    pub fn count_step(&mut self, lr: f64, counted: Tally) -> Result<f64> {
        self.lr = lr;
        self.at.loss_scale = self.stepper.loss_scale();
        self.at.tally += counted;
        self.at.step += 1;
        self.at.steps += 1;
        self.learnable(counted.mean_loss())
    }

    /// Closes the epoch with its tests.
    ///
    /// # Errors
    /// [`Error::Diverged`].
    pub fn count_epoch(&mut self, tested: Tally, held: Option<Tally>) -> Result<()> {
        for tally in [Some(&tested), held.as_ref()].into_iter().flatten() {
            self.learnable(tally.mean_loss())?;
        }
        self.lap();
        let at = &mut self.at;
        at.epoch += 1;
        at.history.push(Epoch {
            epoch: at.epoch,
            train_loss: at.tally.mean_loss(),
            train_accuracy: at.tally.accuracy(),
            test_loss: tested.mean_loss(),
            test_accuracy: tested.accuracy(),
            validation_loss: held.as_ref().map(Tally::mean_loss),
            validation_accuracy: held.as_ref().map(Tally::accuracy),
            seconds: at.epoch_seconds,
            images_per_second: at.tally.seen as f64 / at.epoch_seconds,
        });
        (at.step, at.tally, at.epoch_seconds) = (0, Tally::default(), 0.0);
        if held.is_some() {
            self.keep_if_best()?;
        }
        Ok(())
    }

    /// Keeps the weights, if the last epoch's loss on the held-out images is the smallest so far.
    fn keep_if_best(&mut self) -> Result<()> {
        let loss = |epoch: &Epoch| epoch.validation_loss.unwrap_or(f64::INFINITY);
        let Some((now, before)) = self.at.history.split_last() else { return Ok(()) };
        if before.iter().all(|epoch| loss(now) < loss(epoch)) {
            self.at.best = Some(self.at.epoch);
            self.best = self.stepper.parameters()?;
        }
        Ok(())
    }

    /// The run as it is now, on the host.
    ///
    /// # Errors
    /// [`Error::Diverged`] if it has values that are not finite: the loss shows them only in the step after, and
    /// they must not replace good ones.
    pub fn checkpoint(&self) -> Result<Checkpoint> {
        let weights = self.stepper.parameters()?;
        let optimizer = self.stepper.state()?;
        if weights.iter().chain(optimizer.slots.iter().flatten()).any(|value| !value.is_finite()) {
            let what = "a weight or a mean of the optimizer became infinite or NaN";
            return Err(self.diverged(what.to_owned()));
        }
        Ok(Checkpoint { header: self.at.clone(), weights, optimizer, best: self.best.clone() })
    }

    /// The weights that the run has come to: the best epoch's, if there are held-out images.
    ///
    /// # Errors
    /// The stepper's.
    pub fn weights(&self) -> Result<Vec<f32>> {
        if self.best.is_empty() { self.stepper.parameters() } else { Ok(self.best.clone()) }
    }

    /// The loss, if it can be trained on.
    fn learnable(&self, loss: f64) -> Result<f64> {
        if loss >= 0.0 && !exploded(loss) {
            return Ok(loss);
        }
        Err(self.diverged(format!("the loss became {loss:.3e}")))
    }

    /// `what` happened in the step that was taken last.
    fn diverged(&self, what: String) -> Error {
        let Header { epoch, step, steps, .. } = self.at;
        let Settings { lr: chosen, decay, .. } = self.at.settings;
        // Between two epochs it is the last step of the one that is over.
        let (epoch, step) = if step > 0 || epoch == 0 {
            (epoch + 1, step)
        } else {
            (epoch, steps as usize / epoch)
        };
        Error::Diverged { epoch, step, lr: self.lr, chosen, decay, what }
    }
}
