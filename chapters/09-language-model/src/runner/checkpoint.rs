//! A run's whole state in one file, so that a run that was stopped, or killed, goes on with the very same numbers and the very
//! same files: what it has written down is a part of it. The file is one of the lab's checkpoints.

use crate::{
    Config, Error, Layout, Model, Result, Tokenizer,
    model::{RUINED, is_ruined},
    runner::text::Text,
    tokenizer::Pair,
    train::{Settings, Trainer, adamw::Moments},
};
use lab::run::{
    CHECKPOINT, Journal, Kind,
    checkpoint::{DAMAGED, pack, read, unpack},
    write_whole,
};
use mixed_precision::amp::scaler::LossScale;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The most minutes of a run by the clock.
pub(super) const MINUTES: f64 = 1e6;

/// What a run has reached at a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Steps taken.
    pub step: u64,
    /// Tokens read.
    pub tokens: u64,
    /// Seconds of the run so far: of training, of earlier points, and of the parts before it was gone on with.
    pub seconds: f64,
    /// Mean loss of the steps since the point before, in nats a token.
    pub loss: f64,
    /// Loss on the validation text, in nats a token.
    pub validation: f64,
    /// The same in bits for each byte of the text.
    pub bits_per_byte: f64,
    /// Tokens a second since the point before.
    pub tokens_per_second: f64,
    /// The learning rate.
    pub lr: f64,
    /// What the model writes from nothing.
    pub sample: String,
}

/// What a run has written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// What it knows about itself.
    #[serde(flatten)]
    pub journal: Journal,
    /// Why its text is not that of the crates, where it is not.
    pub note: Option<String>,
    /// The folder of its text, where it is not that of the crates.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// The merges of its tokenizer.
    pub merges: Vec<Pair>,
    /// Its points.
    pub points: Vec<Point>,
    /// The sum of the losses since the last point, and how many there are.
    pub losses: (f64, u64),
    /// Seconds of the run, and of its steps since the last point.
    pub seconds: f64,
    /// Those of its steps since the last point.
    pub training: f64,
}

impl Log {
    /// That of a run on this text which begins now.
    pub fn new(text: &Text) -> Self {
        Self {
            journal: Journal::new(text.identity()),
            note: text.note.clone(),
            folder: text.folder.clone(),
            merges: text.tokenizer.merges().to_vec(),
            points: Vec::new(),
            losses: (0.0, 0),
            seconds: 0.0,
            training: 0.0,
        }
    }
}

/// What a checkpoint says before its numbers.
#[derive(Serialize, Deserialize)]
pub(super) struct Header<L> {
    pub(super) config: Config,
    pub(super) settings: Settings,
    step: u64,
    #[serde(default)]
    loss_scale: Option<LossScale>,
    #[serde(flatten)]
    log: L,
}

impl<L> Header<L> {
    /// Whether a run can have these settings, and have come to this step.
    fn can_be(&self) -> bool {
        let Settings { batch, length, steps, seconds, .. } = self.settings;
        let skipped = self.loss_scale.map_or(0, |scale| scale.skipped);
        self.settings.check_run().is_ok()
            && self.step <= steps
            && self.step.checked_mul((batch * length) as u64).is_some()
            && u64::try_from(skipped).is_ok_and(|skipped| skipped <= self.step)
            && seconds.is_none_or(|seconds| seconds > 0.0 && seconds <= 60.0 * MINUTES)
    }
}

/// A run that was read.
pub struct Checkpoint {
    pub(super) header: Header<Log>,
    values: Vec<f32>,
}

