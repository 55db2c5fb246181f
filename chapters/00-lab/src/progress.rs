//! What is shown during the work: bars on a terminal, plain lines elsewhere.
//!
//! A bar redraws its line, which in a file, a pipe or a notebook leaves garbage or nothing. There a line is
//! written every few seconds instead. `NO_COLOR` is obeyed.

use crate::{Unit, names::variable, out::harmless, record::Value};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::{
    env,
    fmt::{self, Write as _},
    io::{self, IsTerminal as _, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The progress of a job of known or unknown length. It can be shared between threads.
#[derive(Debug)]
pub struct Progress {
    /// Counts, and draws itself where there is a terminal.
    bar: ProgressBar,
    /// The lines under the bar, which its style reads whenever it draws.
    below: Arc<Mutex<String>>,
    /// What is written instead of a bar.
    lines: Option<Mutex<Lines>>,
    /// Whether values that were measured are not shown.
    brief: bool,
}

impl Progress {
    /// Shows nothing: for tests.
    pub fn hidden() -> Self {
        Self::of(ProgressBar::hidden(), None)
    }

    /// A job of `len` steps.
    pub fn new(title: impl Into<String>, len: u64) -> Self {
        Self::start(title.into(), Some(len), Unit::Count, false)
    }

    /// [`Progress::new`] without the values that are measured, and with few lines where there is no bar.
    pub fn brief(title: impl Into<String>, len: u64) -> Self {
        Self::start(title.into(), Some(len), Unit::Count, true)
    }

    /// A job of `len` bytes, or of unknown size: a download.
    pub fn bytes(title: impl Into<String>, len: Option<u64>) -> Self {
        Self::start(title.into(), len, Unit::Bytes, false)
    }

    /// A job of unknown length.
    pub fn spinner(title: impl Into<String>) -> Self {
        Self::start(title.into(), None, Unit::Count, false)
    }

    fn start(title: String, len: Option<u64>, counts: Unit, brief: bool) -> Self {
        let terminal =
            io::stderr().is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb");
        let (seconds, out): (_, Box<dyn Write + Send>) =
            match (crate::probe::in_notebook(), terminal, brief) {
                (true, ..) => (1, Box::new(io::stdout())),
                (_, true, _) => {
                    let bar = Self::bar(title, len, counts, ProgressDrawTarget::stderr());
                    return Self { brief, ..bar };
                }
                (.., true) => (60, Box::new(io::stderr())),
                _ => (5, Box::new(io::stderr())),
            };
        Self { brief, ..Self::lines(title, len, counts, Duration::from_secs(seconds), out) }
    }

    fn of(bar: ProgressBar, lines: Option<Lines>) -> Self {
        Self { bar, below: Arc::default(), lines: lines.map(Mutex::new), brief: false }
    }

    fn lines(
        title: String,
        len: Option<u64>,
        counts: Unit,
        every: Duration,
        out: Box<dyn Write + Send>,
    ) -> Self {
        let bar = ProgressBar::with_draw_target(len, ProgressDrawTarget::hidden());
        let mut lines = Lines { title, counts, every, last: Instant::now(), out };
        lines.line(&lines.title.clone());
        Self::of(bar, Some(lines))
    }

    fn bar(title: String, len: Option<u64>, counts: Unit, target: ProgressDrawTarget) -> Self {
        let made = Self::of(ProgressBar::with_draw_target(len, target).with_prefix(title), None);
        // A colour only where the user has not refused it; console also reads NO_COLOR, but not for every
        // kind of target.
        let refused = variable("NO_COLOR").is_some();
        let begins = match (len, refused) {
            (Some(_), false) => "{prefix} {bar:24.cyan}",
            (Some(_), true) => "{prefix} {bar:24}",
            (None, false) => "{spinner:.cyan} {prefix}",
            (None, true) => "{spinner} {prefix}",
        };
        let count = match (len, counts) {
            (Some(_), Unit::Bytes) => "{binary_bytes}/{binary_total_bytes}{left}",
            (None, Unit::Bytes) => "{binary_bytes}",
            (Some(_), _) => "{pos}/{len} {elapsed}{left}",
            (None, _) => "{elapsed}",
        };
        // A template that indicatif does not know would leave its own standard style.
        let template = format!("{begins} {count} {{wide_msg}}\n{{below}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            let left = |state: &ProgressState, out: &mut dyn fmt::Write| {
                // The first estimates are wild.
                if state.pos() > 0 && state.elapsed() > Duration::from_secs(2) {
                    let _ = write!(out, ", {:.0} s left", state.eta().as_secs_f64());
                }
            };
            let lines = Arc::clone(&made.below);
            let below = move |_: &ProgressState, out: &mut dyn fmt::Write| {
                let _ = out.write_str(&locked(&lines));
            };
            let style = style.progress_chars("━╸─").with_key("left", left);
            made.bar.set_style(style.with_key("below", below));
        }
        made.bar.enable_steady_tick(Duration::from_millis(120));
        made
    }

    /// Says what is being done now.
    pub fn note(&self, text: &str) {
        self.bar.set_message(harmless(text));
        self.if_due();
    }

    /// Shows a value that was measured.
    pub fn value(&self, value: &Value) {
        if !self.brief {
            self.println(&value_line(value));
        }
    }

    /// The job has another length than was thought, if that is known.
    pub fn set_len(&self, len: Option<u64>) {
        if let Some(len) = len {
            self.bar.set_length(len);
        }
    }

    /// Counts `steps` more.
    pub fn inc(&self, steps: u64) {
        self.bar.inc(steps);
        self.if_due();
    }

    /// So many are counted in all.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
        self.if_due();
    }

    /// A line that stays.
    pub fn println(&self, text: &str) {
        match &self.lines {
            Some(lines) => locked(lines).line(text),
            None => self.bar.println(harmless(text)),
        }
    }

    /// The terminal's width in characters, where there is a bar.
    pub fn width(&self) -> Option<usize> {
        let width = || usize::from(console::Term::stderr().size().1);
        (!self.bar.is_hidden()).then(width)
    }

    /// Shows lines under the bar, replacing those that are there; nothing where there is no bar.
    pub fn below(&self, text: &str) {
        text.clone_into(&mut locked(&self.below)); // the bar draws itself a few times a second
    }

    /// The job is done: the bar goes away, plain lines get a last one with the time it took.
    pub fn finish(&self) {
        if let (Some(lines), false) = (&self.lines, self.bar.is_finished()) {
            let time = Unit::Seconds.format(self.bar.elapsed().as_secs_f64());
            let mut lines = locked(lines);
            let line = format!("{}: done in {time}", lines.title);
            lines.line(&line);
        }
        self.bar.finish_and_clear();
    }

    fn if_due(&self) {
        if let Some(lines) = &self.lines {
            let mut lines = locked(lines);
            if lines.last.elapsed() >= lines.every {
                let line = lines.status(&self.bar);
                lines.line(&line);
            }
        }
    }
}

