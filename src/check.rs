//! `check`: the exercises, what is solved, what comes next.

use crate::course;
use anyhow::{Result, bail};
use bookbinder::exercises::{self, Checker, Exercise, Outcome, Tried, readme::Readme};
use clap::Args;
use lab::{
    check::LACKING,
    out::{put, say},
    progress::Progress,
};
use std::{
    fs,
    io::IsTerminal as _,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How often `--watch` looks at the reader's file.
const POLL: Duration = Duration::from_millis(250);

/// Which exercises to check, and what to print about them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo run -- check                             the next exercise that is not solved yet
  cargo run -- check matmul                      the next one of a chapter
  cargo run -- check matmul/loop-order           one exercise, also by its own name: loop-order
  cargo run -- check matmul/loop-order --watch   again each time you save it, then the next one
  cargo run -- check matmul/loop-order --hint    its first hint (--hint 2: the second)
  cargo run -- check --list                      all exercises, and which are solved")]
pub struct Check {
    /// CHAPTER, CHAPTER/EXERCISE or EXERCISE, such as matmul/loop-order
    which: Option<String>,
    /// List the exercises, and which are solved
    #[arg(long, conflicts_with_all = ["watch", "hint", "solution", "verify"])]
    list: bool,
    /// Check again each time the file changes; go on to the next exercise when one is solved
    #[arg(long, conflicts_with_all = ["hint", "solution", "verify"])]
    watch: bool,
    /// Show a hint: the first one, or number N
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1", value_parser = crate::whole::<usize>(1..=u64::MAX), conflicts_with_all = ["solution", "verify"])]
    hint: Option<usize>,
    /// Show the solution
    #[arg(long, conflicts_with = "verify")]
    solution: bool,
    /// Prove that each exercise fails unsolved and passes with its solution (for the course's own tests)
    #[arg(long)]
    verify: bool,
}

impl Check {
    /// Runs what the arguments ask for.
    pub fn run(self) -> Result<()> {
        let root = course::root()?;
        let all = exercises::all(&root)?;
        if all.is_empty() {
            say("There are no exercises yet.");
            return Ok(());
        }
        let mut selected = exercises::select(&all, self.which.as_deref())?;
        let one = selected.len() == 1;
        if self.watch && one {
            selected = all.iter().skip_while(|exercise| *exercise != selected[0]).collect();
        }
        for exercise in &selected {
            exercise.write_missing()?;
        }
        let mut checker = Checker::new(&root);
        checker.colour =
            std::io::stdout().is_terminal() && lab::names::variable("NO_COLOR").is_none();
        let tests = !(self.list || self.hint.is_some() || self.solution);
        let in_rust = |exercise: &&Exercise| {
            let test = fs::read_to_string(exercise.folder.join("test.rs"));
            test.is_ok_and(|test| test.contains("in_rust::judge"))
        };
        if tests && selected.iter().any(in_rust) {
            waiting("the crate tile", |_| cpu_gpu::in_rust::prepare());
        }
        let session = Session { root: &root, checker, selected };
        if self.verify {
            session.verify()
        } else if self.list {
            session.list()
        } else if let Some(number) = self.hint {
            hint(session.next()?, number)
        } else if self.solution {
            solution(&root, session.next()?)
        } else if self.watch {
            session.watch(one)
        } else {
            session.check()
        }
    }
}

/// The exercises at hand.
struct Session<'a> {
    root: &'a Path,
    checker: Checker,
    selected: Vec<&'a Exercise>,
}

impl<'a> Session<'a> {
    /// Each exercise at hand, and whether it was solved when it was last tested; nothing is tested for this.
    fn states(&self) -> Result<Vec<(&'a Exercise, Option<bool>)>> {
        let known = |exercise: &&'a Exercise| Ok((*exercise, self.checker.known(exercise)?));
        self.selected.iter().map(known).collect()
    }

