//! What can go wrong in this chapter, each as one message that says what to do.

use std::path::Path;

/// A `Result` whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong in this chapter.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lab's own errors: files, devices.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// Chapter 3's own errors: two things that belong together and have different lengths.
    #[error(transparent)]
    Backprop(#[from] backprop::Error),
    /// A product whose matrices do not fit each other.
    #[error(transparent)]
    Product(#[from] matmul::Error),
    /// Ranks that do not reach each other.
    #[error(transparent)]
    Ranks(#[from] multi_gpu::Error),
    /// A choice that can't work, such as a width that the heads do not divide.
    #[error("{0}")]
    Config(String),
    /// A token that the model does not know.
    #[error("token {token} is none of the model's {vocabulary}; they are numbered from 0")]
    Token {
        /// The token.
        token: u32,
        /// How many the model knows.
        vocabulary: usize,
    },
    /// A sequence that is empty or longer than the model's context.
    #[error("a sequence of {found} tokens; this model takes 1 to {context}")]
    Length {
        /// How many tokens there are.
        found: usize,
        /// The longest sequence that the model takes.
        context: usize,
    },
    /// A stream of tokens that is too short to draw from.
    #[error("the text has {found} tokens, and a context of {context} needs at least {}; give it more text or take a shorter context", .context + 1)]
    TooShort {
        /// How many tokens there are.
        found: usize,
        /// The context's length.
        context: usize,
    },
    /// The loss or the gradient's norm is no longer finite, or a loss or a parameter is too large to go on with.
    #[error("{what} became {found:.3e} in step {step}, with a learning rate of {lr:.1e}; start again with a smaller one, such as --lr {:.1e}", (.lr / 3.0).min(1e-3))]
    Diverged {
        /// The step, from 1.
        step: u64,
        /// The learning rate of this step.
        lr: f64,
        /// What it was: the batch's loss, or the norm of its gradient.
        what: &'static str,
        /// What it is.
        found: f64,
    },
}

impl Error {
    /// A file that is not what it should be: what is wrong with it and what to do.
    pub fn file(path: &Path, why: impl Into<String>) -> Self {
        Self::Lab(lab::Error::damaged(path, why))
    }
}

lab::into_lab!(Error);

impl From<Error> for multi_gpu::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Ranks(error) => error,
            other => Self::Lab(other.into()),
        }
    }
}
