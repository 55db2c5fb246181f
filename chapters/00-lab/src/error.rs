//! One error type for the lab: each variant is a message that says what is wrong and what to do.

use std::path::{Path, PathBuf};

/// A `Result` whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong in the lab, each as one message that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A page, figure or table asks for a value that no run has produced on this machine.
    #[error("`{what}` is not measured on this machine yet; run `cargo run -- measure {chapter}`")]
    NotMeasured {
        /// The key and its parameters.
        what: String,
        /// The chapter whose experiments would measure it.
        chapter: String,
    },
    /// A value was looked for and left out by its experiment, for a reason.
    #[error("`{what}` was not measured: {why}")]
    Skipped {
        /// The key and its parameters.
        what: String,
        /// The experiment's reason.
        why: String,
    },
    /// A key or its parameters do not name exactly one value.
    #[error("{0}")]
    Key(String),
    /// A file or folder can't be read or written, is incomplete, or not what its name says.
    #[error("{}: {why}", .path.display())]
    Damaged {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it and what to do.
        why: String,
    },
    /// Anything else, already a message for the user.
    #[error("{0}")]
    Message(String),
}

impl Error {
    /// An [`Error::Damaged`] by what the system said. That is a part of the sentence and not a source of its own: who prints
    /// the chain of sources would print it twice.
    #[allow(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
    pub fn io(path: &Path, cause: std::io::Error) -> Self {
        Self::damaged(path, cause.to_string())
    }

    /// An [`Error::Damaged`].
    pub fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.into() }
    }

    /// An [`Error::Message`].
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }
}

/// Makes a chapter's error the lab's, which its variant `Lab` is already; what remains of the others is their sentence.
#[macro_export]
macro_rules! into_lab {
    ($Error:ident) => {
        impl From<$Error> for $crate::Error {
            fn from(error: $Error) -> Self {
                match error {
                    $Error::Lab(error) => error,
                    other => Self::Message(other.to_string()),
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let io = Error::io(Path::new("a/file"), std::io::Error::other("no room"));
        assert_eq!(io.to_string(), "a/file: no room");
        assert!(std::error::Error::source(&io).is_none(), "it would be printed twice");
    }
}
