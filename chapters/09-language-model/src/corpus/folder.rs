//! Rust files in folders: of a crate whose archive is not there (a vendored one), and of the workspace itself.

use super::source::{Package, Unsorted};
use crate::{Error, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The Rust files below a folder: their paths inside it, with `/`, and their bytes. Links are not followed.
///
/// # Errors
/// If a file or folder can't be read: it is named.
pub fn files(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    below(folder, |_| true, is_rust)
}

/// Whether a path is that of a Rust file.
pub(super) fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// The files that are taken, in the folders whose names are entered.
fn below(
    folder: &Path,
    enters: impl Fn(&str) -> bool,
    takes: impl Fn(&Path) -> bool,
) -> Result<Vec<(String, Vec<u8>)>> {
    let (mut found, mut folders) = (Vec::new(), vec![(folder.to_owned(), String::new())]);
    while let Some((folder, inside)) = folders.pop() {
        let failed = |cause| lab::Error::io(&folder, cause);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if kind.is_dir() && enters(name) {
                folders.push((path.clone(), format!("{inside}{name}/")));
            } else if kind.is_file() && takes(&path) {
                let text = fs::read(&path).map_err(|cause| lab::Error::io(&path, cause))?;
                found.push((format!("{inside}{name}"), text));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The Rust files of a workspace, by the package that they belong to: the nearest folder with a `Cargo.toml`. Their
/// licence is the workspace's own. Hidden folders and what was built are left out.
///
/// # Errors
/// If a file can't be read.
pub fn workspace(root: &Path) -> Result<Vec<Unsorted>> {
    let found = by_package(root, is_rust)?.into_iter();
    let stated = |package| Package { licence: OWN.to_owned(), ..package };
    Ok(found.map(|(package, files)| (stated(package), files)).collect())
}

/// The licence of one's own text: one may learn from it.
const OWN: &str = "MIT OR Apache-2.0";

/// The largest file that is read as text, in bytes.
const LONGEST: u64 = 64 << 20;

/// All files of somebody's own folder, by package as in [`workspace`]. A package's licence is what its `Cargo.toml` states, if
/// it does: what others wrote may lie among one's own. Files of more than 64 MiB are left out, too, and those without a length,
/// as a system makes up while they are read: some have no end.
///
/// # Errors
/// If a file can't be read: it is named.
pub fn own(root: &Path) -> Result<Vec<Unsorted>> {
    let short = |path: &Path| path.metadata().is_ok_and(|file| (1..=LONGEST).contains(&file.len()));
    let way = |why| Error::Config(format!("{why}; name a folder with --text that can be read"));
    let mut found = by_package(root, short).map_err(way)?;
    for (package, files) in &mut found {
        // The package's own manifest is the one with the shortest path.
        let manifest = files.iter().filter(|(path, _)| path.ends_with("Cargo.toml"));
        let stated = manifest.min_by_key(|(path, _)| path.len()).and_then(|(_, text)| {
            let text = String::from_utf8_lossy(text).into_owned();
            let line = text.lines().find_map(|line| line.trim().strip_prefix("license = \""));
            line.map(|licence| licence.trim_end_matches('"').to_owned())
        });
        package.licence = stated.unwrap_or_else(|| OWN.to_owned());
    }
    Ok(found)
}

fn by_package(root: &Path, takes: impl Fn(&Path) -> bool) -> Result<Vec<Unsorted>> {
    let mut packages: Vec<Unsorted> = Vec::new();
    let enters = |name: &str| !name.starts_with('.') && name != "target";
    for (path, text) in below(root, enters, takes)? {
        let mut folder = PathBuf::from(&path);
        while folder.pop() && !root.join(&folder).join("Cargo.toml").is_file() {}
        let name = match folder.to_str() {
            None | Some("") => "workspace".to_owned(),
            // A family is named by the part before the first hyphen: all of a chapter stay together.
            Some(name) => name.replace("chapters/", "").replace(['/', '\\'], "."),
        };
        if let Some((_, files)) = packages.iter_mut().find(|(package, _)| package.name == name) {
            files.push((path, text));
        } else {
            packages.push((Package { name, ..Package::default() }, vec![(path, text)]));
        }
    }
    Ok(packages)
}
