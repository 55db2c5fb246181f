//! The windows of a text in random order, each once, without a list of them.

use lab::random::{at, key};

/// The window that is number `index` in this epoch. For the indices below `windows` these are all windows, each once, and
/// their order depends on the seed and the epoch. `index` is below `windows`.
pub fn window((seed, epoch): (u64, u64), index: u64, windows: u64) -> u64 {
    // EXERCISE: begin
    const ROUNDS: u64 = 8;
    // A Feistel network (Luby and Rackoff 1988), with cycle walking (Black and Rogaway 2002).
    // Halves of so many bits that both together can hold the last window.
    let bits = (64 - (windows - 1).leading_zeros()).div_ceil(2).max(1);
    let low = (1 << bits) - 1;
    let key = key(&[seed, epoch]);
    let mut number = index;
    loop {
        let (mut left, mut right) = (number >> bits, number & low);
        for round in 0..ROUNDS {
            // A function of `right` that differs from round to round.
            (left, right) = (right, left ^ (at(key ^ round, right) & low));
        }
        number = left << bits | right;
        if number < windows {
            return number;
        }
    }
    // EXERCISE: instead
    // // With replacement.
    // at(key(&[seed, epoch]), index) % windows
    // EXERCISE: end
}
