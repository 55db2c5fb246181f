//! The tests of exercises, compiled by cargo.

use super::exercise::Exercise;
use crate::process::{self, Source, cargo, cause};
use anyhow::{Context, Result, bail};
use console::strip_ansi_codes;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Which of an exercise's two files its test takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Version {
    /// The reader's.
    Exercise,
    /// The solution.
    Solution,
}

/// Compiles the tests of exercises at once; `colour` is whether the compiler may colour its errors, and `note` hears what cargo does. Returns their programs in the same order, or the compiler's errors.
pub(super) fn build(
    root: &Path,
    exercises: &[&Exercise],
    version: Version,
    colour: bool,
    note: &dyn Fn(&str),
) -> Result<Result<Vec<PathBuf>, String>> {
    let mut command = command(exercises, version, colour);
    let (mut child, lines) = process::start(command.current_dir(root).stdin(Stdio::null()))
        .context("cargo is what compiles the exercises; Rust is at https://rustup.rs")?;
    let mut programs = vec![None; exercises.len()];
    let (mut errors, mut said) = (Vec::new(), Vec::new());
    for (source, line) in lines {
        if source == Source::Stderr {
            let line = strip_ansi_codes(&line);
            note(line.trim());
            said.push(line.into_owned());
            continue;
        }
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        match message["reason"].as_str() {
            Some("compiler-message") if message["message"]["level"] == "error" => {
                errors.push(message["message"]["rendered"].as_str().unwrap_or_default().to_owned());
            }
            Some("compiler-artifact") => {
                let at = exercises.iter().position(|exercise| is_test_of(&message, exercise));
                if let (Some(at), Some(program)) = (at, message["executable"].as_str()) {
                    programs[at] = Some(PathBuf::from(program));
                }
            }
            _ => {}
        }
    }
    let status = child.wait().context("can't wait for cargo")?;
    if let Some(programs) = programs.into_iter().collect()
        && status.success()
    {
        return Ok(Ok(programs));
    }
    if !errors.is_empty() {
        // The last "error" only counts the others.
        errors.retain(|error| !strip_ansi_codes(error).starts_with("error: aborting due to"));
        return Ok(Err(errors.join("\n")));
    }
    match exercises {
        [one] if said.iter().any(|line| line.contains("no test target")) => {
            bail!("{} has no `[[test]]` named `{}`", one.manifest(), one.test())
        }
        [one] => bail!("cargo could not build the test of {}: {}", one.id(), cause(&said)),
        _ => bail!("cargo could not build the exercises' tests: {}", cause(&said)),
    }
}

/// What compiles them and tells what it made as JSON. Cargo unites the features of all packages that it is asked for: one
/// exercise alone needs the least; several take the whole course as `cargo test --workspace` has built it.
fn command(exercises: &[&Exercise], version: Version, colour: bool) -> Command {
    let packages: BTreeSet<String> = exercises.iter().map(|e| e.package()).collect();
    let mut command = cargo();
    command.args(["test", "--no-run"]);
    match exercises {
        [one] => command.args(["-p", &one.package()]),
        _ => command.arg("--workspace"),
    };
    if version == Version::Solution {
        let solved = packages.iter().map(|package| format!("{package}/solutions"));
        command.args(["--features", &solved.collect::<Vec<_>>().join(",")]);
    }
    let names: BTreeSet<String> = exercises.iter().map(|exercise| exercise.test()).collect();
    let format = if colour { "json-diagnostic-rendered-ansi" } else { "json" };
    command
        .args(names.iter().flat_map(|name| ["--test", name]))
        .arg(format!("--message-format={format}"));
    command
}

/// Whether what cargo made is the test of this exercise.
fn is_test_of(made: &Value, exercise: &Exercise) -> bool {
    let manifest = Path::new(made["manifest_path"].as_str().unwrap_or_default());
    manifest.ends_with(exercise.manifest()) && made["target"]["name"] == exercise.test().as_str()
}
