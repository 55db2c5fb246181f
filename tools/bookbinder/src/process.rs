//! Programs that are run: cargo, Python, Jupyter.

use anyhow::{Context, Result, anyhow};
use console::strip_ansi_codes;
use lab::probe::{answer, tied};
use serde_json::Value;
use std::{
    env,
    io::{BufRead as _, BufReader, ErrorKind, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// Cargo: the one that runs this program, or the one on the path.
pub fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The folder that cargo builds into: settings of the reader's may have it anywhere.
pub fn target(root: &Path) -> PathBuf {
    let mut asked = cargo();
    asked.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root);
    let told = answer(Duration::from_secs(10), &mut asked);
    let told: Option<Value> = told.and_then(|told| serde_json::from_str(&told).ok());
    let folder = told.as_ref().and_then(|told| told["target_directory"].as_str());
    let asked_for = || env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    folder.map_or_else(asked_for, PathBuf::from)
}

/// Where a line was printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// The output.
    Stdout,
    /// The error stream.
    Stderr,
}

/// Starts a program, which ends with this one, and hears the lines that it prints, as they come.
///
/// # Errors
/// If it can't be started, in a sentence.
pub fn start(command: &mut Command) -> Result<(Child, Receiver<(Source, String)>)> {
    let program = command.get_program().to_string_lossy().into_owned();
    let started = tied(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            anyhow!("the program `{program}` is not here; install it or put its folder on PATH")
        }
        _ => anyhow!(error).context(format!("can't start `{program}`")),
    })?;
    let (send, lines) = mpsc::channel();
    read_lines(child.stdout.take(), Source::Stdout, send.clone());
    read_lines(child.stderr.take(), Source::Stderr, send);
    Ok((child, lines))
}

/// Sends each line of a stream on.
fn read_lines(
    stream: Option<impl Read + Send + 'static>,
    source: Source,
    send: mpsc::Sender<(Source, String)>,
) {
    thread::spawn(move || {
        let Some(stream) = stream else { return };
        let mut reader = BufReader::new(stream);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|count| count > 0) {
            let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
            bytes.clear();
            if send.send((source, line)).is_err() {
                return;
            }
        }
    });
}

/// Runs a program to its end and hands each line that it prints to `see`. Returns why it failed, if it did.
///
/// # Errors
/// If it can't be started.
pub fn watch(command: &mut Command, mut see: impl FnMut(&str)) -> Result<Option<String>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let (mut child, received) = start(command.stdin(Stdio::null()))?;
    let mut lines = Vec::new();
    for (_, line) in received {
        see(&line);
        lines.push(line);
    }
    let status = child.wait().with_context(|| format!("can't wait for `{program}`"))?;
    Ok((!status.success()).then(|| cause(&lines)))
}

/// Why a program failed, in a sentence, from what it printed.
pub fn cause(lines: &[String]) -> String {
    const KNOWN: [(&[&str], &str); 6] = [
        (&["No space left on device", "os error 28"], "the disk is full; make room and try again"),
        (
            &["ensurepip is not", "No module named venv", "No module named ensurepip"],
            "Python's module `venv` is missing; install it (Debian and Ubuntu: `sudo apt install python3-venv`)",
        ),
        (&["ModuleNotFoundError: "], "Python lacks a package; run `cargo run -- notebooks setup`"),
        (
            &["linker `cc` not found", "failed to find tool \"cc\""],
            "there is no C compiler; install one (Debian and Ubuntu: `sudo apt install build-essential`)",
        ),
        (
            &["requires rustc", "is not supported by the following package"],
            "this Rust is too old; run `rustup update`",
        ),
        (
            &[
                "Could not resolve host",
                "Temporary failure in name resolution",
                "NewConnectionError",
                "Network is unreachable",
                "failed to download",
                "spurious network error",
                "Failed to connect",
                "Connection refused",
                "dns error",
                "failed to fetch",
                "No matching distribution found",
            ],
            "what it needs could not be downloaded; check the network and try again",
        ),
    ];
    let has = |mark: &str| lines.iter().any(|line| line.contains(mark));
    if let Some((_, sentence)) = KNOWN.iter().find(|(marks, _)| marks.iter().any(|mark| has(mark)))
    {
        return (*sentence).to_owned();
    }
    // The first error is the reason of those that follow; without one, the last line has to do.
    let lines = || {
        lines
            .iter()
            .map(|line| strip_ansi_codes(line).trim().to_owned())
            .filter(|line| !line.is_empty())
    };
    let marks = ["error", "denied"];
    lines()
        .find(|line| line.to_lowercase().starts_with("error"))
        .or_else(|| {
            lines().find(|line| marks.iter().any(|mark| line.to_lowercase().contains(mark)))
        })
        .or_else(|| lines().next_back())
        .unwrap_or_else(|| "it ended without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_sentences() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        for (said, cause_has) in [
            (
                "error: failed to download `syn`\nCaused by:\n  Could not resolve host: crates.example",
                "network",
            ),
            (
                "ERROR: Could not find a version\nERROR: No matching distribution found for nbclient",
                "network",
            ),
            ("error: failed to write x\n  No space left on device (os error 28)", "disk is full"),
            ("error: linker `cc` not found", "C compiler"),
            ("Error: Command '[...]' returned 1\nensurepip is not available", "python3-venv"),
            ("error: rustc 1.80 is not supported by the following package", "rustup update"),
            ("one\nerror: the first\nerror: the second", "error: the first"),
            ("Traceback\nModuleNotFoundError: No module named 'nbclient'", "notebooks setup"),
            ("only\nthis", "this"),
            ("", "without a message"),
        ] {
            assert!(cause(&lines(said)).contains(cause_has), "{said}: {}", cause(&lines(said)));
        }
    }
}
