//! The images of a run: for training, held out for early stopping, and for the test.

use crate::{
    Error, Result,
    config::Settings,
    learning::engine::{Engine, Resident},
};
use lab::data::{DataSet, Split};
use sha2::{Digest, Sha256};
use std::{borrow::Cow, fmt::Write as _};

/// A run's images, on its device.
pub struct Sets<D: Engine> {
    /// For training.
    pub train: Resident<D>,
    /// Held out from these, with patience: for early stopping.
    pub held: Option<Resident<D>>,
    /// The exam.
    pub test: Resident<D>,
}

impl<D: Engine> Sets<D> {
    /// Moves them onto the device.
    ///
    /// # Errors
    /// [`Error::Config`] if they do not fit the models or are too few, [`Error::Device`].
    pub fn new(dev: &D, settings: &Settings, data: &DataSet) -> Result<Self> {
        let train = seen(settings, data);
        let (learn, held) = split(&train, settings)?;
        let learn = learn.as_ref().unwrap_or(&train);
        let train = Resident::new(dev, learn)?;
        let train = if settings.augment { train.with_bytes(learn) } else { train };
        let held = held.as_ref().map(|held| Resident::new(dev, held)).transpose()?;
        Ok(Self { train, held, test: Resident::new(dev, &data.test)? })
    }
}

/// The training images that a run with these settings sees.
pub fn seen<'d>(settings: &Settings, data: &'d DataSet) -> Cow<'d, Split> {
    match settings.limit {
        Some(limit) => Cow::Owned(data.train.first(limit)),
        None => Cow::Borrowed(&data.train),
    }
}

/// SHA-256 of the images and labels that a run trains on.
pub fn fingerprint(split: &Split) -> String {
    let mut sha = Sha256::new();
    sha.update((split.labels.len() as u64).to_le_bytes());
    sha.update(&split.images);
    sha.update(&split.labels);
    sha.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// With patience, the first five sixths of the training images, and the rest for early stopping.
fn split(train: &Split, settings: &Settings) -> Result<(Option<Split>, Option<Split>)> {
    if settings.patience.is_none() {
        return Ok((None, None));
    }
    let held = train.len() / 6;
    if held == 0 {
        return Err(Error::Config(format!(
            "--patience holds out a sixth of the training images, and there are only {}",
            train.len()
        )));
    }
    let learn = train.first(train.len() - held);
    let held = Split {
        images: train.images[learn.images.len()..].to_vec(),
        labels: train.labels[learn.labels.len()..].to_vec(),
        ..*train
    };
    Ok((Some(learn), Some(held)))
}
