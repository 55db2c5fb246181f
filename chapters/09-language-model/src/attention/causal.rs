//! What every rung is: causal attention of one head, forward and backward.

use crate::Result;

/// One head's queries, keys and values, each [tokens, head].
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Queries.
    pub q: &'a [f32],
    /// Keys.
    pub k: &'a [f32],
    /// Values.
    pub v: &'a [f32],
    /// Values of a row.
    pub size: usize,
}

impl Head<'_> {
    /// How many tokens.
    pub fn tokens(&self) -> usize {
        self.q.len() / self.size
    }
}

/// One head's attention, with memory of its own.
pub trait Attention {
    /// The results, [tokens, head].
    ///
    /// # Errors
    /// [`crate::Error::Product`] if the lengths do not fit each other.
    fn forward(&mut self, out: &mut [f32], head: Head) -> Result<()>;

    /// The derivatives of queries, keys and values, from those of the results; after [`Attention::forward`] with the same
    /// head, which left `out`.
    ///
    /// # Errors
    /// As [`Attention::forward`].
    fn backward(
        &mut self,
        d: [&mut [f32]; 3],
        dout_and_out: (&[f32], &[f32]),
        head: Head,
    ) -> Result<()>;

    /// Bytes of its memory.
    fn bytes(&self) -> usize;
}

/// What scores are multiplied by, so that they do not grow with the size of a head: 1/√head.
pub fn scale(head: usize) -> f32 {
    1.0 / (head as f32).sqrt()
}