/// Writes the whole state into a run's folder: header, parameters, both means.
///
/// # Errors
/// [`lab::Error::Damaged`] if it can't be written, [`Error::Diverged`] for what is no number, or far too large; what was there before is still whole.
pub fn save(folder: &Path, trainer: &Trainer, log: &Log) -> Result<()> {
    let Trainer { config, settings, step, .. } = *trainer;
    let (model, moments) = (trainer.model(), trainer.moments());
    let mut values = model.parameters.iter().chain(&moments.m).chain(&moments.v);
    if let Some(found) = values.find(|value| is_ruined(**value)) {
        let (found, lr) = (f64::from(*found), trainer.last_rate());
        return Err(Error::Diverged { step, lr, what: "a parameter or a mean", found });
    }
    let loss_scale = trainer.scaler.map(|scaler| scaler.state());
    let header = Header { config, settings, step, loss_scale, log };
    let bytes = pack(Kind::Text, &header, [&model.parameters, &moments.m, &moments.v])?;
    Ok(write_whole(&folder.join(CHECKPOINT), &bytes)?)
}

impl Checkpoint {
    /// Reads that of a run's folder.
    ///
    /// # Errors
    /// [`lab::Error::Damaged`] if there is none, or it is damaged.
    pub fn load(folder: &Path) -> Result<Self> {
        Ok(read(folder, |bytes| {
            let (header, values) = unpack::<Header<Log>>(Kind::Text, bytes)?;
            header.config.check().map_err(|_| DAMAGED)?;
            let whole = values.len() == 3 * Layout::new(&header.config).len;
            (whole && header.can_be()).then_some(()).ok_or(DAMAGED)?;
            if values.iter().any(|value| is_ruined(*value)) {
                return Err(RUINED);
            }
            Ok(Self { header, values })
        })?)
    }

    /// The folder of the run's text, where it is not that of the crates.
    pub fn folder(&self) -> Option<&Path> {
        self.header.log.folder.as_deref()
    }

    /// What makes the run's tokens.
    ///
    /// # Errors
    /// As [`Tokenizer::new`].
    pub fn tokenizer(&self) -> Result<Tokenizer> {
        Tokenizer::new(self.header.log.merges.clone())
    }

    /// The run that goes on, on the text that it began with, on so many threads (0 for all), and what it has written down.
    ///
    /// # Errors
    /// [`lab::Error::Damaged`] if it belongs to another text.
    pub fn resume(self, folder: &Path, text: &Text, threads: usize) -> Result<(Trainer, Log)> {
        let Header { config, settings, step, loss_scale, mut log } = self.header;
        if let Some(difference) = log.journal.identity.difference(&text.identity()) {
            let way = match (&log.note, &text.note) {
                _ if log.folder.is_some() => "put the folder's files back as they were".to_owned(),
                _ if text.folder.is_some() => "leave out --text".to_owned(),
                (None, Some(now)) => format!(
                    "{now}, and the run learned from the crates; go on with it where `cargo` is found, as by cargo run"
                ),
                (Some(then), None) => {
                    format!("when it began, {then}; go on with it there")
                }
                _ => format!(
                    "the text is made of the crates of this workspace; go on with it at commit {}",
                    log.journal.parts.first().map_or("unknown", |part| &part.commit)
                ),
            };
            let why = format!(
                "it is from a run with {difference}: {way}, or begin a new run in another folder with --run"
            );
            return Err(Error::file(&folder.join(CHECKPOINT), why));
        }
        log.folder.clone_from(&text.folder); // it may have moved
        let layout = Layout::new(&config);
        let mut parts = self.values.chunks_exact(layout.len.max(1)).map(<[f32]>::to_vec);
        let [parameters, m, v] = [(); 3].map(|()| parts.next().unwrap_or_default());
        let moments = Moments { m, v };
        let model = Model { config, layout, parameters, tokenizer: text.tokenizer.digest() };
        let parameters = model.parameters.clone();
        let mut trainer = Trainer::new(model, settings, &text.training, threads)?;
        if let (Some(scaler), Some(state)) = (&mut trainer.scaler, loss_scale) {
            scaler.set_state(state);
        }
        trainer.restore(step, &parameters, &moments);
        Ok((trainer, log))
    }
}
