//! Kernels written in Rust: two crates beside this one, each a workspace of its own, whose programs are started from here.
//!
//! They take minutes to build, and `tile` takes a toolkit that nothing else needs: so nothing builds them unasked.

use crate::{Error, Result};
use std::{
    env,
    ffi::OsStr,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
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
        if let Err(why) = self.command(&[]) {
            return why.to_string();
        }
        let mut cargo = prepared(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["check", "--quiet", "--package", "wrong", "--bin", program])
            .current_dir(self.folder());
        printed(cargo)
    }
}

/// A command that reads nothing and knows where the compiler of tiles is.
fn prepared(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    if env::var_os("XDG_RUNTIME_DIR").is_none() {
        command.env("XDG_RUNTIME_DIR", env::temp_dir()); // or Vulkan complains, of windows that nobody opens
    }
    if let Some(toolkit) = lab::toolkit::of_tiles() {
        command.env("CUDA_TOOLKIT_PATH", toolkit);
    }
    command
}

/// Both streams of a command that ends.
fn printed(mut command: Command) -> String {
    match command.output() {
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
