//! A run's whole state in one file.
//!
//! The file is written next to its place, flushed to the disk and renamed: at every moment there is one whole
//! checkpoint, whatever kills the program. Its layout:
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `TPTRAIN4`; `TPGPT002` in one of chapter 9 |
//! | 8 | length of the header, little-endian |
//! | … | the header, JSON: a [`Header`] |
//! | … | weights, the optimizer's state, the best epoch's weights: little-endian `f32`, as many as the header says |
//! | 32 | SHA-256 of all that is before |

use crate::{
    Error, Result,
    config::{Schedule, Settings},
    error::short,
    learning::{journal::Identity, optimizer::State},
    runner::files::{self, write_whole},
};
use lab::files::open_regular;
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    io::{BufReader, ErrorKind, Read},
    path::Path,
};

pub use crate::learning::snapshot::{Checkpoint, Header, LossScale};

/// The file's name in a run's folder.
pub const FILE: &str = files::CHECKPOINT;

const DIGEST: usize = 32;

/// What a run trains, as the first bytes of its checkpoint say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of this chapter's models.
    Digits,
    /// Chapter 9's language model.
    Text,
}

impl Kind {
    /// The first bytes of a checkpoint of this version.
    const fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Digits => b"TPTRAIN4",
            Self::Text => b"TPGPT002",
        }
    }

    /// The kind that the bytes of a checkpoint begin with, of whatever version.
    fn of(bytes: &[u8]) -> Option<Self> {
        [Self::Digits, Self::Text].into_iter().find(|kind| bytes.starts_with(&kind.magic()[..7]))
    }

    /// The kind of the run in a folder, if it has a checkpoint.
    pub fn of_run(folder: &Path) -> Option<Self> {
        let mut first = [0; 8];
        open_regular(&folder.join(FILE)).ok()?.read_exact(&mut first).ok()?;
        Self::of(&first)
    }
}

/// When the run in a folder began, by its checkpoint, or by the first line of its metrics.
pub(crate) fn started(folder: &Path) -> Option<String> {
    let began = |json: Value| json["started"].as_str().map(str::to_owned);
    let of_header = || {
        let mut file = open_regular(&folder.join(FILE)).ok()?;
        let mut head = [[0; 8]; 2];
        file.read_exact(head.as_flattened_mut()).ok()?;
        Kind::of(&head[0])?;
        let header = BufReader::new(file.take(u64::from_le_bytes(head[1])));
        began(serde_json::from_reader(header).ok()?)
    };
    let of_metrics = || {
        let text = std::fs::read_to_string(folder.join(files::METRICS)).ok()?;
        began(serde_json::from_str(text.lines().next()?).ok()?)
    };
    of_header().or_else(of_metrics)
}

