//! Which crates the course is built from, as Cargo says.
//!
//! `cargo metadata` resolves `Cargo.lock` without the network. It can do so for one platform if the crates of that
//! platform were downloaded, so it is asked for the one that it runs on. The answer differs by platform, and the part
//! that is taken does not: crates that the course's command reaches through dependencies without a condition
//! (`[dependencies]` and `[build-dependencies]`, not `[target.….dependencies]`). These are needed, and so downloaded,
//! everywhere.
//!
//! A build downloads no development dependencies, and Cargo asks for them, too. [`download`] brings what is missing.

use super::{
    archive, folder,
    source::{Package, Unsorted},
};
use crate::{Error, Result};
use lab::probe::tied;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

/// A crate of a registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence, or nothing.
    pub licence: String,
    /// The folder that Cargo has unpacked it into.
    pub folder: PathBuf,
    /// The SHA-256 of its archive, by `Cargo.lock`.
    pub checksum: Option<String>,
}

impl Crate {
    /// Its Rust files: from the archive that was downloaded if it is still there, else as they lie in its folder.
    ///
    /// # Errors
    /// If there is neither, or the archive is not the one that `Cargo.lock` pins.
    pub fn read(&self) -> Result<Unsorted> {
        let archive = archive::beside(&self.folder).filter(|path| path.is_file());
        let files = match (archive, &self.checksum) {
            (Some(path), Some(checksum)) => archive::files(&path, checksum),
            _ if self.folder.is_dir() => folder::files(&self.folder),
            _ => Err(Error::file(&self.folder, "there is no such folder")),
        };
        let Self { name, version, licence, .. } = self;
        let files = files.map_err(|why| {
            Error::Config(format!(
                "the source of the crate `{name} {version}` is missing or changed ({why}); remove what is left of it \
                 there, and `cargo fetch --locked` brings it anew"
            ))
        })?;
        let (name, version, licence) = (name.clone(), version.clone(), licence.clone());
        Ok((Package { name, version, licence, ..Package::default() }, files))
    }
}

/// What is read of the output of `cargo metadata`.
#[derive(Deserialize)]
pub struct Metadata {
    packages: Vec<Listed>,
    workspace_members: Vec<String>,
    resolve: Graph,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Graph {
    root: Option<String>,
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Condition>,
}

#[derive(Deserialize)]
struct Condition {
    kind: Option<String>,
    target: Option<String>,
}

/// The crates of registries that the root package of a workspace (all its members, if it has none) is built from on every
/// platform, sorted.
///
/// # Errors
/// In words, why Cargo can't say: it is not there, `Cargo.lock` is stale, or a crate was not downloaded.
pub fn packages(root: &Path) -> Result<Vec<Crate>, String> {
    let about = cargo(root, &["-vV"])?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let mut arguments = vec!["metadata", "--offline", "--locked", "--format-version", "1"];
    arguments.extend(host.into_iter().flat_map(|host| ["--filter-platform", host]));
    let metadata: Metadata = serde_json::from_str(&cargo(root, &arguments)?)
        .map_err(|why| format!("`cargo metadata` answers in an unknown form ({why})"))?;
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
    Ok(on_every_platform(&metadata, &checksums(&lock)))
}

/// Downloads the crates that Cargo needs to name all of them, those of this platform alone: what the build has not
/// downloaded, which is a few percent of it.
///
/// # Errors
/// In Cargo's words.
pub fn download(root: &Path) -> Result<()> {
    let about = cargo(root, &["-vV"]).map_err(Error::Config)?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let mut arguments = vec!["fetch", "--locked"];
    arguments.extend(host.into_iter().flat_map(|host| ["--target", host]));
    cargo(root, &arguments).map(drop).map_err(Error::Config)
}

/// What a command of Cargo prints, run in the folder `root`.
fn cargo(root: &Path, arguments: &[&str]) -> Result<String, String> {
    // Within `cargo run` and `cargo test` this is the Cargo that runs them.
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = tied(&mut Command::new(program)).current_dir(root).args(arguments).output();
    let output = output.map_err(|error| match error.kind() {
        ErrorKind::NotFound => "there is no `cargo` here to say which crates there are".to_owned(),
        _ => format!("`cargo` did not start ({error})"),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let line = |start: &str| words.lines().find_map(|line| line.trim().strip_prefix(start));
    // Cargo names the crate first, or below the reason for which it looked for one.
    Err(match (line("failed to download "), line("error: failed to download "), line("error: ")) {
        (Some(of), ..) | (_, Some(of), _) => {
            format!("the crate {of} was not downloaded; `cargo fetch --locked` brings it")
        }
        (.., Some(why)) => format!("`cargo {}` says: {why}", arguments[0]),
        _ => format!("`cargo {}` failed without a word", arguments[0]),
    })
}

/// Walks from the root along every dependency that has no condition.
pub fn on_every_platform(
    metadata: &Metadata,
    checksums: &BTreeMap<(String, String), String>,
) -> Vec<Crate> {
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let mut next: Vec<&str> = match &metadata.resolve.root {
        Some(root) => vec![root],
        None => metadata.workspace_members.iter().map(String::as_str).collect(),
    };
    let mut reached = BTreeSet::new();
    while let Some(id) = next.pop() {
        if reached.insert(id) {
            let dependencies = nodes.get(id).into_iter().flat_map(|node| &node.deps);
            next.extend(dependencies.filter(|d| d.is_always_built()).map(|d| d.pkg.as_str()));
        }
    }
    let is_kept = |p: &Listed| {
        let source = p.source.as_deref().unwrap_or_default();
        reached.contains(p.id.as_str())
            && (source.starts_with("registry+") || source.starts_with("sparse+"))
    };
    let mut crates: Vec<Crate> = metadata
        .packages
        .iter()
        .filter(|p| is_kept(p))
        .map(|p| {
            let key = (p.name.clone(), p.version.clone());
            Crate {
                checksum: checksums.get(&key).cloned(),
                name: key.0,
                version: key.1,
                licence: p.license.clone().unwrap_or_default(),
                folder: p.manifest_path.parent().map(Path::to_owned).unwrap_or_default(),
            }
        })
        .collect();
    crates.sort();
    crates
}

impl Dependency {
    /// Not for tests alone, and not for one platform alone.
    fn is_always_built(&self) -> bool {
        let built = |c: &Condition| c.target.is_none() && c.kind.as_deref() != Some("dev");
        self.dep_kinds.iter().any(built)
    }
}

/// The SHA-256 of each archive in a `Cargo.lock`, by name and version.
pub fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
        line.and_then(|text| text.strip_suffix('"')).map(str::to_owned)
    };
    let blocks = lock.split("[[package]]").skip(1);
    blocks
        .filter_map(|b| Some(((value(b, "name")?, value(b, "version")?), value(b, "checksum")?)))
        .collect()
}
