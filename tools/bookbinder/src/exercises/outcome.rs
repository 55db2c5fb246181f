//! What became of an exercise, read from its test's report.

use crate::process::cause;
use std::collections::HashMap;

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
}

impl Outcome {
    /// Whether the test passes.
    pub fn is_solved(&self) -> bool {
        matches!(self, Self::Solved(_))
    }
}

/// The outcome in a test program's report, and whether it ended well.
pub(super) fn of(report: &[String], ended_well: bool) -> Outcome {
    let (failed, printed) = results(report);
    if ended_well {
        Outcome::Solved(printed)
    } else if failed.is_empty() {
        // A stack overflow or an abort ends the program without a report.
        Outcome::Failing(vec![("the test's program ended".to_owned(), cause(report))])
    } else {
        Outcome::Failing(failed)
    }
}

/// The failed tests with their messages, and what the ones that passed printed, from a test program's
/// report.
fn results(lines: &[String]) -> (Vec<(String, String)>, String) {
    let mut said: HashMap<&str, Vec<&str>> = HashMap::new();
    let (mut passed, mut failed) = (Vec::new(), Vec::new());
    let mut section = None;
    for line in lines {
        if let Some(name) =
            line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            section = Some(name);
        } else if let Some(result) =
            line.strip_prefix("test ").filter(|line| !line.starts_with("result: "))
        {
            section = None;
            match result.rsplit_once(" ... ") {
                Some((name, "ok")) => passed.push(name),
                Some((name, result)) if result.starts_with("FAILED") => failed.push(name),
                _ => {}
            }
        } else if matches!(line.as_str(), "successes:" | "failures:")
            || line.starts_with("test result: ")
        {
            section = None;
        } else if let Some(name) = section {
            said.entry(name).or_default().push(line);
        }
    }
    let failed = failed
        .into_iter()
        .map(|name| (name.replace('_', " "), message(said.get(name).map_or(&[], Vec::as_slice))))
        .collect();
    let printed: Vec<String> = passed
        .iter()
        .filter_map(|name| said.get(name))
        .map(|lines| message(lines))
        .filter(|text| !text.is_empty())
        .collect();
    (failed, printed.join("\n"))
}

/// What a test printed and why it failed, without the lines that only serve Rust's own developers.
fn message(lines: &[&str]) -> String {
    const MOST: usize = 20;
    let mut out: Vec<String> = Vec::new();
    for line in lines {
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
        out.push((*line).to_owned());
    }
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    if out.len() > MOST {
        let more = out.len() - MOST;
        out.truncate(MOST);
        out.push(format!("… and {more} more lines"));
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_report_is_told_in_short() {
        let report = "\nrunning 2 tests\ntest most_accesses_hit ... FAILED\ntest product_is_right ... ok\n\n\
            successes:\n\n---- product_is_right stdout ----\nall right\n\n\nsuccesses:\n    product_is_right\n\n\
            failures:\n\n---- most_accesses_hit stdout ----\nmisses: 7\n\n\
            thread 'most_accesses_hit' (71) panicked at chapters/a/exercises/b/test.rs:43:5:\n\
            assertion `left == right` failed: too many\n  left: 7\n right: 3\n\
            note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\n\
            failures:\n    most_accesses_hit\n\ntest result: FAILED. 1 passed; 1 failed\n";
        let (failed, printed) = results(&lines(report));
        assert_eq!(printed, "all right");
        assert_eq!(failed.len(), 1);
        assert_eq!(failed[0].0, "most accesses hit");
        assert_eq!(
            failed[0].1,
            "misses: 7\n\nat test.rs, line 43:\nassertion `left == right` failed: too many\n  left: 7\n right: 3"
        );
    }

    #[test]
    fn long_messages_are_cut() {
        let many: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let short = message(&many);
        assert_eq!(short.lines().count(), 21);
        assert!(short.ends_with("… and 80 more lines"), "{short}");
    }
}