/// The bytes of a checkpoint: what a run is, and its values.
///
/// # Errors
/// None that a user can cause: the header is plain data.
pub fn pack<'v>(
    kind: Kind,
    header: &impl Serialize,
    values: impl IntoIterator<Item = &'v Vec<f32>>,
) -> Result<Vec<u8>> {
    let header = serde_json::to_vec(header)
        .map_err(|e| Error::Config(format!("the checkpoint can't be written: {e}")))?;
    let mut bytes = kind.magic().to_vec();
    bytes.extend((header.len() as u64).to_le_bytes());
    bytes.extend(header);
    for values in values {
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
    let digest = Sha256::digest(&bytes);
    bytes.extend(digest);
    Ok(bytes)
}

/// What is wrong with bytes that are no whole checkpoint, and the way out.
pub const DAMAGED: &str =
    "it is damaged or cut short; start a new run in another folder with --run";

/// Header and values of a checkpoint's bytes.
///
/// # Errors
/// A clause that says what is wrong with them, for any bytes.
pub fn unpack<H: DeserializeOwned>(
    kind: Kind,
    bytes: &[u8],
) -> Result<(H, Vec<f32>), &'static str> {
    const VERSION: &str = "it was written by another version of this program; go on with that one, or start a new run in \
                           another folder with --run";
    let Some(rest) = bytes.strip_prefix(kind.magic()) else {
        return Err(match Kind::of(bytes) {
            Some(same) if same == kind => VERSION,
            Some(Kind::Text) => {
                "this run is a language model's; leave out --model to go on with it"
            }
            Some(Kind::Digits) => {
                "this run's model is for digits; leave out --model to go on with it"
            }
            None => "it is not a checkpoint; start a new run in another folder with --run",
        });
    };
    let whole = bytes.len().checked_sub(DIGEST).ok_or(DAMAGED)?;
    if Sha256::digest(&bytes[..whole])[..] != bytes[whole..] {
        return Err(DAMAGED);
    }
    let body = rest.get(..rest.len() - DIGEST).ok_or(DAMAGED)?;
    let (length, body) = body.split_first_chunk::<8>().ok_or(DAMAGED)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| DAMAGED)?;
    let (header, values) = body.split_at_checked(length).ok_or(DAMAGED)?;
    let header = serde_json::from_slice(header).map_err(|_| VERSION)?;
    let (values, odd) = values.as_chunks::<4>();
    if !odd.is_empty() {
        return Err(DAMAGED);
    }
    Ok((header, values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()))
}

/// The bytes of the checkpoint in a run's folder.
///
/// # Errors
/// [`Error::Damaged`] if there is none or it can't be read.
fn bytes(folder: &Path) -> Result<Vec<u8>> {
    let path = folder.join(FILE);
    let mut bytes = Vec::new();
    match open_regular(&path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Ok(bytes),
        Err(e) if e.kind() == ErrorKind::NotFound => Err(missing(folder)),
        Err(e) => Err(Error::Damaged { path, why: format!("it can't be read ({e})") }),
    }
}

/// What `of` makes of the checkpoint in a run's folder.
///
/// # Errors
/// [`Error::Damaged`] if there is none, or `of` says why it is none.
pub fn read<T>(folder: &Path, of: impl FnOnce(&[u8]) -> Result<T, &'static str>) -> Result<T> {
    of(&bytes(folder)?)
        .map_err(|why| Error::Damaged { path: folder.join(FILE), why: why.to_owned() })
}

/// The kind of the run in a folder, whose checkpoint is whole.
///
/// # Errors
/// [`Error::Damaged`] if there is none or it is not whole.
pub fn whole(folder: &Path) -> Result<Kind> {
    read(folder, |bytes| {
        let kind = Kind::of(bytes).unwrap_or(Kind::Digits);
        unpack::<IgnoredAny>(kind, bytes).map(|_| kind)
    })
}

impl Checkpoint {
    /// The bytes of the file.
    ///
    /// # Errors
    /// As [`pack`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let values = [&self.weights].into_iter().chain(&self.optimizer.slots).chain([&self.best]);
        pack(Kind::Digits, &self.header, values)
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
    /// [`Error::Damaged`] if the folder can't be written or the disk is full; the file before is still whole.
    pub fn save(&self, folder: &Path) -> Result<()> {
        write_whole(&folder.join(FILE), &self.to_bytes()?)
    }

    /// Reads the file of a run's folder.
    ///
    /// # Errors
    /// [`Error::Damaged`] if there is none or it is not whole.
    pub fn load(folder: &Path) -> Result<Self> {
        read(folder, Self::from_bytes)
    }
}