/// A thread that panicked while holding the lock has left whole lines behind.
fn locked<T>(lines: &Mutex<T>) -> MutexGuard<'_, T> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `matmul.ladder n=1024 rung=packed  62.1 GFLOP/s (86% of one core's FMA peak)`.
fn value_line(value: &Value) -> String {
    let name = crate::record::name(&value.key, &value.params);
    let mut line = format!("  {name}  {}", value.text());
    if let (Some(share), Some(limit)) = (value.of_limit(), &value.limit) {
        let _ = write!(line, " ({:.0}% of {})", 100.0 * share, limit.name);
    }
    line
}

struct Lines {
    title: String,
    counts: Unit,
    every: Duration,
    last: Instant,
    out: Box<dyn Write + Send>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Lines").field("title", &self.title).finish_non_exhaustive()
    }
}

impl Lines {
    /// Progress is not worth failing for: a closed pipe ends the lines, not the job.
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}", harmless(text));
        let _ = self.out.flush();
        self.last = Instant::now();
    }

    fn status(&self, job: &ProgressBar) -> String {
        let count = |n: u64| self.counts.format(n as f64);
        let (mut line, at) = (self.title.clone(), job.position());
        match job.length() {
            Some(len) => {
                let share = 100.0 * at as f64 / len.max(1) as f64;
                let _ = write!(line, ": {} of {} ({share:.0}%)", count(at), count(len));
            }
            None if at > 0 => {
                let _ = write!(line, ": {}", count(at));
            }
            None => {}
        }
        let _ = write!(line, ", {:.0} s", job.elapsed().as_secs_f64());
        let note = job.message();
        if !note.is_empty() {
            let _ = write!(line, ", {note}");
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Samples, record::Limit};
    use indicatif::TermLike;
    use std::sync::Arc;

    /// A writer whose output the test can read.
    #[derive(Clone, Debug, Default)]
    struct Sheet(Arc<Mutex<String>>);

    impl Sheet {
        fn text(&self) -> String {
            self.0.lock().unwrap().clone()
        }
    }

    impl Write for Sheet {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A terminal that only remembers what was written.
    impl TermLike for Sheet {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)?;
            self.write_str("\n")
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn value() -> Value {
        let samples = Samples(vec![1.6e11]);
        let limit = Some(Limit { name: "the peak".to_owned(), value: 3.2e11 });
        Value { limit, ..Value::new("a.b", &[("n", &4)], Unit::FlopsPerSecond, samples) }
    }

    /// Plain lines onto the sheet, at most one in `every`.
    fn lines(len: Option<u64>, every: Duration, sheet: &Sheet) -> Progress {
        Progress::lines("job".to_owned(), len, Unit::Count, every, Box::new(sheet.clone()))
    }

    #[test]
    fn lines_are_plain_and_few_and_tell_how_far_the_job_is() {
        let sheet = Sheet::default();
        let progress = lines(Some(1000), Duration::from_hours(1), &sheet);
        for _ in 0..1000 {
            progress.inc(1);
            progress.note("a file");
        }
        progress.value(&value());
        progress.below("curves");
        assert_eq!(progress.width(), None);
        progress.finish();
        progress.finish();
        let text = sheet.text();
        let [first, second, last] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!([first, second], ["job", "  a.b n=4  160 GFLOP/s (50% of the peak)"]);
        assert!(last.starts_with("job: done in ") && !text.contains(['\r', '\u{1b}']), "{text:?}");
        let sheet = Sheet::default();
        let progress = Progress { brief: true, ..lines(Some(8), Duration::ZERO, &sheet) };
        progress.set(2);
        progress.note("the third");
        progress.value(&value());
        progress.println("a finding");
        let (two, more) = ("job: 2 of 8 (25%), 0 s\n", ", the third\na finding\n");
        assert_eq!(sheet.text(), format!("job\n{two}{}{more}", two.trim_end()));
    }

    #[test]
    fn a_terminal_gets_a_bar_of_its_kind_and_values_above_it() {
        for (len, counts, wanted) in [
            (Some(4096), Unit::Count, "2048/4096"),
            (Some(4096), Unit::Bytes, "2.00 KiB/4.00 KiB"),
            (None, Unit::Bytes, "2.00 KiB"),
            (None, Unit::Count, "job"),
        ] {
            let sheet = Sheet::default();
            let target = ProgressDrawTarget::term_like(Box::new(sheet.clone()));
            let progress = Progress::bar("job".to_owned(), len, counts, target);
            progress.inc(2048);
            progress.note("now");
            progress.below("the first line\nthe second");
            progress.value(&value());
            assert!(progress.width().is_some());
            progress.finish();
            let text = sheet.text();
            let value = "a.b n=4  160 GFLOP/s (50% of the peak)";
            for part in [wanted, "now", "the first line", "the second", value] {
                assert!(text.contains(part), "{part} is missing in {text:?}");
            }
        }
    }

    #[test]
    fn hidden_is_silent_and_a_closed_pipe_is_no_error() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        for progress in [
            Progress::hidden(),
            Progress::lines("a".to_owned(), None, Unit::Count, Duration::ZERO, Box::new(Closed)),
        ] {
            progress.note("b");
            progress.inc(1);
            progress.println("c");
            progress.finish();
        }
    }
}
