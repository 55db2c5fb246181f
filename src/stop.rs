//! Ctrl-C, SIGTERM and SIGHUP. A command without steps is ended by the system; one with steps ends after the current one.

use anyhow::{Result, anyhow};
use lab::limits::no_threads;
use std::{
    process::exit,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// Whether somebody has asked.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether steps are taken, so that somebody will look at it soon.
static STEPS: AtomicBool = AtomicBool::new(false);

/// Whether hanging up is to be ignored, as `nohup` asks.
static BY_NOHUP: AtomicBool = AtomicBool::new(false);

/// Ignores that somebody hangs up, and returns whether it was ignored.
#[cfg(unix)]
fn ignore() -> bool {
    // SAFETY: a signal that is ignored calls nothing.
    (unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) }) == libc::SIG_IGN
}

/// Sees what `nohup` asked for, before a GPU's driver takes signals to itself.
pub fn begin() {
    #[cfg(unix)]
    if ignore() {
        BY_NOHUP.store(true, Relaxed);
    } else {
        // SAFETY: what a program begins with.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) };
    }
}

/// Watches from now on. Where no steps are taken yet, or it is the second time, the program ends at once.
pub fn watch() -> Result<()> {
    let watched = ctrlc::set_handler(|| {
        if !STEPS.load(Relaxed) || ASKED.swap(true, Relaxed) {
            exit(130); // a training's last checkpoint is whole anyway
        }
    });
    #[cfg(unix)]
    if BY_NOHUP.load(Relaxed) {
        ignore();
    }
    watched.map_err(|_| anyhow!(no_threads("one waits for Ctrl-C")))
}

/// Whether the work is to end after this step.
pub fn asked() -> bool {
    STEPS.store(true, Relaxed);
    ASKED.load(Relaxed)
}

/// The steps are done: what comes after them, such as the book, ends at once.
pub fn no_more_steps() {
    STEPS.store(false, Relaxed);
}
