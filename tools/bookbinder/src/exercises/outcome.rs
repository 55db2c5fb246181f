//! What became of an exercise, read from the reports of its test's functions.

use lab::check::LACKING;
use std::process::ExitStatus;

/// What became of an exercise.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Its test passes; what the test printed.
    Solved(String),
    /// It does not compile: the compiler's errors.
    Broken(String),
    /// Its test fails: which tests, and the message of each.
    Failing(Vec<(String, String)>),
    /// Its test did not end in time.
    Endless,
    /// The machine lacks what its test needs: what, and how to get it.
    Lacking(String),
}

impl Outcome {
    /// Whether the test passes.
    pub fn is_solved(&self) -> bool {
        matches!(self, Self::Solved(_))
    }
}

/// The functions of a test file that are tests.
pub(super) fn tests(text: &str) -> Vec<&str> {
    let functions = text.split("\n#[test]").skip(1).filter_map(|rest| rest.split_once("fn "));
    functions.filter_map(|(_, rest)| Some(rest.split_once('(')?.0)).collect()
}

/// Whether a test passed, which ran alone, and what it printed: from what the harness has `noted` in its own file, which it
/// does when the test has ended, and all that the program `said`.
pub(super) fn result(noted: &str, said: &str, status: ExitStatus) -> (bool, String) {
    // What comes before the test and behind it is the harness's.
    let said = said.split_once(" ... ").map_or(said, |(_, said)| said);
    let until = |word| message(said.rsplit_once(word).map_or(said, |(said, _)| said));
    match noted.split_once(' ') {
        Some(("ok", _)) => (true, until("ok\n\n")),
        Some(_) => (false, until("FAILED\n\n")),
        None => {
            let end = format!("the program ended before the test did ({status})");
            (false, message(&format!("{}\n{end}", said.trim_end())))
        }
    }
}

/// The outcome, from what became of each test.
pub(super) fn of(results: Vec<(&str, (bool, String))>) -> Outcome {
    let (passed, failed): (Vec<_>, Vec<_>) = results.into_iter().partition(|(_, (ok, _))| *ok);
    if failed.is_empty() {
        let printed = passed.into_iter().map(|(_, (_, text))| text).filter(|text| !text.is_empty());
        return Outcome::Solved(printed.collect::<Vec<_>>().join("\n"));
    }
    if let Some(why) = failed.iter().find_map(|(_, (_, text))| text.split_once(LACKING)) {
        return Outcome::Lacking(why.1.to_owned());
    }
    Outcome::Failing(
        failed.into_iter().map(|(name, (_, text))| (name.replace('_', " "), text)).collect(),
    )
}

/// What a test printed and why it failed, without the lines that only serve Rust's own developers.
fn message(said: &str) -> String {
    const MOST: usize = 20;
    let mut out: Vec<String> = Vec::new();
    for line in said.lines() {
        if line.starts_with("note: run with")
            || (line.is_empty() && out.last().is_none_or(String::is_empty))
        {
            continue;
        }
        if line.starts_with("thread '")
            && let Some((_, place)) = line.split_once(" panicked at ")
        {
            // `chapters/01-matmul/exercises/loop-order/test.rs:43:5:` is `test.rs, line 43`.
            let file = place.rsplit(['/', '\\']).next().unwrap_or(place);
            let mut parts = file.split(':');
            let (file, number) =
                (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            out.push(format!("at {file}, line {number}:"));
            continue;
        }
        out.push(line.to_owned());
    }
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    if out.len() > MOST {
        out.splice(MOST / 2..out.len() - MOST / 2, ["…".to_owned()]);
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn what_the_harness_noted_counts_and_what_the_test_said_is_told_in_short() {
        let head = "warning: `--logfile` is deprecated\nrunning 1 test\ntest a ... ";
        let passes = "ok\n\ntest result: ok. 1 passed; 0 failed\n\n";
        let fails = "FAILED\n\nfailures:\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed\n\n";
        let panic = "thread 'a' (71) panicked at chapters/a/exercises/b/test.rs:43:5:\n\
            too many\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        let panicked = "at test.rs, line 43:\ntoo many";
        let ended = "the program ended before the test did (exit status: 0)";
        for (noted, said, behind, told) in [
            ("ok a\n", "7 ... 8\n", passes, "7 ... 8"),
            ("failed a\n", panic, fails, panicked),
            ("failed a\n", &format!("{passes}{panic}"), fails, &format!("{passes}{panicked}")),
            ("failed: why a\n", "7\n", fails, "7"),
            ("", passes, "", &format!("{}\n{ended}", passes.trim_end())),
        ] {
            let said = result(noted, &format!("{head}{said}{behind}"), ExitStatus::default());
            assert_eq!(said, (noted.starts_with("ok"), told.to_owned()));
        }
    }

    #[test]
    fn a_files_tests_are_named() {
        let text = "fn a() {}\n\n#[test]\nfn b() {\n}\n// #[test]\n#[test]\r\nfn c() {}\n";
        assert_eq!(tests(text), ["b", "c"]);
        // In the course, too: none is within a module, or behind another attribute.
        let course = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for exercise in crate::exercises::all(&course).unwrap() {
            let text = std::fs::read_to_string(exercise.folder.join("test.rs")).unwrap();
            assert_eq!(tests(&text).len(), text.matches("#[test]").count(), "{}", exercise.id());
        }
    }

    #[test]
    fn long_messages_are_cut_in_the_middle() {
        let lines = |n| "a\n".repeat(n);
        assert_eq!(message(&lines(20)), lines(20).trim_end());
        assert_eq!(message(&lines(99)), format!("{}…\n{}", lines(10), lines(10)).trim_end());
    }
}
