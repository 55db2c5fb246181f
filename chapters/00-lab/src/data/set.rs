//! A data set: images with their labels, and where they came from.

use crate::random::SplitMix64;
use std::{fmt, path::PathBuf};

/// Images and their labels.
// ANCHOR: split
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Grey levels, one byte a pixel, one image after the other, row by row.
    pub images: Vec<u8>,
    /// The class of each image, 0 to 9.
    pub labels: Vec<u8>,
    /// Height of an image in pixels.
    pub rows: usize,
    /// Width of an image in pixels.
    pub cols: usize,
}
// ANCHOR_END: split

impl Split {
    /// How many images there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Pixels of one image.
    pub fn pixels(&self) -> usize {
        self.rows * self.cols
    }

    /// Image `i`, row by row.
    ///
    /// # Panics
    /// If there is no image `i`, as with any slice.
    pub fn image(&self, i: usize) -> &[u8] {
        &self.images[i * self.pixels()..][..self.pixels()]
    }

    /// All images as numbers from 0 to 1: a matrix of `len()` rows and `pixels()` columns.
    pub fn scaled(&self) -> Vec<f32> {
        self.images.iter().map(|&grey| f32::from(grey) / 255.0).collect()
    }

    /// The mean and the standard deviation of all pixels, scaled to 0 to 1; (0, 0) without images.
    pub fn mean_and_deviation(&self) -> (f32, f32) {
        let mut count = [0u64; 256];
        for &grey in &self.images {
            count[usize::from(grey)] += 1;
        }
        let moment = |power: i32| {
            let sum: f64 =
                (0..256).map(|grey| count[grey] as f64 * (grey as f64 / 255.0).powi(power)).sum();
            sum / (self.images.len().max(1) as f64)
        };
        let mean = moment(1);
        (mean as f32, (moment(2) - mean * mean).max(0.0).sqrt() as f32)
    }

    /// The first `count` images, or all if there are fewer.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        let count = count.min(self.len());
        Self {
            images: self.images[..count * self.pixels()].to_vec(),
            labels: self.labels[..count].to_vec(),
            ..*self
        }
    }

    /// `count` of the images, or all if there are fewer, in the random order of a seed.
    #[must_use]
    pub fn sample(&self, count: usize, seed: u64) -> Self {
        let mut order = SplitMix64::new(seed).order(self.len());
        order.truncate(count);
        let mut images = Vec::with_capacity(order.len() * self.pixels());
        for i in &order {
            images.extend_from_slice(self.image(*i));
        }
        Self { images, labels: order.iter().map(|i| self.labels[*i]).collect(), ..*self }
    }
}

/// What `--data` calls Fashion-MNIST, and its folder in the cache.
pub const FASHION: &str = "fashion-mnist";

/// Where a data set came from. Displayed, it is what every output says about its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The published MNIST files, verified by their checksums.
    Mnist(PathBuf),
    /// The published files of Fashion-MNIST, verified by their checksums.
    Fashion(PathBuf),
    /// Files of the same format that are not the published ones.
    Files(PathBuf),
    /// Digits drawn by this crate, instead of MNIST.
    Drawn,
}

impl Source {
    /// One word, for records and file names: `mnist`, `fashion-mnist`, `files` or `drawn`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mnist(_) => "mnist",
            Self::Fashion(_) => FASHION,
            Self::Files(_) => "files",
            Self::Drawn => "drawn",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Mnist(folder) => {
                write!(f, "MNIST from {} (checksums verified)", folder.display())
            }
            Self::Fashion(folder) => {
                write!(f, "Fashion-MNIST from {} (checksums verified)", folder.display())
            }
            Self::Files(folder) => write!(
                f,
                "files from {} (MNIST's format, but not the published files)",
                folder.display()
            ),
            Self::Drawn => f.write_str("digits drawn by this program (not MNIST)"),
        }
    }
}

/// A data set for training and testing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSet {
    /// What a model learns from.
    pub train: Split,
    /// What it is tested on.
    pub test: Split,
    /// Where it came from.
    pub source: Source,
    /// What a reader should also know, such as why MNIST could not be downloaded.
    pub note: Option<String>,
}

impl DataSet {
    /// What an output says about its data: the source and, if there is more to know, also that.
    pub fn about(&self) -> String {
        match &self.note {
            Some(note) => format!("{}; {note}", self.source),
            None => self.source.to_string(),
        }
    }
}
