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
/// [`Error::Message`] with its own words if it fails; [`Error::Io`] if it leaves no metrics.
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A `train` made of a line of the shell, which is given the folder as `$1`.
    fn line(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_whole_run_is_timed_and_its_epochs_are_read() {
        let epoch =
            r#"{"epoch":1,"seconds":0.5,"images_per_second":10,"learning_rate":1,"train_loss":1,"#
                .to_owned()
                + r#""train_accuracy":0.5,"test_loss":1,"test_accuracy":0.75}"#;
        let script = format!(
            "mkdir $1 && echo head >$1/{METRICS} && echo '{epoch}' >>$1/{METRICS} && sleep 0.02"
        );
        let done = train(line(&script), None).unwrap();
        assert_eq!(done.epochs.iter().map(|epoch| epoch.test_accuracy).collect::<Vec<_>>(), [0.75]);
        assert!(done.seconds >= 0.02, "{}", done.seconds);
    }

    #[test]
    fn a_run_that_fails_says_why() {
        let why = |script| train(line(script), Some(Path::new("/data"))).unwrap_err().to_string();
        assert!(why("echo $2 $3 is empty >&2; exit 1").contains("--data /data is empty"));
        assert!(why("exit 0").contains(METRICS), "it left no metrics");
        assert!(program().is_none(), "a test is another program");
    }
}
