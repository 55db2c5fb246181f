//! What can go wrong between devices, each as one sentence with the way out.

use crate::Rank;

/// A `Result` whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between devices.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lab's own errors: files, data sets, plots.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// Chapter 3's own errors, of the networks from scratch.
    #[error(transparent)]
    Backprop(#[from] backprop::Error),
    /// Chapter 4's own errors, of training.
    #[error(transparent)]
    Training(#[from] training::Error),
    /// A choice that can't work, such as no rank at all.
    #[error("{0}")]
    Config(String),
    /// A rank ended, failed or was killed.
    #[error(
        "rank {rank} is gone: {why}; go on with --resume, or start again before the first checkpoint, with fewer ranks if it stays away"
    )]
    Lost {
        /// The rank.
        rank: Rank,
        /// What is known of its end.
        why: String,
    },
    /// A rank is there but has been silent for too long.
    #[error(
        "rank {rank} has not answered for {seconds:.0} s; see whether its machine is stopped or overloaded, then go on with --resume"
    )]
    Silent {
        /// The rank.
        rank: Rank,
        /// How long it was waited for.
        seconds: f64,
    },
    /// A library's collective operation has not ended, and the library does not report who is missing.
    #[error(
        "an operation of all ranks has not ended after {seconds:.0} s; see which machine is stopped or overloaded, then go on with --resume"
    )]
    Stuck {
        /// How long it was waited for.
        seconds: f64,
    },
}

lab::into_lab!(Error);
