//! Predicted time on thousands of GPUs, and the best split for a model and a set of cards.

use lab::Part;

/// What this part measures and shows.
pub fn part() -> Part {
    Part::default()
}
