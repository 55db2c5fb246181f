//! The course's own command, run as a reader types it and timed as a whole.

use crate::watch::Epoch;
use lab::{Error, Result, probe::tied, run::METRICS};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

/// Why there is no command where another program measures, such as a notebook.
pub const NONE: &str =
    "whole commands are the course's own: run `throughput measure` with the experiment's name";

/// The command, if it is the running program.
pub fn program() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    (program.file_stem()? == "throughput").then_some(program)
}

/// A `train` that has ended.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its seconds from start to end: reading the data set, tests and saving are part of them.
    pub seconds: f64,
    /// Its epochs, as it has written them down.
    pub epochs: Vec<Epoch>,
}

/// Runs `command`, which is a `train` or starts one, with the reader's data set, in a folder that is removed at the end.
///
/// # Errors
/// [`Error::Message`] with its own words if it fails; [`Error::Damaged`] if it leaves no metrics.
pub fn train(mut command: Command, data: Option<&Path>) -> Result<Done> {
    let folder = tempfile::tempdir().map_err(|e| Error::io(&env::temp_dir(), e))?;
    let run = folder.path().join("run");
    command.arg("--run").arg(&run);
    if let Some(data) = data {
        command.arg("--data").arg(data);
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |why: &str| Error::message(format!("`{name}` did not train: {}", why.trim()));
    let begun = Instant::now();
    let done = tied(command.stdin(Stdio::null())).output().map_err(|e| failed(&e.to_string()))?;
    let seconds = begun.elapsed().as_secs_f64();
    if !done.status.success() {
        return Err(failed(&String::from_utf8_lossy(&done.stderr)));
    }
    let metrics = run.join(METRICS);
    let text = fs::read_to_string(&metrics).map_err(|e| Error::io(&metrics, e))?;
    // The first line says what is trained.
    let epochs = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ok(Done { seconds, epochs })
}
