//! A run as the terminal shows it.

use crate::{
    config::Settings,
    learning::metrics::{Epoch, Step},
    runner::{
        chart::chart,
        outcome::Outcome,
        watch::{Begin, Watcher},
    },
};
use lab::{out::short, progress::Progress};

/// Shows a run on the terminal: a bar and the curves so far on a terminal, plain lines
/// elsewhere.
pub struct Terminal<'s> {
    progress: Progress,
    /// The epochs so far.
    history: Vec<Epoch>,
    stop: &'s (dyn Fn() -> bool + Sync),
}

impl<'s> Terminal<'s> {
    /// A watcher that stops the run when `stop` says so.
    pub fn new(stop: &'s (dyn Fn() -> bool + Sync)) -> Self {
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
        let many = |n: usize, what| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        self.progress.println(&format!(
            "{model} on {}, {precision}: {}, {} of {}, batch {batch}, learning rate {}, \
             seed {seed}",
            begin.device,
            many(begin.images.0, "image"),
            many(*epochs, "epoch"),
            many(begin.steps, "step"),
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
        if step.step == step.steps {
            // The test that comes now takes its time and counts no steps.
            self.progress.note("testing");
        } else if step.step.is_multiple_of(25) {
            // Printing costs more than counting; faster than this is not readable.
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

    fn stop_testing(&mut self) -> bool {
        (self.stop)()
    }
}