    /// The one exercise that was named, or the first that is not known to be solved.
    fn next(&self) -> Result<&'a Exercise> {
        if let [one] = self.selected[..] {
            return Ok(one);
        }
        let open = self.states()?.into_iter().find(|(_, solved)| *solved != Some(true));
        match open {
            Some((exercise, _)) => Ok(exercise),
            None => bail!(
                "all of these exercises are solved; name one, such as {}",
                self.selected[0].id()
            ),
        }
    }

    fn check(&self) -> Result<()> {
        if let [one] = self.selected[..] {
            let outcome = self.outcome(one)?;
            Self::report(one, &outcome);
            if let Outcome::Lacking(_) = outcome {
                bail!("{} was not judged", one.id());
            }
            if !outcome.is_solved() {
                self.advise(one);
                bail!("{} is not solved yet", one.id());
            }
            return Ok(());
        }
        let states = self.states()?;
        Self::progress(&states);
        // One after the other, until one is not solved: the rest need not be built.
        for (exercise, _) in states.iter().filter(|(_, solved)| *solved != Some(true)) {
            let outcome = self.outcome(exercise)?;
            let (title, id) = (&exercise.readme.title, exercise.id());
            match &outcome {
                Outcome::Solved(_) => say(&format!("Solved: {title} ({id}).")),
                Outcome::Lacking(why) => say(&format!("Passed over: {title} ({id}), since {why}.")),
                _ => {
                    say("");
                    self.describe(exercise);
                    Self::report(exercise, &outcome);
                    self.advise(exercise);
                    return Ok(());
                }
            }
        }
        say("That is all of them.");
        Ok(())
    }

    /// How far the reader is.
    fn progress(states: &[(&Exercise, Option<bool>)]) {
        let count = |state| states.iter().filter(|(_, solved)| *solved == state).count();
        let (done, unknown) = (count(Some(true)), count(None));
        let solved: Vec<(&Exercise, bool)> =
            states.iter().map(|(exercise, solved)| (*exercise, *solved == Some(true))).collect();
        let untested = match unknown {
            0 => String::new(),
            _ => format!(", {unknown} not tested since they or their chapter changed"),
        };
        let bars = std::io::stdout().is_terminal();
        put(&format!(
            "{done} of {} solved{untested}\n{}",
            states.len(),
            exercises::progress(&solved, bars)
        ));
    }

    fn outcome(&self, exercise: &Exercise) -> Result<Outcome> {
        waiting(&exercise.id(), |note| self.checker.check(exercise, note))
    }

    fn list(&self) -> Result<()> {
        let states = self.states()?;
        let wide = states.iter().map(|(exercise, _)| exercise.id().len()).max().unwrap_or(0);
        for (exercise, solved) in &states {
            let state = match solved {
                Some(true) => "solved ",
                Some(false) => "not yet",
                None => "?      ",
            };
            let Readme { title, effort, .. } = &exercise.readme;
            say(&format!("{state}  {:wide$}  {title} ({effort})", exercise.id()));
        }
        say("");
        Self::progress(&states);
        if states.iter().any(|(_, solved)| solved.is_none()) {
            say("`check EXERCISE` tests one, `check` the next that is not known to be solved.");
        }
        Ok(())
    }

    /// What there is to do, and where.
    fn describe(&self, exercise: &Exercise) {
        say(&format!("{}: {} ({})", exercise.id(), exercise.readme.title, exercise.readme.effort));
        say(&format!("\n{}\n", exercise.readme.task));
        say(&format!("Your file is {}.", self.shown(exercise)));
    }

    fn shown(&self, exercise: &Exercise) -> String {
        let file = exercise.file();
        file.strip_prefix(self.root).unwrap_or(&file).display().to_string()
    }

    /// What came out.
    fn report(exercise: &Exercise, outcome: &Outcome) {
        match outcome {
            Outcome::Solved(printed) => {
                say(&format!("Solved: {} ({}).", exercise.readme.title, exercise.id()));
                if !printed.is_empty() {
                    say(&indented(printed));
                }
            }
            Outcome::Broken(errors) => {
                say(&format!("Not yet: it does not compile.\n\n{}", errors.trim_end()));
            }
            Outcome::Failing(failed) => {
                say("Not yet:");
                for (test, message) in failed {
                    say(&format!("- {test}\n{}", indented(message)));
                }
            }
            Outcome::Lacking(why) => say(&format!("{LACKING}{why}.")),
            Outcome::Endless => {
                say("Not yet: the test does not end. Is there an endless loop?");
            }
        }
    }

    /// What to do after an attempt that has not solved it.
    fn advise(&self, exercise: &Exercise) {
        let id = exercise.id();
        say(&format!(
            "\nEdit {}, then run `cargo run -- check {id}` again, or add --watch. \
             For a hint, add --hint; to begin anew, delete the file.",
            self.shown(exercise)
        ));
    }

    /// Follows the reader from one exercise to the next; the first is shown even if it is solved, where it was `named`.
    fn watch(&self, named: bool) -> Result<()> {
        let mut all = true;
        for (at, &exercise) in self.selected.iter().enumerate() {
            let solved = |note: &dyn Fn(&str)| self.checker.state(exercise, note);
            if !(named && at == 0) && waiting(&exercise.id(), solved)? {
                continue;
            }
            let mut seen = None;
            loop {
                // An editor may take the file away, or empty it, before it writes the new one.
                let text = fs::read(exercise.file()).unwrap_or_default();
                if text.is_empty() || seen.as_ref() == Some(&text) {
                    thread::sleep(POLL);
                    continue;
                }
                clear();
                self.describe(exercise);
                say("");
                let outcome = match self.outcome(exercise) {
                    Err(_) if !exercise.file().exists() => continue,
                    outcome => outcome?,
                };
                Self::report(exercise, &outcome);
                if let Outcome::Lacking(_) = outcome {
                    all = false;
                    break;
                }
                if outcome.is_solved() {
                    break;
                }
                say("\nWatching the file; Ctrl-C ends it.");
                seen = Some(text);
            }
        }
        if all {
            say("\nAll of these exercises are solved.");
        }
        Ok(())
    }

    fn verify(&self) -> Result<()> {
        let (mut wrong, mut passed_over) = (Vec::new(), 0);
        let began = Instant::now();
        waiting("exercises", |note| {
            self.checker.verify(&self.selected, note, &mut |exercise, verified| match verified {
                Ok(Tried::Both) => {
                    say(&format!("{}: fails unsolved, passes solved", exercise.id()));
                }
                Ok(Tried::Solution) => {
                    say(&format!("{}: passes solved; your own file is not judged", exercise.id()));
                }
                Ok(Tried::Neither(why)) => {
                    say(&format!("{}: passed over, since {why}", exercise.id()));
                    passed_over += 1;
                }
                Err(error) => {
                    say(&format!("{}: {error:#}", exercise.id()));
                    wrong.push(exercise.id());
                }
            });
        });
        if !wrong.is_empty() {
            bail!("these exercises are not in order, see above: {}", wrong.join(", "));
        }
        let seconds = began.elapsed().as_secs_f64();
        let judged = self.selected.len() - passed_over;
        say(&format!("{judged} exercises are in order ({seconds:.1} s)."));
        Ok(())
    }
}

