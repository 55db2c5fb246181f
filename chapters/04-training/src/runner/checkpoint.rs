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
    ];
    let falls = old.schedule == Schedule::Cosine;
    let epochs = ("--epochs", old.epochs.to_string(), asked.epochs.to_string());
    // A rate that falls to zero at the end can't be given a later end afterwards.
    for (flag, saved, asked) in pairs.into_iter().chain(falls.then_some(epochs)) {
        if saved != asked {
            return Err(Error::Mismatch { path: path.join(CHECKPOINT), flag, saved, asked });
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learning::{loss::Tally, metrics::Epoch, optimizer::Rule};
    use lab::run::{Event, Journal, Part};

    /// A checkpoint with something in every field.
    fn sample() -> Checkpoint {
        let epoch = Epoch {
            epoch: 1,
            train_loss: 0.1 + 0.2,
            train_accuracy: 1.0 / 3.0,
            test_loss: 0.7,
            test_accuracy: 0.9,
            validation_loss: Some(0.2 + 0.4),
            validation_accuracy: None,
            seconds: 1.5,
            images_per_second: 1e4 / 3.0,
        };
        Checkpoint {
            header: Header {
                settings: Settings { lr: 1.0 / 3.0, ..Settings::default() },
                epoch: 1,
                step: 17,
                steps: 486,
                loss_scale: None,
                numbers: [3, 2],
                tally: Tally { loss: 2.0 / 7.0, right: 900, seen: 1000 },
                epoch_seconds: 0.3,
                seconds: 2.1,
                history: vec![epoch],
                best: Some(1),
                journal: Journal {
                    parts: vec![Part::begins(0, "cpu", "drawn digits")],
                    events: vec![Event::now(20, &[("loss/step", 0.1 + 0.2)])],
                    ..Journal::new(Identity::new([("test set", "ab".into())]))
                },
            },
            weights: vec![1.0, -0.0, f32::MIN_POSITIVE / 8.0],
            optimizer: State { t: 486, slots: vec![vec![0.1, 0.2], vec![1e-30, 2.0]] },
            best: vec![0.5, 1.5, 2.5],
        }
    }

    #[test]
    fn comes_back_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let saved = sample();
        saved.save(folder.path()).unwrap();
        let loaded = Checkpoint::load(folder.path()).unwrap();
        assert_eq!(loaded, saved);
        assert_eq!(loaded.to_bytes().unwrap(), saved.to_bytes().unwrap());
    }

    #[test]
    fn skipped_steps_are_none_for_the_optimizer() {
        let mut saved = sample();
        saved.header.loss_scale = Some(LossScale { scale: 1024.0, good: 7, skipped: 6 });
        saved.optimizer.t = 480;
        assert_eq!(Checkpoint::from_bytes(&saved.to_bytes().unwrap()).unwrap(), saved);
        saved.header.loss_scale = Some(LossScale { scale: 1024.0, good: 7, skipped: 487 });
        assert!(Checkpoint::from_bytes(&saved.to_bytes().unwrap()).is_err());
        saved.header.loss_scale = None;
        saved.weights.push(0.0); // more numbers than the header says
        assert!(Checkpoint::from_bytes(&saved.to_bytes().unwrap()).is_err());
    }

    #[test]
    fn rules_with_and_without_memory_come_back() {
        for (rule, slots) in [(Rule::Sgd, 0), (Rule::Momentum, 1), (Rule::AdamW, 2)] {
            let mut saved = sample();
            saved.header.settings.optimizer = rule;
            saved.optimizer.slots.truncate(slots);
            (saved.header.best, saved.best) = (None, Vec::new());
            assert_eq!(Checkpoint::from_bytes(&saved.to_bytes().unwrap()).unwrap(), saved);
        }
    }

    #[test]
    fn a_difference_is_named_by_its_option() {
        let header = sample().header;
        let same = header.settings.clone();
        let path = Path::new("runs/x");
        let data = header.journal.identity.clone();
        check(path, &header, &same, &data).unwrap();
        check(path, &header, &Settings { epochs: 99, ..same.clone() }, &data).unwrap();
        let others = [
            (Settings { batch: 7, ..same.clone() }, "--batch 128, not 7"),
            (Settings { lr: 0.5, ..same.clone() }, "--lr 0.333"),
            (Settings { seed: 5, ..same.clone() }, "--seed 0, not 5"),
            (Settings { limit: Some(5), ..same.clone() }, "--limit all, not 5"),
            (Settings { optimizer: Rule::Sgd, ..same.clone() }, "--optimizer adam, not sgd"),
            (Settings { schedule: Schedule::Cosine, ..same.clone() }, "--schedule constant"),
            (Settings { warmup: 3, ..same.clone() }, "--warmup 0, not 3"),
            (Settings { decay: 0.5, ..same.clone() }, "--decay 0, not 0.5"),
            (Settings { dropout: 0.5, ..same.clone() }, "--dropout 0.2, not 0.5"),
            (Settings { augment: true, ..same.clone() }, "--augment false, not true"),
            (Settings { patience: Some(2), ..same.clone() }, "--patience none, not 2"),
            (Settings { epochs: 0, ..same.clone() }, "--epochs 0"),
        ];
        for (asked, said) in others {
            let error = check(path, &header, &asked, &data).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let mut falls = header.clone();
        falls.settings.schedule = Schedule::Cosine;
        let longer = Settings { epochs: 99, ..falls.settings.clone() };
        let error = check(path, &falls, &longer, &data).unwrap_err().to_string();
        assert!(error.contains("--epochs 10, not 99"), "{error}");
        let other = Identity::new([("test set", "cd".into())]);
        let error = check(path, &header, &same, &other).unwrap_err().to_string();
        assert!(error.contains("another test set (ab; now cd)"), "{error}");
    }
}
