//! Runs the exercises of the course.

use super::{
    build::{Version, build},
    exercise::Exercise,
    memory::{key, remember, remembered},
    outcome::{self, Outcome},
};
use crate::{process, text::read};
use anyhow::{Context, Result, bail};
use lab::probe::within;
use std::{
    fs,
    hash::{BuildHasher as _, RandomState},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// The longest that a test may run: an endless loop is a common bug.
const LIMIT: Duration = Duration::from_secs(30);

/// Runs the exercises of the course.
pub struct Checker {
    root: PathBuf,
    /// Where it is remembered what came of each.
    memory: PathBuf,
    /// Whether the compiler may colour its errors.
    pub colour: bool,
}

impl Checker {
    /// A checker for the course in `root`.
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            memory: process::target(root).join("exercises.json"),
            colour: false,
        }
    }

    /// Runs one exercise's test. `note` hears what cargo does.
    fn run(&self, exercise: &Exercise, version: Version, note: &dyn Fn(&str)) -> Result<Outcome> {
        match build(&self.root, &[exercise], version, self.colour, note)? {
            Ok(programs) => match &programs[..] {
                [program] => self.test(exercise, program),
                _ => bail!("cargo built no test of {}", exercise.id()),
            },
            Err(errors) => Ok(Outcome::Broken(errors)),
        }
    }

    /// Runs a compiled test, each of its functions as a process of its own. That they are all there and have passed depends
    /// on nothing that the reader's code prints, and not on how it ends the program: it is what `test.rs` asks for, and what
    /// the harness notes.
    fn test(&self, exercise: &Exercise, program: &Path) -> Result<Outcome> {
        let text = read(&exercise.folder.join("test.rs"))?;
        let mut results = Vec::new();
        for name in outcome::tests(&text) {
            match self.result(exercise, program, name)? {
                Some(result) => results.push((name, result)),
                None => return Ok(Outcome::Endless),
            }
        }
        if results.is_empty() {
            bail!("{} has no `#[test]` in its test.rs", exercise.id());
        }
        Ok(outcome::of(results))
    }

    /// Whether one function of a compiled test passes, and what it prints; nothing if it does not end in time.
    fn result(
        &self,
        exercise: &Exercise,
        program: &Path,
        name: &str,
    ) -> Result<Option<(bool, String)>> {
        let folder = self.root.join("chapters").join(&exercise.chapter);
        // The reader's code can't guess its name. `--logfile` is deprecated, and there is no other way yet to hear from the
        // harness apart from what the test prints (github.com/rust-lang/rust/pull/134283).
        let log = program.with_extension(format!("{:x}", RandomState::new().hash_one(name)));
        let mut command = Command::new(program);
        command
            .args(["--exact", name, "--nocapture", "--test-threads", "1", "--logfile"])
            .arg(&log)
            .current_dir(&folder)
            .env("CARGO_MANIFEST_DIR", &folder)
            .env("RUST_BACKTRACE", "0");
        let ran = within(LIMIT, &mut command, 48 << 10, true);
        let (said, ended) = ran.context("can't run the test")?;
        let noted = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        Ok(ended.map(|status| outcome::result(&noted, &said, status)))
    }

    /// Whether the reader's file is solved. Its test runs, unless nothing changed since it last ran.
    ///
    /// # Errors
    /// As [`Checker::check`].
    pub fn state(&self, exercise: &Exercise, note: &dyn Fn(&str)) -> Result<bool> {
        match remembered(&self.memory, exercise, &key(&self.root, exercise)?) {
            Some(solved) => Ok(solved),
            None => Ok(self.check(exercise, note)?.is_solved()),
        }
    }

    /// Whether the exercise was solved when its test last ran; `None` if it or its chapter has changed since, or it never
    /// ran. Runs nothing.
    ///
    /// # Errors
    /// If a file of the exercise can't be read.
    pub fn known(&self, exercise: &Exercise) -> Result<Option<bool>> {
        Ok(remembered(&self.memory, exercise, &key(&self.root, exercise)?))
    }

    /// Runs the test on the reader's file, remembered for [`Checker::state`].
    ///
    /// # Errors
    /// If cargo can't be run, or fails for another reason than the exercise.
    pub fn check(&self, exercise: &Exercise, note: &dyn Fn(&str)) -> Result<Outcome> {
        let key = key(&self.root, exercise)?;
        let outcome = self.run(exercise, Version::Exercise, note)?;
        if !matches!(outcome, Outcome::Lacking(_)) {
            remember(&self.memory, exercise, &key, outcome.is_solved());
        }
        Ok(outcome)
    }

    /// Proves for exercises that the stub compiles and fails, that the solution passes, and that a page has it. Tells what
    /// came of each, in their order, and what was tried.
    ///
    /// All stubs are compiled at once, and all solutions, as long as they compile; where one does not, or the manifest
    /// lacks one, each is compiled alone to find it.
    pub fn verify(
        &self,
        exercises: &[&Exercise],
        note: &dyn Fn(&str),
        tell: &mut dyn FnMut(&Exercise, Result<Tried>),
    ) {
        let built = |version| match build(&self.root, exercises, version, self.colour, note) {
            Ok(Ok(programs)) => programs.into_iter().map(Some).collect(),
            Ok(Err(_)) | Err(_) => vec![None; exercises.len()],
        };
        let programs = built(Version::Exercise).into_iter().zip(built(Version::Solution));
        for (exercise, (stub, solution)) in exercises.iter().zip(programs) {
            note(&exercise.id());
            let run = |program: Option<PathBuf>, version| match program {
                Some(program) => self.test(exercise, &program),
                None => self.run(exercise, version, note),
            };
            let stub = || run(stub, Version::Exercise);
            let solution = || run(solution, Version::Solution);
            tell(exercise, in_order(exercise, stub, solution));
        }
    }
}

/// What of an exercise was tried, and in order.
#[derive(Debug, PartialEq)]
pub enum Tried {
    /// The stub, and the solution.
    Both,
    /// The solution: a reader has written something in the stub's place, which is not judged.
    Solution,
    /// Neither: what the machine lacks.
    Neither(String),
}

/// What is wrong with an exercise, whose stub and solution are run by these functions.
fn in_order(
    exercise: &Exercise,
    run_stub: impl FnOnce() -> Result<Outcome>,
    run_solution: impl FnOnce() -> Result<Outcome>,
) -> Result<Tried> {
    exercise.in_order()?;
    let untouched = exercise.is_untouched()?;
    if untouched {
        match run_stub()? {
            Outcome::Failing(_) => {}
            Outcome::Solved(_) => bail!("the stub passes its test"),
            Outcome::Broken(errors) => bail!("the stub does not compile:\n{errors}"),
            Outcome::Lacking(why) => return Ok(Tried::Neither(why)),
            Outcome::Endless => bail!("the stub's test does not end in {} s", LIMIT.as_secs()),
        }
    }
    match run_solution()? {
        Outcome::Solved(_) if untouched => Ok(Tried::Both),
        Outcome::Solved(_) => Ok(Tried::Solution),
        Outcome::Lacking(why) => Ok(Tried::Neither(why)),
        Outcome::Failing(failed) => {
            let failed: Vec<String> =
                failed.iter().map(|(test, message)| format!("{test}: {message}")).collect();
            bail!("the solution fails its test: {}", failed.join("; "))
        }
        Outcome::Broken(errors) => bail!("the solution does not compile:\n{errors}"),
        Outcome::Endless => bail!("the solution's test does not end in {} s", LIMIT.as_secs()),
    }
}
