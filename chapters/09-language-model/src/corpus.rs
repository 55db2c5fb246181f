//! The text that the model learns: the Rust sources of the crates that this course is built from.
//!
//! Every reader has them, since the build has downloaded them, and `Cargo.lock` pins each archive by its SHA-256. What
//! is taken is the same on every machine:
//!
//! 1. [`metadata`]: which crates. Those that the course's command is built from on *every* platform, found by
//!    `cargo metadata`. Crates for one system alone, such as the bindings of Windows, are not on every disk.
//! 2. [`archive`]: their files, read from the downloaded archives, which are held against `Cargo.lock`; [`folder`] reads
//!    unpacked ones where there is no archive.
//! 3. [`licence`]: crates that may be used under a permissive licence.
//! 4. [`keep`]: written by people, not by generators.
//! 5. [`split`]: whole crates are set aside for validation.
//! 6. [`duplicates`]: what is nearly the same as a file already taken is dropped, so that nothing is tested on what was
//!    learned.
//!
//! [`Corpus::sha256`] is a digest over all of it. Two machines with the same digest have the same text.

pub mod archive;
pub mod duplicates;
pub mod folder;
pub mod keep;
pub mod licence;
pub mod metadata;
pub mod source;
pub mod split;

use crate::{Error, Result};
use keep::Reason;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
pub use source::{Package, Source, Unsorted};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// How many files, and of how many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// How many.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// The text to learn from and the text to be tested on.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    /// Files to learn from, sorted by crate, version and path.
    pub training: Vec<Source>,
    /// Files of other crates, to be tested on, in the same order.
    pub validation: Vec<Source>,
    /// The crates, by name and version.
    pub crates: Vec<Package>,
    /// SHA-256 over every kept file: crate, version, path, length and bytes, in their order.
    pub sha256: String,
    /// Why the text is not that of the crates, where it is not.
    pub note: Option<String>,
    /// What was left out.
    pub left_out: BTreeMap<Reason, Files>,
}

impl Corpus {
    /// The corpus of the workspace in the folder `root`. It asks Cargo which crates there are and reads them; nothing is
    /// downloaded.
    ///
    /// Where Cargo can't say (there is none, `Cargo.lock` is missing or stale, crates were never downloaded), the
    /// workspace's own sources serve, and [`Corpus::note`] says why.
    ///
    /// # Errors
    /// Names the crate whose source is missing, cut short or not what `Cargo.lock` pins; or says that there is no Rust
    /// source at all.
    pub fn find(root: &Path) -> Result<Self> {
        let why = match metadata::packages(root) {
            Ok(crates) if !crates.is_empty() => {
                let read = crates.par_iter().map(metadata::Crate::read);
                return Self::of(read.collect::<Result<_>>()?);
            }
            Ok(_) => "the workspace depends on no crate of a registry".to_owned(),
            Err(why) => why,
        };
        let note = format!("{why}: the workspace's own sources serve as text");
        Ok(Self { note: Some(note), ..Self::of(folder::workspace(root)?)? })
    }

    /// The text of somebody's own folder: code in any language, or anything else that people wrote.
    ///
    /// # Errors
    /// If a file can't be read, or none is left.
    pub fn own(folder: &Path) -> Result<Self> {
        if !folder.is_dir() {
            return Err(Error::Config(format!(
                "there is no folder {}; name one with --text, and put a single file into one of its own",
                folder.display()
            )));
        }
        let own = |package: &Package, text: &[u8]| keep::left_out_of_own(&package.licence, text);
        let corpus = Self::by(folder::own(folder)?, own);
        if corpus.training.is_empty() {
            let why = corpus.left_out.iter().map(|(why, found)| format!("{} ({why})", found.files));
            let why: Vec<String> = why.collect();
            let left = if why.is_empty() {
                "it has no files".to_owned()
            } else {
                format!("all files are left out: {}", why.join(", "))
            };
            return Err(Error::Config(format!(
                "there is no text in {}: {left}; give a folder of text files, whose licence allows to learn from them",
                folder.display()
            )));
        }
        Ok(corpus)
    }

