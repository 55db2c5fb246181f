//! Number formats with fewer bits: what they represent, how a number is converted to one, and what sums lose in them.
//!
//! The modules in the order of the page:
//!
//! 1. [`format`](mod@format): sign, exponent and mantissa, from bits to a number.
//! 2. [`round`]: from a number to bits, by three rules of rounding.
//! 3. [`fast`]: the same for f16 in a few integer operations.
//! 4. [`sums`]: what adding up does in a format, and what helps.

pub mod fast;
pub mod format;
pub mod round;
pub mod sums;

pub use format::Format;
pub use round::{Overflow, Rounding};
