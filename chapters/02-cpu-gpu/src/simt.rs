//! A GPU small enough to read: threads in warps that move in lock-step, shared memory in banks, global memory
//! in sectors. Kernels give right results on it, and it counts what they cost and finds their bugs.
//!
//! The parts in reading order:
//!
//! - [`thread`]: what a kernel sees. A kernel is an `async` function; each `.await` is an instruction for the
//!   machine.
//! - [`warp`]: 32 threads in lock-step, and what happens when they part.
//! - [`memory`]: sectors, banks, and who touched a word last.
//! - `block`: a block's shared memory, and which accesses nothing orders.
//! - [`machine`]: barriers, blocks one after the other, launches.
//! - [`counts`] and [`fault`]: what a launch tells.
//! - [`occupancy`](mod@occupancy): how many warps fit on a multiprocessor.
//! - [`lessons`]: the first kernels, from adding two vectors to a sum over a block.
//! - [`ladder`](mod@ladder): the matrix product, rung by rung, with the indices of the real kernels.
//!
//! What it leaves out: time. Instructions take no cycles and caches do not exist; a count says how much
//! traffic a kernel asks for, and the [`ladder`](mod@crate::ladder) measures how long that takes.

#![allow(clippy::result_large_err)] // a fault ends a launch; its size costs nothing

mod block;
pub mod counts;
pub mod fault;
pub mod ladder;
pub mod lessons;
pub mod machine;
pub mod memory;
pub mod occupancy;
pub mod thread;
pub mod warp;

pub use block::SHARED_LIMIT;
pub use counts::{Counts, Event};
pub use fault::KernelFault;
pub use machine::Machine;
pub use memory::{BANKS, Global, SECTOR, Shared, WARP};
pub use occupancy::{Block, Limits, occupancy};
pub use thread::Thread;