    /// The corpus of these crates: filtered, split, and without near-duplicates.
    ///
    /// # Errors
    /// If no file is left.
    pub fn of(crates: Vec<Unsorted>) -> Result<Self> {
        let rule = |of: &Package, text: &[u8]| keep::left_out(&of.name, &of.licence, text);
        let corpus = Self::by(crates, rule);
        if corpus.training.is_empty() {
            return Err(Error::Config(
                "there is no Rust source to learn from; give the folder of this course's workspace"
                    .to_owned(),
            ));
        }
        Ok(corpus)
    }

    /// [`Corpus::of`] by this rule.
    fn by(mut crates: Vec<Unsorted>, rule: impl Fn(&Package, &[u8]) -> Option<Reason>) -> Self {
        crates.sort_by(|(a, _), (b, _)| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        let mut left_out = BTreeMap::<Reason, Files>::new();
        let mut leave_out = |why: Reason, bytes: usize| {
            let count = left_out.entry(why).or_default();
            count.files += 1;
            count.bytes += bytes as u64;
        };
        for (package, files) in &mut crates {
            files.sort();
            files.dedup_by(|a, b| a.0 == b.0);
            files.retain(|(_, text)| {
                let why = rule(package, text);
                why.inspect(|&why| leave_out(why, text.len())).is_none()
            });
            package.bytes = files.iter().map(|(_, text)| text.len() as u64).sum();
        }
        let sizes = crates.iter().map(|(package, _)| (package.name.as_str(), package.bytes));
        let aside = split::validation(sizes);
        let (mut packages, mut files) = (Vec::new(), [Vec::new(), Vec::new()]);
        for (mut package, sources) in crates {
            package.validation = aside.contains(split::family(&package.name));
            files[usize::from(!package.validation)].extend(sources.into_iter().map(
                |(path, text)| Source {
                    krate: package.name.clone(),
                    version: package.version.clone(),
                    path,
                    text,
                },
            ));
            packages.push(package);
        }
        // Validation comes first and keeps its files; the training text loses what resembles them.
        let [mut validation, mut training] = files;
        let all: Vec<&[u8]> = validation.iter().chain(&training).map(AsRef::as_ref).collect();
        let mut first = duplicates::first_of_each(&all).into_iter();
        for sources in [&mut validation, &mut training] {
            sources.retain(|source| {
                let kept = first.next().unwrap_or(true);
                if !kept {
                    leave_out(Reason::Duplicate, source.text.len());
                }
                kept
            });
        }
        for package in &mut packages {
            let sources = if package.validation { &validation } else { &training };
            let of = |s: &&Source| s.krate == package.name && s.version == package.version;
            let sizes: Vec<u64> = sources.iter().filter(of).map(|s| s.text.len() as u64).collect();
            (package.files, package.bytes) = (sizes.len(), sizes.iter().sum());
        }
        packages.retain(|package| package.files > 0);
        let sha256 = digest(training.iter().chain(&validation));
        Self { training, validation, crates: packages, sha256, note: None, left_out }
    }

    /// The bytes of the text to learn from, and of the text to be tested on.
    pub fn bytes(&self) -> [u64; 2] {
        [&self.training, &self.validation]
            .map(|sources| sources.iter().map(|s| s.text.len() as u64).sum())
    }

    /// The course's own workspace: the folder that this crate was built in.
    pub fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }
}

/// The digest of these files, whatever their order.
fn digest<'a>(sources: impl Iterator<Item = &'a Source>) -> String {
    let mut sorted: Vec<&Source> = sources.collect();
    sorted.sort_by(|a, b| (&a.krate, &a.version, &a.path).cmp(&(&b.krate, &b.version, &b.path)));
    let mut hash = Sha256::new();
    for source in sorted {
        for name in [&source.krate, &source.version, &source.path] {
            hash.update(name.as_bytes());
            hash.update([0]);
        }
        hash.update((source.text.len() as u64).to_le_bytes());
        hash.update(&source.text);
    }
    format!("{:x}", hash.finalize())
}
