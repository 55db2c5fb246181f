//! What a command says, on a standard output that need not be there.
//!
//! `println!` ends the program when its output is closed, and a server or a training must not end for that. Here a closed pipe
//! ends the talk alone; anything else, such as a full disk, fails the command once its work is done.

use crate::{Error, Result};
use std::{
    fmt::Display,
    io::{self, ErrorKind, Write},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// The first failure to write, except for a closed pipe.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Whether the pipe is closed.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// The text without what a terminal would obey: a model's text, a file's or its name may have escape sequences in it.
pub fn harmless(text: &str) -> String {
    let plain = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
    text.chars().map(plain).collect()
}

/// A number that the user chose, in few characters: `0.001`, `1e23`.
pub fn short(value: f64) -> String {
    let usual = value == 0.0 || (1e-6..1e9).contains(&value.abs());
    if usual { value.to_string() } else { format!("{value:e}") }
}

/// A [`harmless`] line on standard output.
pub fn say(text: &str) {
    put(&(harmless(text) + "\n"));
}

/// Text on standard output, as it is: it ends its lines itself, and may have colours.
pub fn put(text: &str) {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => CLOSED.store(true, Relaxed),
        Err(error) => {
            LOST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        Ok(()) => {}
    }
}

/// Whether nobody reads standard output any more.
pub fn unread() -> bool {
    CLOSED.load(Relaxed)
}

/// A [`harmless`] line on standard error. Where that can't be written, nothing can be reported.
pub fn warn(line: impl Display) {
    let _ = writeln!(io::stderr(), "{}", harmless(&line.to_string()));
}

/// Whether all was written that could be read.
///
/// # Errors
/// The first failure to write.
pub fn finish() -> Result<()> {
    match LOST.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(Error::Message(format!("standard output can't be written: {error}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_of_a_text() {
        let obeyed = "\u{1b}]0;title\u{7}\u{e}\r\u{0}\u{7f}\u{9b}31m";
        assert!(!harmless(obeyed).contains(char::is_control));
        assert_eq!(
            harmless("fn a() {\n\tlet größe = \"→\";\n"),
            "fn a() {\n\tlet größe = \"→\";\n"
        );
        assert_eq!(harmless("a\u{1b}[31mß"), "a\u{fffd}[31mß");
    }

    #[test]
    fn numbers_that_were_chosen_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (1e-3, "0.001"),
            (3e-5, "0.00003"),
            (1e308, "1e308"),
            (-1e-9, "-1e-9"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
