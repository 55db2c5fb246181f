//! A run's folder that is kept up with the run.

use crate::{
    Result,
    run::{
        events::EventFile,
        files::{CURVES, write_metrics, write_whole},
        folder::Folder,
        journal::{Event, Journal, Part},
    },
};
use serde::Serialize;
use std::time::{Duration, Instant};

/// A run's folder that is kept up with the run.
#[derive(Debug)]
pub struct Kept {
    /// The folder.
    pub folder: Folder,
    events: EventFile,
    /// This part of the run, until it takes a step.
    part: Option<Part>,
    /// The longest time without a checkpoint, and when the last was written.
    every: Duration,
    saved: Instant,
}

impl Kept {
    /// The folder of a run that begins with this part, or goes on. A checkpoint is written `every` so often at least.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] if its event file can't be written.
    pub fn open(
        folder: Folder,
        journal: &mut Journal,
        part: Part,
        every: Duration,
    ) -> Result<Self> {
        let events = EventFile::create(folder.path(), Event::now(0, &[]).time, &journal.events)?;
        let mut kept = Self { folder, events, part: Some(part), every, saved: Instant::now() };
        if journal.parts.is_empty() {
            kept.step(journal); // a run has a part from its beginning on
        }
        Ok(kept)
    }

    /// A step was taken.
    pub fn step(&mut self, journal: &mut Journal) {
        journal.parts.extend(self.part.take());
    }

    /// Adds points to the curves.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] if they can't be written.
    pub fn note(&mut self, journal: &mut Journal, step: u64, points: &[(&str, f64)]) -> Result<()> {
        let event = Event::now(step, points);
        self.events.add(&event)?;
        journal.events.push(event);
        Ok(())
    }

    /// Whether a checkpoint is due by the clock.
    pub fn is_late(&self) -> bool {
        self.saved.elapsed() >= self.every
    }

    /// Writes what follows from a checkpoint: the metrics, which are a line `about` the run and one for each entry, and the
    /// curves, if there are entries.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] if they can't be written.
    pub fn derive(
        &mut self,
        journal: &Journal,
        mut about: serde_json::Value,
        entries: &[impl Serialize],
        curves: impl FnOnce() -> String,
    ) -> Result<()> {
        about["identity"] = serde_json::json!(journal.identity);
        about["started"] = serde_json::json!(journal.started);
        about["parts"] = serde_json::json!(journal.parts);
        write_metrics(self.folder.path(), &about, entries)?;
        if !entries.is_empty() {
            write_whole(&self.folder.path().join(CURVES), curves().as_bytes())?;
        }
        self.saved = Instant::now();
        Ok(())
    }
}
