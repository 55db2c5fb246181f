//! Kernels written in Rust: two crates beside this one, each a workspace of its own, whose programs are started from here.
//!
//! They take minutes to build, and `tile` takes a toolkit that nothing else needs: so nothing builds them unasked.

use crate::{Error, Result};
use lab::check::lacking;
use std::{
    env,
    ffi::OsStr,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio},
};

lab::named! {
    /// One of the two crates.
    pub enum InRust("crate") {
        /// Whole tiles, through cuTile: NVIDIA alone.
        Tile = "tile",
        /// Threads, through CubeCL: any maker's card.
        Cube = "cube",
    }
}

impl InRust {
    fn folder(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(self.name())
    }

    /// Its program with these words, to be started.
    ///
    /// # Errors
    /// If it is not built: how.
    pub fn command(self, words: &[&str]) -> Result<Command> {
        let file = format!("target/debug/{}{}", self.name(), env::consts::EXE_SUFFIX);
        let program = self.folder().join(file);
        if !program.is_file() {
            let name = self.name();
            return Err(Error::message(format!(
                "the crate `{name}` is not built, which takes minutes, once: chapters/02-cpu-gpu/{name}/README.md says how"
            )));
        }
        let mut command = prepared(program);
        command.args(words);
        Ok(command)
    }

    /// What its program prints, or why it prints nothing.
    pub fn says(self, words: &[&str]) -> String {
        self.command(words).map_or_else(|why| why.to_string(), printed)
    }

    /// What rustc says of a program in the folder `wrong` of the crate.
    pub fn rustc_says(self, program: &str) -> String {
        match self.command(&[]) {
            Err(why) => why.to_string(),
            Ok(_) => {
                printed(self.cargo(&["check", "--quiet", "--package", "wrong", "--bin", program]))
            }
        }
    }

    fn cargo(self, words: &[&str]) -> Command {
        let mut cargo = prepared(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(words).current_dir(self.folder());
        cargo
    }
}

/// Why no exercise can be judged here, if none can.
fn lacks() -> Option<String> {
    let toolkit = || {
        lab::toolkit::of_tiles().is_none().then(|| {
            "NVIDIA's toolkit 13.5 is not there; chapters/02-cpu-gpu/tile/README.md says how to get it".to_owned()
        })
    };
    InRust::Tile.command(&[]).err().map(|why| why.to_string()).or_else(toolkit)
}

/// Compiles what the exercises' kernels are compiled on, which takes longer than a test of them may. What fails here fails
/// again in [`judge`], and is told there.
pub fn prepare() {
    if lacks().is_none() {
        let _ = InRust::Tile.cargo(&["build", "--quiet", "--package", "exercises"]).output();
    }
}

/// Judges an exercise's kernel of the crate `tile`, the reader's or the solution: first rustc does, then the crate's
/// interpreter holds it to `f64`.
///
/// # Panics
/// If it is wrong, and how. Without the crate, or its toolkit, it can't be judged: see [`lacking`].
#[track_caller]
pub fn judge(exercise: &str, solution: bool) {
    if let Some(why) = lacks() {
        lacking(why);
    }
    let file =
        format!("../exercises/{exercise}/{}.rs", if solution { "solution" } else { "exercise" });
    // The solution is a module of the crate.
    let compiled = ["build", "--quiet", "--package", "exercises", "--features", exercise];
    let run = ["run", "--quiet", "--", "exercise", exercise, &file];
    for words in [&compiled[..], &run].into_iter().skip(usize::from(solution)) {
        let done = InRust::Tile.cargo(words).output();
        let right = done.as_ref().is_ok_and(|done| done.status.success());
        let said = both(done);
        assert!(right, "{said}");
        println!("{said}");
    }
}

/// A command that reads nothing and knows where the compiler of tiles is.
fn prepared(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    if env::var_os("XDG_RUNTIME_DIR").is_none() {
        command.env("XDG_RUNTIME_DIR", env::temp_dir()); // or Vulkan complains, of windows that nobody opens
    }
    // Without a compiler, kernels that were compiled elsewhere.
    let cubins = InRust::Tile.folder().join("target/cubins");
    if let Some(toolkit) = lab::toolkit::of_tiles() {
        command.env("CUDA_TOOLKIT_PATH", toolkit);
    } else if cubins.is_dir() {
        command.env("CUTILE_TILEIRAS_PATH", cubins.join("tileiras")).env("TILE_CUBINS", cubins);
    }
    command
}

/// What a command prints that ends.
fn printed(mut command: Command) -> String {
    both(command.output())
}

/// Both streams.
fn both(done: io::Result<Output>) -> String {
    match done {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            String::from_utf8_lossy(&text).trim_end().to_owned()
        }
        Err(why) => why.to_string(),
    }
}

/// A product of one of the crates that takes its turns in a race: it computes when it is asked, and at no other time.
pub struct Turns {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Turns {
    /// Starts a product of n×n matrices, which compiles it and compares it with `f64`.
    ///
    /// # Errors
    /// If the crate is not built, the card is none of its own, or the product is wrong.
    pub fn start(of: InRust, kernel: &[&str], n: usize) -> Result<Self> {
        let n = n.to_string();
        let words = [&["turns"], kernel, &[&n]].concat();
        let mut command = of.command(&words)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|why| Error::message(why.to_string()))?;
        let (ask, answers) = (child.stdin.take(), child.stdout.take());
        let (Some(ask), Some(answers)) = (ask, answers) else { unreachable!("both are pipes") };
        let mut turns = Self { child, ask, answers: BufReader::new(answers) };
        turns.answer()?;
        Ok(turns)
    }

    /// Seconds of one product when there are so many in a row, on the device's clock.
    ///
    /// # Errors
    /// What the program says when it ends.
    pub fn seconds(&mut self, times: usize) -> Result<f64> {
        let asked = writeln!(self.ask, "{times}").and_then(|()| self.ask.flush());
        asked.map_err(|why| Error::message(why.to_string()))?;
        let answer = self.answer()?;
        answer.trim().parse().map_err(|_| Error::message(format!("`{answer}` is no time")))
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        if let Ok(1..) = self.answers.read_line(&mut line) {
            return Ok(line);
        }
        let _ = self.child.wait();
        let mut said = String::new();
        if let Some(mut errors) = self.child.stderr.take() {
            let _ = errors.read_to_string(&mut said);
        }
        Err(Error::message(said.trim().to_owned()))
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
