//! Rust files in folders: of a crate whose archive is not there (a vendored one), and of the workspace itself.

use super::source::{Package, Unsorted};
use crate::Result;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The Rust files below a folder: their paths inside it, with `/`, and their bytes. Links are not followed.
///
/// # Errors
/// If a file or folder can't be read: it is named.
pub fn files(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    below(folder, |_| true)
}

/// [`files`] in the folders whose names are entered.
fn below(folder: &Path, enters: impl Fn(&str) -> bool) -> Result<Vec<(String, Vec<u8>)>> {
    let (mut found, mut folders) = (Vec::new(), vec![(folder.to_owned(), String::new())]);
    while let Some((folder, inside)) = folders.pop() {
        let failed = |cause| lab::Error::io(&folder, cause);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if kind.is_dir() && enters(name) {
                folders.push((path.clone(), format!("{inside}{name}/")));
            } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "rs")
            {
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
    let mut packages: Vec<Unsorted> = Vec::new();
    for (path, text) in below(root, |name| !name.starts_with('.') && name != "target")? {
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
            let licence = "MIT OR Apache-2.0".to_owned();
            packages.push((Package { name, licence, ..Package::default() }, vec![(path, text)]));
        }
    }
    Ok(packages)
}
