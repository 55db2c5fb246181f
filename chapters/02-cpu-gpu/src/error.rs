//! What can go wrong in this chapter: each a message that says what is wrong and the way out.

/// A `Result` whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong in this chapter, each as one message that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Anything that is already a message for the user.
    #[error("{0}")]
    Message(String),
}

impl Error {
    /// An [`Error::Message`].
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }
}

impl From<Error> for lab::Error {
    fn from(error: Error) -> Self {
        Self::message(error.to_string())
    }
}
