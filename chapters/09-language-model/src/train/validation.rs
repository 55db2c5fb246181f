//! The loss on text that the model does not learn from: windows side by side, so that each token is predicted once.

use crate::{Error, Model, Result, transformer::Reader};

/// The mean loss, in nats a token, over up to `most` windows of `length` tokens, evenly spread over the stream, on so many
/// threads (0 for all).
///
/// # Errors
/// [`Error::TooShort`] if the stream has no window; as [`Reader::loss`].
pub fn loss(
    model: &Model,
    stream: &[u32],
    length: usize,
    most: usize,
    threads: usize,
) -> Result<f64> {
    let windows = stream.len().saturating_sub(1) / length.max(1);
    if windows == 0 {
        return Err(Error::TooShort { found: stream.len(), context: length });
    }
    let count = windows.min(most.max(1));
    let firsts = (0..count).map(|i| i * windows / count * length);
    let of = |next: usize| {
        let windows = firsts.clone().map(move |first| first + next..first + next + length);
        windows.flat_map(|window| stream[window].to_vec()).collect::<Vec<u32>>()
    };
    Reader::new(model, length, threads)?.loss(&of(0), &of(1))
}
