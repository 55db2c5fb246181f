//! The loss on text that the model does not learn from: windows side by side, so that each token is predicted once.

use crate::{Error, Model, Result, passes::Passes};

/// The mean loss, in nats a token, over up to `most` windows of `length` tokens, evenly spread over the stream and `batch`
/// at a time, on so many threads (0 for all).
///
/// # Errors
/// [`Error::TooShort`] if the stream has no window; as [`Passes::loss`].
pub fn loss(
    model: &Model,
    stream: &[u32],
    (batch, length): (usize, usize),
    most: usize,
    threads: usize,
) -> Result<f64> {
    let windows = stream.len().saturating_sub(1) / length.max(1);
    if windows == 0 {
        return Err(Error::TooShort { found: stream.len(), context: length });
    }
    let count = windows.min(most.max(1));
    let firsts: Vec<usize> = (0..count).map(|i| i * windows / count * length).collect();
    let (mut sum, mut passes) = (0.0, None);
    let (mut tokens, mut targets) = (Vec::new(), Vec::new());
    for firsts in firsts.chunks(batch.max(1)) {
        tokens.clear();
        targets.clear();
        for &first in firsts {
            tokens.extend_from_slice(&stream[first..first + length]);
            targets.extend_from_slice(&stream[first + 1..=first + length]);
        }
        let fits = |passes: &&mut Passes| passes.rows() == tokens.len();
        let passes = match passes.as_mut().filter(fits) {
            Some(passes) => passes,
            None => {
                passes.insert(Passes::forward_only(model.config, firsts.len(), length, threads)?)
            }
        };
        sum += passes.loss(model, &tokens, &targets)? * firsts.len() as f64;
    }
    Ok(sum / count as f64)
}