/// The message for a folder without a checkpoint. A new run replaces it if it contains no results.
pub(crate) fn missing(folder: &Path) -> Error {
    let way = if files::ALL.iter().any(|name| folder.join(name).exists()) {
        "start a new run in another folder with --run"
    } else {
        "leave out --resume to start a new run"
    };
    let why = format!("there is no checkpoint to go on from; {way}");
    Error::Damaged { path: folder.join(FILE), why }
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
    for (flag, saved, asked) in pairs {
        if saved != asked {
            return Err(Error::Mismatch { path: path.join(FILE), flag, saved, asked });
        }
    }
    // A rate that falls to zero at the end can't be given a later end afterwards.
    if old.schedule == Schedule::Cosine && asked.epochs != old.epochs {
        return Err(Error::Mismatch {
            path: path.join(FILE),
            flag: "--epochs",
            saved: old.epochs.to_string(),
            asked: asked.epochs.to_string(),
        });
    }
    if asked.epochs < saved.epoch {
        return Err(Error::Config(format!(
            "{} has trained for {} epochs already, more than --epochs {}",
            path.display(),
            saved.epoch,
            asked.epochs
        )));
    }
    if let Some(difference) = saved.identity.difference(data) {
        return Err(Error::Config(format!(
            "{} is from a run with {difference}; name its data set with --data, or start a new run without --resume",
            path.join(FILE).display()
        )));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::learning::{
        journal::{Event, Part},
        loss::Tally,
        metrics::Epoch,
        optimizer::Rule,
    };
    use std::fs;

    /// A checkpoint with something in every field.
    pub(crate) fn sample() -> Checkpoint {
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
                identity: Identity::new([("test set", "ab".into())]),
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
                started: "2025-01-01T00:00:00Z".into(),
                parts: vec![Part::begins(0, "cpu", "drawn digits")],
                events: vec![Event::now(20, &[("loss/step", 0.1 + 0.2)])],
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
    fn every_changed_byte_and_every_cut_is_refused() {
        let bytes = sample().to_bytes().unwrap();
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            assert!(Checkpoint::from_bytes(&bad).is_err(), "byte {at}");
            assert!(Checkpoint::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(Checkpoint::from_bytes(&longer).is_err());
    }

    #[test]
    fn a_true_checksum_over_nonsense_is_refused() {
        for body in [&b""[..], b"\xff\xff\xff\xff\xff\xff\xff\xff", b"\x02\0\0\0\0\0\0\0{}abc"] {
            let mut bytes = [&Kind::Digits.magic()[..], body].concat();
            let digest = Sha256::digest(&bytes);
            bytes.extend(digest);
            assert!(Checkpoint::from_bytes(&bytes).is_err(), "{body:?}");
        }
    }

    #[test]
    fn foreign_and_missing_files_get_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let said = |folder: &Path| Checkpoint::load(folder).unwrap_err().to_string();
        assert!(said(folder.path()).contains("no checkpoint to go on from"));
        fs::create_dir(folder.path().join(FILE)).unwrap();
        assert!(said(folder.path()).contains("not a regular file"));
        fs::remove_dir(folder.path().join(FILE)).unwrap();
        fs::write(folder.path().join(FILE), b"PK\x03\x04").unwrap();
        assert!(said(folder.path()).contains("it is not a checkpoint"));
        fs::write(folder.path().join(FILE), b"TPTRAIN9 the future").unwrap();
        assert!(said(folder.path()).contains("another version"));
        fs::write(folder.path().join(FILE), b"TPGPT001 ...").unwrap();
        assert!(said(folder.path()).contains("language model's; leave out --model"));
        assert_eq!(Kind::of_run(folder.path()), Some(Kind::Text));
        let bytes = sample().to_bytes().unwrap();
        fs::write(folder.path().join(FILE), &bytes[..bytes.len() / 2]).unwrap();
        assert!(said(folder.path()).contains("damaged or cut short"));
        assert!(whole(folder.path()).is_err());
        fs::write(folder.path().join(FILE), &bytes).unwrap();
        assert_eq!(whole(folder.path()).unwrap(), Kind::Digits);
        assert_eq!(started(folder.path()), Some(sample().header.started));
    }

    #[test]
    fn a_difference_is_named_by_its_option() {
        let header = sample().header;
        let same = header.settings.clone();
        let path = Path::new("runs/x");
        let data = header.identity.clone();
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
