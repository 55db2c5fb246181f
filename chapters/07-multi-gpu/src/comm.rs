//! Collective operations from scratch, the engines MPI and NCCL, and what they cost.

use lab::Part;

/// What this part measures and shows.
pub fn part() -> Part {
    Part::default()
}
