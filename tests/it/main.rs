//! The course as a whole, as its readers have it: one program, so that it is linked once.

mod book;
mod check;
mod contribute;
mod forge;
mod gpt;
mod hostile;
mod readme;
mod stale;
#[cfg(unix)]
mod stops;

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file of the repository.
fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The course's command, to be run in a folder.
fn command(words: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_throughput"));
    command.args(words).current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn throughput(words: &[&str], folder: &Path) -> Output {
    command(words, folder).output().unwrap()
}

/// What it prints on both streams, if it succeeds.
fn done(words: &[&str], folder: &Path) -> String {
    let output = throughput(words, folder);
    assert!(output.status.success(), "{words:?}: {}", said(&output));
    said(&output)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
