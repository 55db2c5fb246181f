//! What can go wrong in choosing, each as one sentence with the way out.

/// A `Result` whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong in choosing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lab's own errors.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// Chapter 3's own errors, of models that can't be.
    #[error(transparent)]
    Backprop(#[from] backprop::Error),
    /// Chapter 4's own errors, of training.
    #[error(transparent)]
    Training(#[from] training::Error),
    /// A data file with wrong content.
    #[error("{file}: {why}; correct the file, or take it back from the repository")]
    Data {
        /// `accelerators.json` or `cloud.json`.
        file: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A choice that can't work, such as a job without steps.
    #[error("{0}")]
    Config(String),
    /// Energy that can't be read on this machine.
    #[error("{0}")]
    Power(String),
}

lab::into_lab!(Error);
