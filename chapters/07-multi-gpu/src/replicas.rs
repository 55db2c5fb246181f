//! Chapter 4's trainer on many devices, and ranks that die, hang or differ.

use lab::Part;

/// What this part measures and shows.
pub fn part() -> Part {
    Part::default()
}