fn hint(exercise: &Exercise, number: usize) -> Result<()> {
    let count = exercise.readme.hints.len();
    let Some(hint) = number.checked_sub(1).and_then(|at| exercise.readme.hints.get(at)) else {
        bail!("{} has {count} hints; there is no number {number}", exercise.id());
    };
    say(&format!("{}, hint {number} of {count}:\n\n{hint}", exercise.readme.title));
    let (what, option) = if number < count {
        ("next one", format!("--hint {}", number + 1))
    } else {
        ("solution", "--solution".to_owned())
    };
    say(&format!("\nThe {what}: `cargo run -- check {} {option}`", exercise.id()));
    Ok(())
}

fn solution(root: &Path, exercise: &Exercise) -> Result<()> {
    say(&format!("{}\n\n{}", exercise.readme.title, exercise.readme.solution));
    let file = exercise.folder.join("solution.rs");
    for (line, part) in exercise.solved_parts()? {
        say(&format!(
            "\nFrom line {line} of {}:\n\n{}",
            file.strip_prefix(root).unwrap_or(&file).display(),
            part.trim_end()
        ));
    }
    Ok(())
}

/// Runs `work` and shows what cargo does in the meantime.
fn waiting<T>(what: &str, work: impl FnOnce(&dyn Fn(&str)) -> T) -> T {
    let progress = std::io::stderr().is_terminal().then(|| Progress::spinner(what));
    let result = work(&|line| {
        if let Some(progress) = &progress {
            progress.note(line);
        }
    });
    if let Some(progress) = progress {
        progress.finish();
    }
    result
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| format!("    {line}").trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

/// An empty screen, on a terminal.
fn clear() {
    if std::io::stdout().is_terminal() {
        put("\u{1b}[2J\u{1b}[H");
    } else {
        say("");
    }
}
