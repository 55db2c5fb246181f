//! A run's whole state in one file, as the lab packs it, and whether a run that goes on is the one that left it.

use crate::{
    Error, Result,
    config::{Schedule, Settings},
    learning::optimizer::State,
};
use lab::{
    out::short,
    run::{
        CHECKPOINT, Identity, Kind,
        checkpoint::{DAMAGED, pack, read, unpack},
        write_whole,
    },
};
use std::path::Path;

pub use crate::learning::snapshot::{Checkpoint, Header, LossScale};

impl Checkpoint {
    /// The bytes of the file.
    ///
    /// # Errors
    /// As [`pack`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let values = [&self.weights].into_iter().chain(&self.optimizer.slots).chain([&self.best]);
        Ok(pack(Kind::Digits, &self.header, values)?)
    }

    /// A checkpoint from the bytes of a file.
    ///
    /// # Errors
    /// As [`unpack`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, &'static str> {
        let (header, values) = unpack::<Header>(Kind::Digits, bytes)?;
        let [all, learned] = header.numbers;
        let slots = header.settings.optimizer.memory();
        let best = if header.best.is_some() { all } else { 0 };
        let wanted = learned
            .checked_mul(slots)
            .and_then(|state| state.checked_add(all))
            .and_then(|most| most.checked_add(best));
        if wanted != Some(values.len()) || header.steps < 0 {
            return Err(DAMAGED);
        }
        let (weights, rest) = values.split_at(all);
        let (state, best) = rest.split_at(learned * slots);
        let slots = if slots == 0 {
            Vec::new()
        } else {
            state.chunks(learned.max(1)).map(<[f32]>::to_vec).collect()
        };
        // Steps that were skipped are none for the optimizer.
        let skipped = header.loss_scale.map_or(0, |scale| scale.skipped);
        let t = header.steps.checked_sub(skipped).filter(|t| *t >= 0).ok_or(DAMAGED)?;
        let optimizer = State { t, slots };
        Ok(Self { header, weights: weights.to_vec(), optimizer, best: best.to_vec() })
    }

    /// Writes the file into a run's folder, replacing the one before.
    ///
    /// # Errors
    /// [`lab::Error::Damaged`] if the folder can't be written or the disk is full; the file before is still whole.
    pub fn save(&self, folder: &Path) -> Result<()> {
        Ok(write_whole(&folder.join(CHECKPOINT), &self.to_bytes()?)?)
    }

    /// Reads the file of a run's folder.
    ///
    /// # Errors
    /// [`lab::Error::Damaged`] if there is none or it is not whole.
    pub fn load(folder: &Path) -> Result<Self> {
        Ok(read(folder, Self::from_bytes)?)
    }
}

/// Checks that a run with `asked` is the one that left `saved`. More epochs are no contradiction, unless the
/// learning rate falls towards the last one.
///
/// # Errors
/// [`Error::Mismatch`] that names the first option that differs.
pub fn check(path: &Path, saved: &Header, asked: &Settings, data: &Identity) -> Result<()> {
    let old = &saved.settings;
    let limit = |limit: Option<usize>| limit.map_or("all".to_owned(), |n| n.to_string());
    let patience = |epochs: Option<usize>| epochs.map_or("none".to_owned(), |n| n.to_string());
    let pairs = [
        ("--model", old.model.to_string(), asked.model.to_string()),
        ("--precision", old.precision.to_string(), asked.precision.to_string()),
        ("--engine", old.engine.to_string(), asked.engine.to_string()),
        ("--optimizer", old.optimizer.to_string(), asked.optimizer.to_string()),
        ("--batch", old.batch.to_string(), asked.batch.to_string()),
        ("--lr", short(old.lr), short(asked.lr)),
        ("--schedule", old.schedule.to_string(), asked.schedule.to_string()),
        ("--warmup", old.warmup.to_string(), asked.warmup.to_string()),
        ("--decay", short(old.decay), short(asked.decay)),
        ("--dropout", old.dropout.to_string(), asked.dropout.to_string()),
        ("--augment", old.augment.to_string(), asked.augment.to_string()),
        ("--patience", patience(old.patience), patience(asked.patience)),
        ("--seed", old.seed.to_string(), asked.seed.to_string()),
        ("--limit", limit(old.limit), limit(asked.limit)),
        ("--accumulate", limit(old.accumulate), limit(asked.accumulate)),
    ];
    let falls = old.schedule == Schedule::Cosine;
    let epochs = ("--epochs", old.epochs.to_string(), asked.epochs.to_string());
    // A rate that falls to zero at the end can't be given a later end afterwards.
    for (flag, saved, asked) in pairs.into_iter().chain(falls.then_some(epochs)) {
        if saved != asked {
            return Err(Error::Mismatch { path: path.join(CHECKPOINT), flag, saved, asked });
        }
    }
    if saved.masks != asked.masks() {
        return Err(Error::Config(format!(
            "{} is from a version of the course whose dropout draws other masks; go on with that version, or start a new run \
             without --resume",
            path.join(CHECKPOINT).display()
        )));
    }
    if asked.epochs < saved.epoch {
        return Err(Error::Config(format!(
            "{} has trained for {} epochs already, more than --epochs {}",
            path.display(),
            saved.epoch,
            asked.epochs
        )));
    }
    if let Some(difference) = saved.journal.identity.difference(data) {
        return Err(Error::Config(format!(
            "{} is from a run with {difference}; name its data set with --data, or start a new run without --resume",
            path.join(CHECKPOINT).display()
        )));
    }
    Ok(())
}
