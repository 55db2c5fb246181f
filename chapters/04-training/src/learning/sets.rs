//! The images of a run: for training, held out for early stopping, and for the test.

use crate::{
    Error, Result,
    config::Settings,
    learning::engine::{Engine, Resident},
    models::model::CLASSES,
};
use lab::{
    data::{DataSet, Split},
    run::Identity,
};
use sha2::{Digest, Sha256};
use std::{borrow::Cow, collections::HashSet};

/// A run's images, on its device.
pub struct Sets<D: Engine> {
    /// For training.
    pub train: Resident<D>,
    /// Held out from these, with patience: for early stopping.
    pub held: Option<Resident<D>>,
    /// The exam.
    pub test: Resident<D>,
    /// What speaks against them, in words.
    pub doubts: Vec<String>,
}

impl<D: Engine> Sets<D> {
    /// Moves them onto the device; `train` is what the run has [`seen`].
    ///
    /// # Errors
    /// [`Error::Config`] if they do not fit the models, are too few, or show nothing; [`Error::Device`].
    pub fn new(dev: &D, settings: &Settings, train: &Split, test: &Split) -> Result<Self> {
        let count = train.len();
        let more = settings.limit.filter(|limit| *limit > count);
        let told = |limit| format!("--limit {limit} takes all of the {count} training images");
        let mut doubts: Vec<String> = more.map(told).into_iter().collect();
        let (learn, held_out) = split(train, settings)?;
        let learn = learn.as_ref().unwrap_or(train);
        let train = Resident::new(dev, learn)?;
        let train = if settings.augment { train.with_bytes(learn) } else { train };
        let held = held_out.as_ref().map(|held| Resident::new(dev, held)).transpose()?;
        let on_device = Resident::new(dev, test)?;
        let level = learn.mean_and_deviation().0;
        let learned = (0..learn.len()).map(|i| learn.image(i)).collect();
        let all =
            [("training", Some(learn)), ("validation", held_out.as_ref()), ("test", Some(test))];
        for (name, split) in all.into_iter().filter_map(|(name, split)| Some((name, split?))) {
            something_to_see(name, split)?;
            doubts.extend(missing(name, split));
            if name != "training" {
                doubts.extend(negative(name, split, level));
                doubts.extend(known(name, split, &learned));
            }
        }
        Ok(Self { train, held, test: on_device, doubts })
    }
}

/// The training images that a run with these settings sees. Where it takes a part of them, they are shuffled by its seed
/// first: files may be sorted, and then their beginning has some classes and their end others.
pub fn seen<'d>(settings: &Settings, data: &'d DataSet) -> Cow<'d, Split> {
    match (settings.limit, settings.patience) {
        (None, None) => Cow::Borrowed(&data.train),
        (limit, _) => Cow::Owned(data.train.sample(limit.unwrap_or(usize::MAX), settings.seed)),
    }
}

/// Names the classes of which there is no image.
fn missing(name: &str, split: &Split) -> Option<String> {
    let none = (0..CLASSES).filter(|class| !split.labels.iter().any(|l| usize::from(*l) == *class));
    let none: Vec<String> = none.map(|class| class.to_string()).collect();
    let (last, others) = none.split_last()?;
    let classes =
        if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) };
    Some(format!("none of the {} {name} images is of class {classes}", split.len()))
}

/// Refuses images on none of which there is anything.
fn something_to_see(name: &str, split: &Split) -> Result<()> {
    let empty = |image: &[u8]| image.iter().all(|level| *level == image[0]);
    if (0..split.len()).all(|i| empty(split.image(i))) {
        return Err(Error::Config(format!(
            "each of the {} {name} images has the same level in all its pixels, so there is nothing to learn from; look at \
             the files that --data names, or make them again",
            split.len()
        )));
    }
    Ok(())
}

/// Says if these images are light where those that are learned from, of this mean level, are dark, or the other way round.
fn negative(name: &str, split: &Split, learned: f32) -> Option<String> {
    let thirds = [split.mean_and_deviation().0, learned].map(|mean| (3.0 * mean) as i32);
    (thirds[0] - thirds[1]).abs().ge(&2).then(|| {
        let [theirs, ours] = thirds.map(|third| if third > 0 { "light" } else { "dark" });
        format!("the {name} images are {theirs} and the training images {ours}; turn one of them into its negative")
    })
}

/// Says if more than one in a hundred of these images is one of those that are learned from.
fn known(name: &str, split: &Split, learned: &HashSet<&[u8]>) -> Option<String> {
    let known = (0..split.len()).filter(|i| learned.contains(split.image(*i))).count();
    (100 * known > split.len()).then(|| {
        format!(
            "{known} of the {} {name} images are training images, too; the accuracy on them says nothing about new ones",
            split.len()
        )
    })
}

/// All of the data that makes a run's numbers: the images that it learns from ([`seen`]), and those of the test.
pub fn identity(learned_from: &Split, test: &Split) -> Identity {
    let part = |split: &Split| {
        let Split { rows, cols, .. } = split;
        format!("{} images of {rows}×{cols}, {}", split.len(), fingerprint(split))
    };
    Identity::new([("training set", part(learned_from)), ("test set", part(test))])
}

/// SHA-256 of images, their form and their labels.
pub fn fingerprint(split: &Split) -> String {
    let mut sha = Sha256::new();
    for number in [split.labels.len(), split.rows, split.cols] {
        sha.update((number as u64).to_le_bytes());
    }
    sha.update(&split.images);
    sha.update(&split.labels);
    format!("{:x}", sha.finalize())
}

/// With patience, the first five sixths of the training images (shuffled: [`seen`]), and the rest for early stopping.
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
