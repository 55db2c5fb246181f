//! What can go wrong in this chapter, each as one message that says what to do.

/// A `Result` whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong in this chapter.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lab's own errors: files, data sets.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// A product whose matrices do not fit each other.
    #[error(transparent)]
    Product(#[from] matmul::Error),
    /// A choice that can't work, such as a layer without units.
    #[error("{0}")]
    Config(String),
    /// A batch of no images has no mean loss and no gradient.
    #[error("the batch is empty; give it at least one row")]
    EmptyBatch,
    /// A slice is not a whole number of rows.
    #[error("{what}: {len} values are not rows of {width}")]
    Rows {
        /// What the values are.
        what: &'static str,
        /// How many there are.
        len: usize,
        /// How many belong to a row.
        width: usize,
    },
    /// Two things that belong together have different numbers of rows.
    #[error("{what}: there are {found}, and {wanted} are needed")]
    Count {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// A label that is none of the classes.
    #[error("label {label} is none of the {classes} classes; they are numbered from 0")]
    Label {
        /// The label.
        label: u8,
        /// How many classes there are.
        classes: usize,
    },
    /// The loss is no longer finite, or too large to train on.
    #[error(
        "the loss became {loss:.3e} in step {step} of epoch {epoch}, with a learning rate of {lr}; start again with a smaller one, such as {}",
        .lr / 10.0
    )]
    Diverged {
        /// The epoch, from 1.
        epoch: usize,
        /// The step in it, from 1.
        step: usize,
        /// The learning rate.
        lr: f64,
        /// The batch's loss.
        loss: f64,
    },
    /// A described model that can't be built.
    #[error("layer {layer} ({kind}): {why}")]
    Layer {
        /// Its index, from 1.
        layer: usize,
        /// What it is.
        kind: &'static str,
        /// What is wrong.
        why: String,
    },
}

lab::into_lab!(Error);

/// How many rows of `width` values there are: at least one.
///
/// # Errors
/// [`Error::EmptyBatch`]; [`Error::Rows`].
pub fn rows(what: &'static str, len: usize, width: usize) -> Result<usize> {
    if len == 0 {
        return Err(Error::EmptyBatch);
    }
    if width == 0 || !len.is_multiple_of(width) {
        return Err(Error::Rows { what, len, width });
    }
    Ok(len / width)
}

/// Fails unless the two numbers are the same.
///
/// # Errors
/// [`Error::Count`] if it is another number.
pub fn count(what: &'static str, found: usize, wanted: usize) -> Result<()> {
    if found == wanted { Ok(()) } else { Err(Error::Count { what, found, wanted }) }
}
