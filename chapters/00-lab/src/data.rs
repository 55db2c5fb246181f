//! MNIST: found, downloaded, or drawn.

use crate::Result;
use std::path::PathBuf;

/// Pictures and their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Grey levels, one byte a pixel, one picture after the other, row by row.
    pub images: Vec<u8>,
    /// The class of each picture.
    pub labels: Vec<u8>,
    /// Height of a picture in pixels.
    pub rows: usize,
    /// Width of a picture in pixels.
    pub cols: usize,
}

/// Where a data set came from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The published MNIST files, verified by their checksums.
    Mnist(PathBuf),
    /// Files of the same format that are not the published ones.
    Files(PathBuf),
    /// Digits drawn by this crate, in place of MNIST.
    Drawn,
}

/// A data set for training and testing.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// What a model learns from.
    pub train: Split,
    /// What it is tested on.
    pub test: Split,
    /// Where it came from.
    pub source: Source,
}

/// How to find the data.
#[derive(Clone, Debug)]
pub struct Options {
    /// The reader's own folder (`--data`), before `MNIST_DIR`, before the cache.
    pub folder: Option<PathBuf>,
    /// Whether a download may be tried.
    pub download: bool,
}

/// The data set: the reader's files, the cache, a download, or drawn digits, in this order.
///
/// # Errors
/// A folder that the reader named and that does not hold a whole data set.
pub fn load(_options: &Options) -> Result<DataSet> {
    todo!()
}

/// Drawn digits: `train` and `test` pictures of 28×28, the same for the same seed.
pub fn drawn(_train: usize, _test: usize, _seed: u64) -> DataSet {
    todo!()
}
