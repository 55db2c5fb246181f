//! MNIST: found, downloaded, or drawn.
//!
//! 1. [`idx`]: the format of MNIST's files, read from untrusted bytes.
//! 2. [`files`]: the four files of a folder, plain or gzip, checked, then decoded by the `mnist` crate.
//! 3. [`download`]: the same files from a mirror, verified, never half written.
//! 4. [`drawn()`]: digits drawn by this crate, for a machine without data and network.
//! 5. [`figure`]: pictures of the pictures.

pub mod download;
pub mod drawn;
pub mod figure;
pub mod files;
pub mod idx;
#[rustfmt::skip] // points read better in rows
mod strokes;

use crate::Result;
use files::Published;
use std::{fmt, path::PathBuf, sync::OnceLock};

pub use drawn::drawn;

/// Pictures and their labels.
// ANCHOR: split
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Grey levels, one byte a pixel, one picture after the other, row by row.
    pub images: Vec<u8>,
    /// The class of each picture, 0 to 9.
    pub labels: Vec<u8>,
    /// Height of a picture in pixels.
    pub rows: usize,
    /// Width of a picture in pixels.
    pub cols: usize,
}
// ANCHOR_END: split

impl Split {
    /// How many pictures there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Pixels of one picture.
    pub fn pixels(&self) -> usize {
        self.rows * self.cols
    }

    /// Picture `i`, row by row.
    ///
    /// # Panics
    /// If there is no picture `i`, as with any slice.
    pub fn image(&self, i: usize) -> &[u8] {
        &self.images[i * self.pixels()..][..self.pixels()]
    }

    /// All pictures as numbers from 0 to 1: a matrix of `len()` rows and `pixels()` columns.
    pub fn scaled(&self) -> Vec<f32> {
        self.images.iter().map(|&grey| f32::from(grey) / 255.0).collect()
    }

    /// The mean and the standard deviation of all pixels, scaled to 0 to 1; (0, 0) without pictures.
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

    /// The first `count` pictures, or all if there are fewer.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        let count = count.min(self.len());
        Self {
            images: self.images[..count * self.pixels()].to_vec(),
            labels: self.labels[..count].to_vec(),
            ..*self
        }
    }
}

/// Where a data set came from. Displayed, it is what every output says about its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The published MNIST files, verified by their checksums.
    Mnist(PathBuf),
    /// Files of the same format that are not the published ones.
    Files(PathBuf),
    /// Digits drawn by this crate, in place of MNIST.
    Drawn,
}

impl Source {
    /// One word, for records and file names: `mnist`, `files` or `drawn`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mnist(_) => "mnist",
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
    /// What a person should know besides, such as why MNIST could not be downloaded.
    pub note: Option<String>,
}

impl DataSet {
    /// What an output says about its data: the source and, if there is more to know, that too.
    pub fn about(&self) -> String {
        match &self.note {
            Some(note) => format!("{}; {note}", self.source),
            None => self.source.to_string(),
        }
    }
}

/// How to find the data.
#[derive(Clone, Debug)]
pub struct Options {
    /// The reader's own folder (`--data`), before `MNIST_DIR`, before the cache.
    pub folder: Option<PathBuf>,
    /// Whether a download may be tried.
    pub download: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { folder: None, download: true }
    }
}

/// Where [`find`] looks.
#[derive(Clone, Debug)]
pub struct Places<'a> {
    /// The folder that the reader named. Nothing else counts then.
    pub named: Option<PathBuf>,
    /// This program's folder in the user's cache, if there is one.
    pub cache: Option<PathBuf>,
    /// Where to download from; none to stay off the network.
    pub mirrors: &'a [&'a str],
    /// What the published files are.
    pub published: &'a [Published; 4],
}

impl Places<'static> {
    /// The places that `options` and the environment (`MNIST_DIR`) name.
    pub fn of(options: &Options) -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            named: options.folder.clone().or_else(|| variable("MNIST_DIR").map(PathBuf::from)),
            cache: cache_folder(std::env::consts::OS, variable),
            mirrors: if options.download { &download::MIRRORS } else { &[] },
            published: &files::MNIST,
        }
    }
}

/// The data set: the reader's files, the cache, a download, or drawn digits, in this order.
///
/// # Errors
/// A folder that the reader named and that does not hold a whole data set.
pub fn load(options: &Options) -> Result<DataSet> {
    // Whoever could not download a minute ago need not wait for that again.
    static FAILED: OnceLock<String> = OnceLock::new();
    let failed = FAILED.get().filter(|_| options.download);
    let options = Options { download: options.download && failed.is_none(), ..options.clone() };
    let mut bars = download::Bars::default();
    let places = Places::of(&options);
    let mut set = find(&places, &mut |name, done, total| bars.show(name, done, total))?;
    bars.finish();
    if set.source == Source::Drawn {
        match (failed, &set.note) {
            (Some(note), _) => set.note = Some(note.clone()),
            (None, Some(note)) if options.download => drop(FAILED.set(note.clone())),
            _ => {}
        }
    }
    Ok(set)
}

/// [`load`] with the places given; `watch` is told about a download.
///
/// # Errors
/// As [`load`].
// ANCHOR: find
pub fn find(places: &Places, watch: download::Watch) -> Result<DataSet> {
    let Places { named, cache, mirrors, published } = places;
    if let Some(folder) = named {
        return files::read(folder, published);
    }
    let mut notes = Vec::new();
    if let Some(cache) = cache {
        match files::read(cache, published) {
            Ok(set) => return Ok(set),
            Err(error) if files::any(cache) => notes.push(error.to_string()),
            Err(_) => {} // nothing there yet
        }
        if !mirrors.is_empty() {
            let fetched = download::fetch(cache, mirrors, *published, watch);
            match fetched.and_then(|()| files::read(cache, published)) {
                Ok(set) => return Ok(DataSet { note: note(&notes), ..set }),
                Err(error) => notes.push(error.to_string()),
            }
        }
    }
    Ok(DataSet { note: note(&notes), ..drawn(60_000, 10_000, 0) })
}
// ANCHOR_END: find

fn note(notes: &[String]) -> Option<String> {
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Where this program keeps data on `os` (as [`std::env::consts::OS`] names it), by the system's own
/// custom: `~/.cache/throughput/mnist` on Linux.
pub fn cache_folder(
    os: &str,
    variable: impl Fn(&str) -> Option<std::ffi::OsString>,
) -> Option<PathBuf> {
    let home = |below: &str| variable("HOME").map(|home| PathBuf::from(home).join(below));
    let base = match os {
        "windows" => variable("LOCALAPPDATA").map(PathBuf::from),
        "macos" => home("Library/Caches"),
        // A relative path is to be ignored: XDG Base Directory Specification.
        _ => variable("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| home(".cache")),
    }?;
    Some(base.join("throughput").join("mnist"))
}
