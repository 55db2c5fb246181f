//! What became of an exercise, read from the reports of its test's functions.

use crate::process::{Source, cause};
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
}

impl Outcome {
    /// Whether the test passes.
    pub fn is_solved(&self) -> bool {
        matches!(self, Self::Solved(_))
    }
}

/// What a test program has said.
pub(super) struct Report {
    /// How it ended.
    pub status: ExitStatus,
    /// Its lines, of both streams.
    pub lines: Vec<(Source, String)>,
}

impl Report {
    fn printed(&self) -> Vec<&str> {
        let printed = self.lines.iter().filter(|(source, _)| *source == Source::Stdout);
        printed.map(|(_, line)| line.as_str()).collect()
    }

    /// The tests that it lists.
    pub fn names(&self) -> Vec<&str> {
        self.printed().into_iter().filter_map(|line| line.strip_suffix(": test")).collect()
    }

    /// Whether a test that ran alone, of so many, passed or failed, and what it printed; nothing if the program ended before.
    ///
    /// Of what the program prints itself the last line counts, and what lies between the first headline of the test's output
    /// and the last one of a list: a reader's lines can be equal to any of them.
    pub fn result(&self, name: &str, of: usize) -> Option<(bool, String)> {
        let lines = self.printed();
        let last = lines.iter().rfind(|line| !line.is_empty())?.strip_prefix("test result: ")?;
        let others = format!("0 measured; {} filtered out; finished in ", of - 1);
        let (verdict, passed) = [
            ("ok. 1 passed; 0 failed; 0 ignored; ", true),
            ("ok. 0 passed; 0 failed; 1 ignored; ", true),
            ("FAILED. 0 passed; 1 failed; 0 ignored; ", false),
        ]
        .into_iter()
        .find(|(verdict, passed)| last.starts_with(verdict) && self.status.success() == *passed)?;
        if !last[verdict.len()..].starts_with(&others) {
            return None;
        }
        let head = format!("---- {name} stdout ----");
        let first = lines.iter().position(|line| *line == head).map(|at| at + 1);
        let end = lines.iter().rposition(|line| matches!(*line, "successes:" | "failures:"));
        let said = first.zip(end).and_then(|(first, end)| lines.get(first..end));
        Some((passed, message(said.unwrap_or_default())))
    }

    /// What a test, which ran alone and was not captured, printed before the program ended.
    pub fn early(&self, name: &str) -> (bool, String) {
        let begin = format!("test {name} ... ");
        let mut lines: Vec<&str> = self.lines.iter().map(|(_, line)| line.as_str()).collect();
        for line in &mut lines {
            *line = line.strip_prefix(&begin).unwrap_or(line);
        }
        lines.retain(|line| *line != "running 1 test");
        let said = message(&lines);
        let end = format!("the program ended before the test did ({})", self.status);
        (false, if said.is_empty() { end } else { format!("{said}\n{end}") })
    }
}

/// The outcome, from what became of each test, and the report that lists them.
pub(super) fn of(results: Vec<(&str, (bool, String))>, list: &Report) -> Outcome {
    if results.is_empty() {
        let said: Vec<String> = list.lines.iter().map(|(_, line)| line.clone()).collect();
        return Outcome::Failing(vec![("the program has no tests".to_owned(), cause(&said))]);
    }
    let (passed, failed): (Vec<_>, Vec<_>) = results.into_iter().partition(|(_, (ok, _))| *ok);
    if failed.is_empty() {
        let printed = passed.into_iter().map(|(_, (_, text))| text).filter(|text| !text.is_empty());
        return Outcome::Solved(printed.collect::<Vec<_>>().join("\n"));
    }
    Outcome::Failing(
        failed.into_iter().map(|(name, (_, text))| (name.replace('_', " "), text)).collect(),
    )
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

    #[test]
    #[cfg(unix)]
    fn a_report_is_told_in_short() {
        use std::os::unix::process::ExitStatusExt as _;
        let report = |code: i32, text: &str| Report {
            status: ExitStatus::from_raw(code << 8),
            lines: text.lines().map(|line| (Source::Stdout, line.to_owned())).collect(),
        };
        // The reader's code has printed lines like those of the program.
        let text = "\nrunning 1 test\ntest most_accesses_hit ... FAILED\n\nfailures:\n\n\
            ---- most_accesses_hit stdout ----\nmisses: 7\ntest set has 3 samples\nfailures:\n\n\
            thread 'most_accesses_hit' (71) panicked at chapters/a/exercises/b/test.rs:43:5:\n\
            assertion `left == right` failed: too many\n  left: 7\n right: 3\n\
            note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n\n\
            failures:\n    most_accesses_hit\n\n\
            test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.00s\n\n";
        let (passed, said) = report(101, text).result("most_accesses_hit", 2).unwrap();
        assert!(!passed);
        assert_eq!(
            said,
            "misses: 7\ntest set has 3 samples\nfailures:\n\nat test.rs, line 43:\nassertion `left == right` failed: \
             too many\n  left: 7\n right: 3"
        );
        let text = "\nrunning 1 test\ntest a ... ok\n\nsuccesses:\n\n---- a stdout ----\nall right\n\n\nsuccesses:\n    a\n\n\
            test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n";
        assert_eq!(report(0, text).result("a", 1), Some((true, "all right".to_owned())));
        for (code, text) in [
            (0, ""),
            (0, "\nrunning 1 test\n"),
            (
                0,
                "test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            ),
            (0, &text.replace("0 filtered", "1 filtered")),
            (0, &text.replace("finished in 0.00s", "finished in 0.00s\nand more")),
            (101, text),
        ] {
            assert_eq!(report(code, text).result("a", 1), None, "{text}");
        }
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
