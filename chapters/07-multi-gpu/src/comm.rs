//! Collective operations from scratch, the engines MPI and NCCL, and what they cost.

pub mod cost;

use lab::Part;

pub use cost::AlphaBeta;

/// What this part measures and shows.
pub fn part() -> Part {
    Part::default()
}
