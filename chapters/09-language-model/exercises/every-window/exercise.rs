//! The windows of a text in random order, each once, without a list of them.

use lab::random::{at, key};

/// The window that is number `index` in this epoch. For the indices below `windows` these are all windows, each once, and
/// their order depends on the seed and the epoch. `index` is below `windows`.
pub fn window((seed, epoch): (u64, u64), index: u64, windows: u64) -> u64 {
    // EXERCISE: begin
    // With replacement.
    at(key(&[seed, epoch]), index) % windows
    // EXERCISE: end
}
