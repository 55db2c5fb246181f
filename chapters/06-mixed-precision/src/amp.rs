//! TODO: one sentence.

use crate::Part;

/// Experiments, figures and tables of this part.
pub fn part() -> Part {
    Part::default()
}
