//! Output on the terminal. A closed pipe (`book serve | head -1`) ends no work.

use lab::out::warn;
use std::{collections::BTreeSet, sync::Mutex};

/// A line on the error stream that is printed once, however often the same is found.
pub fn note_once(line: String) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().is_ok_and(|mut said| said.insert(line.clone())) {
        warn(line);
    }
}
