//! Collective operations from scratch, the engines MPI and NCCL, and what they cost.
//!
//! The modules in the order of the page:
//!
//! 1. [`cost`]: what a message and an all-reduce cost, by latency and bandwidth.
//! 2. [`naive`], [`ring`], [`tree`]: collectives, written on send and receive alone.
//! 3. [`counting`]: how much they send; [`algorithm`]: which one when.
//! 4. `mpi`: the engine for processes and hosts (feature `mpi`).
//! 5. [`nccl`]: the engine for GPUs; [`gpus`]: an engine whose sums go by it.
//! 6. [`bench`](mod@bench): what a message and an all-reduce take, on any engine.

pub mod algorithm;
pub mod bench;
pub mod cost;
pub mod counting;
pub mod gpus;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod naive;
pub mod nccl;
pub mod ring;
pub mod tree;

pub use algorithm::Algorithm;
pub use cost::AlphaBeta;
