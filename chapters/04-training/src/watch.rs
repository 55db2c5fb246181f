//! Who is told about the progress of a run, and who may stop it.

use crate::{chart::chart, config::Settings, error::short, fit::Outcome, loss::Tally};
use lab::{Device, progress::Progress};
use serde::{Deserialize, Serialize};

/// What is known before the first step.
#[derive(Clone, Debug)]
pub struct Begin {
    /// What the run computes.
    pub settings: Settings,
    /// Where.
    pub device: Device,
    /// The data set, in words.
    pub data: String,
    /// Training and test pictures.
    pub pictures: (usize, usize),
    /// Training pictures that are held back, to see when to stop.
    pub held_back: usize,
    /// Steps of an epoch.
    pub steps: usize,
    /// Epochs and further steps that an earlier part of this run has taken: (0, 0) for a new run.
    pub done: (usize, usize),
    /// The metrics of those epochs.
    pub history: Vec<Epoch>,
}

/// A step that was taken.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The epoch, from 1.
    pub epoch: usize,
    /// The step in it, from 1.
    pub step: usize,
    /// Steps of an epoch.
    pub steps: usize,
    /// The batch's mean loss.
    pub loss: f64,
    /// The learning rate of this step.
    pub lr: f64,
    /// The epoch's losses and right answers so far.
    pub tally: Tally,
}

/// An epoch's metrics: a line of `metrics.jsonl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// The epoch, from 1.
    pub epoch: usize,
    /// Mean loss of a training picture, with dropout, while the weights changed.
    pub train_loss: f64,
    /// Share of right answers among them.
    pub train_accuracy: f64,
    /// Mean loss of a test picture, after the epoch.
    pub test_loss: f64,
    /// Share of right answers among them.
    pub test_accuracy: f64,
    /// Mean loss of a training picture that was held back, if some were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_loss: Option<f64>,
    /// Share of right answers among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_accuracy: Option<f64>,
    /// Seconds of training, without the test.
    pub seconds: f64,
    /// Training pictures per second.
    pub images_per_second: f64,
}

impl std::fmt::Display for Epoch {
    /// The line that a person reads.
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(
            f,
            "epoch {:2}  train loss {:.4}, accuracy {:.2}%  test loss {:.4}, accuracy {:.2}%  \
             {:.2} s, {:.0} images/s",
            self.epoch,
            self.train_loss,
            100.0 * self.train_accuracy,
            self.test_loss,
            100.0 * self.test_accuracy,
            self.seconds,
            self.images_per_second
        )
    }
}

/// Follows a run. Every method has a default that does nothing.
pub trait Watcher {
    /// The run begins or goes on.
    fn begin(&mut self, _begin: &Begin) {}
    /// A step was taken.
    fn step(&mut self, _step: &Step) {}
    /// An epoch is over and tested.
    fn epoch(&mut self, _epoch: &Epoch) {}
    /// Something is not as it should be, and the run goes on.
    fn warn(&mut self, _words: &str) {}
    /// The run is over.
    fn end(&mut self, _outcome: &Outcome) {}
    /// Asked after every step: whether to leave a checkpoint and stop.
    fn stop(&mut self) -> bool {
        false
    }
}

/// Watches nothing and never stops a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watcher for Silent {}

/// Shows a run to the person who started it: a bar and the curves so far on a terminal, plain lines
/// elsewhere.
pub struct Terminal<'s> {
    progress: Progress,
    /// The epochs so far.
    history: Vec<Epoch>,
    stop: &'s dyn Fn() -> bool,
}

impl<'s> Terminal<'s> {
    /// A watcher that stops the run when `stop` says so.
    pub fn new(stop: &'s dyn Fn() -> bool) -> Self {
        Self { progress: Progress::hidden(), history: Vec::new(), stop }
    }
}

impl Watcher for Terminal<'_> {
    fn begin(&mut self, begin: &Begin) {
        let Settings { epochs, batch, lr, seed, model, precision, .. } = &begin.settings;
        let (epoch, step) = begin.done;
        self.history.clone_from(&begin.history);
        self.progress = Progress::new("training", (epochs * begin.steps) as u64);
        self.progress.println(&format!("data: {}", begin.data));
        self.progress.println(&format!(
            "{model} on {}, {precision}: {} pictures, {epochs} {} of {} steps, batch {batch}, \
             learning rate {}, seed {seed}",
            begin.device,
            begin.pictures.0,
            if *epochs == 1 { "epoch" } else { "epochs" },
            begin.steps,
            short(*lr)
        ));
        if begin.done != (0, 0) {
            self.progress
                .println(&format!("going on after {epoch} epochs and {step} steps of the next"));
            self.progress.inc((epoch * begin.steps + step) as u64);
        }
    }

    fn step(&mut self, step: &Step) {
        self.progress.inc(1);
        // Words cost more than the counting; nobody reads faster than this.
        if step.step.is_multiple_of(25) {
            self.progress.note(&format!(
                "epoch {}, loss {:.3}, accuracy {:.1}%",
                step.epoch,
                step.tally.mean_loss(),
                100.0 * step.tally.accuracy()
            ));
        }
    }

    fn epoch(&mut self, epoch: &Epoch) {
        self.progress.println(&epoch.to_string());
        self.history.push(*epoch);
        if let Some(width) = self.progress.width() {
            self.progress.below(&chart(&self.history, width));
        }
    }

    fn warn(&mut self, words: &str) {
        self.progress.println(&format!("warning: {words}"));
    }

    fn end(&mut self, outcome: &Outcome) {
        // The curves stay when the bar goes, with the epochs of the run's earlier parts.
        let curves = self.progress.width().map(|width| chart(&outcome.history, width));
        if let Some(curves) = curves.filter(|curves| !curves.is_empty()) {
            self.progress.println(&curves);
        }
        self.progress.finish();
    }

    fn stop(&mut self) -> bool {
        (self.stop)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_reads_as_a_line() {
        let epoch = Epoch {
            epoch: 3,
            train_loss: 0.123_44,
            train_accuracy: 0.9631,
            test_loss: 0.1,
            test_accuracy: 0.971,
            validation_loss: None,
            validation_accuracy: None,
            seconds: 1.5,
            images_per_second: 40_000.0,
        };
        assert_eq!(
            epoch.to_string(),
            "epoch  3  train loss 0.1234, accuracy 96.31%  test loss 0.1000, accuracy 97.10%  \
             1.50 s, 40000 images/s"
        );
    }
}
