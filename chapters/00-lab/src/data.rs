//! MNIST: found, downloaded, or drawn.
//!
//! 1. [`DataSet`]: images with their labels.
//! 2. [`idx`]: the format of MNIST's files, read from untrusted bytes.
//! 3. [`files`]: the four files of a folder, plain or gzip, checked, then decoded by the `mnist` crate.
//! 4. [`download`]: the same files from a mirror, verified, never half written.
//! 5. [`drawn()`]: digits drawn by this crate, for a machine without data and network.
//! 6. [`figure`]: figures of the images.

pub mod download;
pub mod drawn;
pub mod figure;
pub mod files;
pub mod idx;
mod set;
#[rustfmt::skip] // points read better in rows
mod strokes;

use crate::{Error, Key, Recorder, Result, limits, names::variable};
use files::Published;
use std::{path::PathBuf, sync::OnceLock};

pub use drawn::drawn;
pub use set::{DataSet, Source, Split};

/// How to find the data.
#[derive(Clone, Debug)]
pub struct Options {
    /// The reader's own folder (`--data`), before `MNIST_DIR`, before the cache; or `fashion-mnist`, to download that.
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
    /// The folders that `options` and the environment (`MNIST_DIR`) name.
    pub fn of(options: &Options) -> Self {
        let named = options.folder.clone().or_else(|| variable("MNIST_DIR").map(PathBuf::from));
        let cache = cache_folder(std::env::consts::OS, variable);
        let fashion = |folder: &PathBuf| folder.as_os_str() == set::FASHION && !folder.exists();
        let mut places = match named {
            Some(folder) if fashion(&folder) => Self {
                named: None,
                cache: cache.map(|cache| cache.with_file_name(folder)),
                mirrors: &download::FASHION_MIRRORS,
                published: &files::FASHION,
            },
            named => Self { named, cache, mirrors: &download::MIRRORS, published: &files::MNIST },
        };
        if !options.download {
            places.mirrors = &[];
        }
        places
    }
}

/// The data set: the reader's files, the cache, a download, or drawn digits, in this order.
///
/// # Errors
/// A folder that the reader named and that does not hold a whole data set; Fashion-MNIST, if it can't be had.
pub fn load(options: &Options) -> Result<DataSet> {
    // After a failed download a minute ago, no second wait.
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

impl Recorder<'_> {
    /// The data set to measure with: the reader's, or what [`load`] finds without. Experiments take the first images of it,
    /// and files other than the published ones may be sorted: those are shuffled, always alike.
    ///
    /// # Errors
    /// As [`load`].
    pub fn data_set(&self) -> Result<DataSet> {
        let set = load(&Options { folder: self.data.clone(), ..Options::default() })?;
        if !matches!(set.source, Source::Files(_)) {
            return Ok(set);
        }
        let [train, test] = [&set.train, &set.test].map(|split| split.sample(usize::MAX, 0));
        Ok(DataSet { train, test, ..set })
    }

    /// [`Recorder::data_set`] if it is MNIST; otherwise `key` is left out for the reason that it is missing.
    ///
    /// # Errors
    /// As [`load`].
    pub fn mnist(&mut self, key: Key) -> Result<Option<DataSet>> {
        let data = self.data_set()?;
        let found = matches!(data.source, Source::Mnist(_));
        if !found {
            self.skip_at(key.at(&[]), "there is no MNIST on this machine");
        }
        Ok(found.then_some(data))
    }
}

/// [`load`] with the folders given; `watch` is told about a download.
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
            let wait = download::PATIENCE;
            let got = download::fetch(cache, mirrors, *published, wait, watch);
            match got.and_then(|()| files::read(cache, published)) {
                Ok(set) => return Ok(DataSet { note: note(&notes), ..set }),
                Err(error) => notes.push(error.to_string()),
            }
        }
    }
    instead(published, note(&notes))
}
// ANCHOR_END: find

/// Drawn digits, and why; but clothes can't be drawn.
fn instead(published: &[Published; 4], note: Option<String>) -> Result<DataSet> {
    if *published == files::FASHION {
        let why = note.unwrap_or_else(|| "it has not been downloaded".to_owned());
        return Err(Error::Message(format!(
            "there is no Fashion-MNIST: {why}; bring its four files yourself, and name their folder with --data"
        )));
    }
    limits::start_threads(None)?;
    Ok(DataSet { note, ..drawn(60_000, 10_000, 0) })
}

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
