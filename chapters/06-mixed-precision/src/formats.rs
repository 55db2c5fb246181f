//! Number formats with fewer bits: what they hold, how a number gets into one, and what sums lose in them.
//!
//! The modules in the order of the page:
//!
//! 1. [`format`](mod@format): sign, exponent and mantissa, from bits to a number.
//! 2. [`round`]: from a number to bits, by three rules of rounding.
//! 3. [`fast`]: the same for f16 in a few integer operations.
//! 4. [`sums`]: what adding up does in a format, and what helps.
//! 5. [`experiments`] and [`figures`]: records, and what is made from them.

pub mod experiments;
pub mod fast;
pub mod figures;
pub mod format;
pub mod round;
pub mod sums;

pub use format::Format;
pub use round::{Overflow, Rounding};

use lab::Part;

/// Experiments, figures and tables of this part.
pub fn part() -> Part {
    Part { experiments: experiments::all(), figures: figures::figures(), tables: figures::tables() }
}
