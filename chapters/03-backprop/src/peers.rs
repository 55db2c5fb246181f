//! The other side of a race: PyTorch's and Keras's programs in `peers/`, run by a Python that has them. They wait
//! between their jobs, so that all contenders can take turns in one run.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::OnceLock,
};

static PYTHON: OnceLock<String> = OnceLock::new();

/// Says that the peers are to be measured, too, with this Python (`measure --peers`). The first call counts.
pub fn ask(python: &str) {
    let _ = PYTHON.set(python.to_owned());
}

/// The Python to ask, if the peers are to be measured.
pub fn python() -> Option<&'static str> {
    PYTHON.get().map(String::as_str)
}

/// What a peer is to do.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Job {
    /// Pictures in a batch.
    pub batch: usize,
    /// How often all pictures are seen.
    pub epochs: usize,
    /// Where its random numbers start.
    pub seed: u64,
}

/// What it has done.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Answer {
    /// Seconds of each epoch, without the test.
    pub seconds: Vec<f64>,
    /// The share of right answers on the test pictures, after the last epoch.
    pub accuracy: f64,
    /// The same after each epoch, where the peer says it.
    #[serde(default)]
    pub accuracies: Vec<f64>,
    /// The library and its version.
    pub framework: String,
    /// Threads that it was told to take.
    pub threads: usize,
}

/// A running peer. It ends when it is dropped.
pub struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    command: String,
}

/// The folder with the peers' programs.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

impl Peer {
    /// Starts `program` with `arguments`; `backend` is what `KERAS_BACKEND` says to it.
    ///
    /// # Errors
    /// [`Error::Config`] if there is no such program.
    pub fn start(program: &str, arguments: &[&str], backend: Option<&str>) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(backend) = backend {
            command.env("KERAS_BACKEND", backend);
        }
        let text = [&[program], arguments].concat().join(" ");
        let failed = |why: &dyn std::fmt::Display| {
            Error::Config(format!(
                "`{text}` does not start: {why}; give another Python with --peers=PYTHON"
            ))
        };
        let mut child = command.spawn().map_err(|e| failed(&e))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| failed(&"it has no output"))?;
        Ok(Self { child, input, output: BufReader::new(output), command: text })
    }

    /// Has one job done.
    ///
    /// # Errors
    /// [`Error::Config`] if the peer ends or says something else.
    pub fn run(&mut self, job: Job) -> Result<Answer> {
        let failed = |why: String| {
            Error::Config(format!(
                "`{}` {why}; run it by hand and type {} to see what is wrong",
                self.command,
                serde_json::to_string(&job).unwrap_or_default()
            ))
        };
        let line = serde_json::to_string(&job).map_err(|e| failed(e.to_string()))?;
        let Some(input) = &mut self.input else { return Err(failed("has ended".to_owned())) };
        let asked = writeln!(input, "{line}").and_then(|()| input.flush());
        asked.map_err(|e| failed(format!("takes no job ({e})")))?;
        let mut answer = String::new();
        self.output.read_line(&mut answer).map_err(|e| failed(e.to_string()))?;
        if answer.is_empty() {
            return Err(failed("has ended without an answer".to_owned()));
        }
        serde_json::from_str(&answer).map_err(|e| failed(format!("says something else ({e})")))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.input.take()); // at the end of its input it ends
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: Job = Job { batch: 32, epochs: 2, seed: 7 };

    #[cfg(unix)]
    #[test]
    fn a_peer_is_asked_and_answers_as_often_as_there_are_jobs() {
        let script = r#"while read line; do case "$line" in
            '{"batch":32,"epochs":2,"seed":7}') echo '{"seconds": [2, 1.5], "accuracy": 0.5, "framework": "sh", "threads": 1}';;
            *) echo no;; esac; done"#;
        let mut peer = Peer::start("sh", &["-c", script], None).unwrap();
        for _ in 0..2 {
            let answer = peer.run(JOB).unwrap();
            assert_eq!((answer.seconds, answer.accuracy), (vec![2.0, 1.5], 0.5));
        }
        let error = peer.run(Job { seed: 8, ..JOB }).unwrap_err().to_string();
        assert!(error.contains("says something else") && error.contains("\"seed\":8"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_peer_that_ends_or_is_missing_is_a_sentence() {
        let mut peer = Peer::start("sh", &["-c", "exit 3"], None).unwrap();
        let error = peer.run(JOB).unwrap_err().to_string();
        assert!(error.contains("run it by hand"), "{error}");
        let Err(error) = Peer::start("no-such-python", &[], None) else { panic!("it started") };
        assert!(error.to_string().contains("--peers=PYTHON"), "{error}");
    }

    #[test]
    fn the_programs_are_there() {
        for name in ["pytorch.py", "keras.py", "mnist.py"] {
            assert!(folder().join(name).is_file(), "{name}");
        }
    }
}
