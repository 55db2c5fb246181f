//! The other side of a race: PyTorch's and Keras's programs in `peers/`, run by a Python that has them. They wait
//! between their jobs, so that all contenders can take turns in one run.

use crate::{Error, Result};
use lab::{data::Source, probe::tied};
use matmul::parallel;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::OnceLock,
    thread::{self, JoinHandle},
};

static PYTHON: OnceLock<String> = OnceLock::new();

/// Requests that the peers are also measured, with this Python (`measure --peers`). The first call counts.
pub fn ask(python: &str) {
    let _ = PYTHON.set(python.to_owned());
}

/// Why they are not measured, as a clause.
pub const NOT_ASKED: &str = "the libraries were not asked for; `measure --peers` does";

/// Seconds of one step above which a peer is left out of a race, which would take it an hour: without instructions for it,
/// PyTorch's bf16 takes the better part of a minute.
const TOO_LONG: f64 = 5.0;

/// A peer whose step takes so many seconds takes part.
///
/// # Errors
/// If it takes too long, as a clause.
pub fn in_time(step: f64) -> Result<(), String> {
    let why = || format!("a step takes {step:.0} s on this CPU, too long for a race");
    if step > TOO_LONG { Err(why()) } else { Ok(()) }
}

/// The Python that was asked for.
pub fn python() -> Option<&'static str> {
    PYTHON.get().map(String::as_str)
}

/// What a peer is to do.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Job {
    /// Images in a batch.
    pub batch: usize,
    /// How often all images are seen.
    pub epochs: usize,
    /// Where its random numbers start.
    pub seed: u64,
}

/// What it replies to a job that it can't do; it is ready for the next.
#[derive(Deserialize)]
struct Failed {
    error: String,
}

/// What it has done.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Answer {
    /// Seconds of each epoch, without the test.
    pub seconds: Vec<f64>,
    /// The accuracy on the test images, after the last epoch.
    pub accuracy: f64,
    /// The same after each epoch, where the peer reports it.
    #[serde(default)]
    pub accuracies: Vec<f64>,
    /// The library and its version.
    pub framework: String,
    /// Threads that it was told to take.
    pub threads: usize,
}

impl Answer {
    /// That of this course, from the seconds and the accuracy of each epoch.
    pub fn of(epochs: impl Iterator<Item = (f64, f64)>) -> Self {
        let (seconds, accuracies): (Vec<f64>, Vec<f64>) = epochs.unzip();
        let accuracy = accuracies.last().copied().unwrap_or(f64::NAN);
        let framework = "this course".to_owned();
        Self { seconds, accuracy, accuracies, framework, threads: parallel::available() }
    }
}

/// A running peer. It ends when it is dropped.
pub struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Reads what it complains about, and ends with the last line of it.
    complaint: Option<JoinHandle<String>>,
    command: String,
}

/// The folder with the peers' programs.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// A peer that the given Python runs: it is told where the data lies, and then `arguments`.
///
/// # Errors
/// Why there is none, as a clause: peers were not requested, there is no MNIST, or no such Python.
pub fn start(program: &Path, source: &Source, arguments: &[&str]) -> Result<Peer, String> {
    match (PYTHON.get(), source) {
        (None, _) => Err(NOT_ASKED.to_owned()),
        (_, Source::Drawn) => Err("there is no MNIST on this machine to train both on".to_owned()),
        (Some(python), Source::Mnist(folder) | Source::Fashion(folder) | Source::Files(folder)) => {
            let (program, folder) = (program.to_string_lossy(), folder.to_string_lossy());
            let arguments = [&[&*program, &*folder], arguments].concat();
            Peer::start(python, &arguments).map_err(|error| error.to_string())
        }
    }
}

/// [`start`], and a first job: a program that still starts would take the time of the others.
///
/// # Errors
/// As [`start`], or that the program ends, as it does where the Python lacks its library.
pub fn ready(
    program: &Path,
    source: &Source,
    arguments: &[&str],
    first: Job,
) -> Result<(Peer, Answer), String> {
    let mut peer = start(program, source, arguments)?;
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let answer = peer.answer(&first).map_err(|why| format!("{name} {why}"))?;
    Ok((peer, answer))
}

impl Peer {
    /// Starts `program` with `arguments`.
    ///
    /// # Errors
    /// [`Error::Config`] if there is no such program.
    pub fn start(program: &str, arguments: &[&str]) -> Result<Self> {
        let failed = |why: &dyn std::fmt::Display| {
            Error::Config(format!(
                "`{program}` does not start: {why}; give another Python with --peers=PYTHON"
            ))
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = tied(&mut command).spawn().map_err(|e| failed(&e))?;
        let (input, errors) = (child.stdin.take(), child.stderr.take());
        let output = child.stdout.take().ok_or_else(|| failed(&"it has no output"))?;
        let complaint = errors.map(|errors| {
            // Read all along: a full pipe stops a program that warns much.
            let lines = BufReader::new(errors).split(b'\n').map_while(io::Result::ok);
            thread::spawn(|| String::from_utf8_lossy(&lines.last().unwrap_or_default()).into())
        });
        let command = [&[program], arguments].concat().join(" ");
        Ok(Self { child, input, output: BufReader::new(output), complaint, command })
    }

    /// Has one job done.
    ///
    /// # Errors
    /// [`Error::Config`] if the peer ends or replies with something else.
    pub fn run(&mut self, job: Job) -> Result<Answer> {
        self.ask(&job)
    }

    /// Has a job of another kind done, which has a reply of its own.
    ///
    /// # Errors
    /// As [`Peer::run`].
    pub fn ask<J: Serialize, A: DeserializeOwned>(&mut self, job: &J) -> Result<A> {
        self.answer(job).map_err(|why| {
            Error::Config(format!(
                "`{}` {why}; run it by hand and type {} to see what is wrong",
                self.command,
                serde_json::to_string(job).unwrap_or_default()
            ))
        })
    }

    /// Its reply to a job of any kind, for who records why there is none.
    ///
    /// # Errors
    /// A clause that says what it has done instead, without paths of this machine.
    pub fn answer<J: Serialize, A: DeserializeOwned>(&mut self, job: &J) -> Result<A, String> {
        match self.line(job) {
            Ok(line) if !line.is_empty() => {
                if let Ok(Failed { error }) = serde_json::from_str(&line) {
                    return Err(format!("can't do it ({error})"));
                }
                serde_json::from_str(&line)
                    .map_err(|e| format!("replies with something else ({e})"))
            }
            _ => Err(format!("has ended without a reply{}", self.complaint())),
        }
    }

    /// The line that it replies with; an empty one if it has ended.
    fn line(&mut self, job: &impl Serialize) -> io::Result<String> {
        let mut line = String::new();
        if let Some(input) = &mut self.input {
            writeln!(input, "{}", serde_json::to_string(job)?)?;
            input.flush()?;
        }
        self.output.read_line(&mut line)?;
        Ok(line)
    }

    /// Ends it; the last line that it has complained with, in brackets.
    fn complaint(&mut self) -> String {
        let _ = self.child.kill(); // it has ended, or no longer replies
        let last = self.complaint.take().and_then(|thread| thread.join().ok());
        last.filter(|line| !line.is_empty()).map_or_else(String::new, |line| format!(" ({line})"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.input.take()); // at the end of its input it ends
        let _ = self.child.wait();
    }
}
