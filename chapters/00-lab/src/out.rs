//! What a command says, on a standard output that need not be there.
//!
//! `println!` ends the program when its output is closed, and a server or a training must not end for that. Here a closed pipe
//! ends the talk alone; anything else, such as a full disk, fails the command once its work is done.

use crate::{Error, Result};
use std::{
    fmt::Display,
    io::{self, ErrorKind, Write},
    sync::{Mutex, PoisonError},
};

/// The first failure to write, except for a closed pipe.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// A line on standard output.
pub fn say(text: &str) {
    put(&format!("{text}\n"));
}

/// Text on standard output, which ends its lines itself.
pub fn put(text: &str) {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        LOST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// A line on standard error. Where that can't be written, nothing can be reported.
pub fn warn(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
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
