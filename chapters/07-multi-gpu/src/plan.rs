//! Predicted time on thousands of GPUs, and the best split for a model and a set of cards.
//!
//! In the order of the page: a [`network`] of islands; a data parallel step, event by event ([`simulate`]), held against
//! [`published`] runs; a [`model`] as a list of blocks and the [`cards`] it may run on; what one [`split`] takes, and the
//! [`search`] for the best.

pub mod alpha_beta;
pub mod cards;
pub mod model;
pub mod network;
pub mod search;
pub mod simulate;
pub mod split;

pub use alpha_beta::AlphaBeta;
use lab::Part;

/// What this part measures and shows.
pub fn part() -> Part {
    Part::default()
}
