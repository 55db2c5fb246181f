//! Batches: windows of a long stream of tokens, at places that depend on the seed and the number of the step alone. A run
//! that goes on draws what it would have drawn, and nothing about the draw has to be kept.

use crate::{Error, Result, train::Settings};
use backprop::error::count;
use lab::random::{SplitMix64, key};

/// Tokens and targets of a batch.
pub type Batch = [Vec<u32>; 2];

/// The batch of a step of a run on this stream.
///
/// # Errors
/// As [`draw`].
pub fn batch(settings: &Settings, step: u64, stream: &[u32]) -> Result<Batch> {
    let Settings { batch, length, seed, .. } = *settings;
    let [mut tokens, mut targets] = [(); 2].map(|()| vec![0; batch * length]);
    draw(stream, (seed, step), length, &mut tokens, &mut targets)?;
    Ok([tokens, targets])
}

/// Where the windows of step `step` begin, in a stream with so many places for them.
pub fn windows((seed, step): (u64, u64), places: usize) -> impl Iterator<Item = usize> {
    let mut random = SplitMix64::new(key(&[seed, step]));
    std::iter::repeat_with(move || random.below(places))
}

/// Fills `tokens` and `targets`, both [batch, length], with the windows of step `step`. A target is its token's successor.
///
/// # Errors
/// [`Error::TooShort`] if the stream has no window of this length and its successor.
// ANCHOR: draw
pub fn draw(
    stream: &[u32],
    step: (u64, u64), // with the run's seed before it
    length: usize,
    tokens: &mut [u32],
    targets: &mut [u32],
) -> Result<()> {
    count("targets", targets.len(), tokens.len())?;
    let places = places(stream, length)?;
    let rows = tokens.chunks_mut(length).zip(targets.chunks_mut(length));
    for (first, (tokens, targets)) in windows(step, places).zip(rows) {
        tokens.copy_from_slice(&stream[first..][..tokens.len()]);
        targets.copy_from_slice(&stream[first + 1..][..targets.len()]);
    }
    Ok(())
}
// ANCHOR_END: draw

/// Places in a stream for a window and its last token's successor.
///
/// # Errors
/// [`Error::TooShort`] if there is none.
pub fn places(stream: &[u32], length: usize) -> Result<usize> {
    if length == 0 || stream.len() <= length {
        return Err(Error::TooShort { found: stream.len(), context: length });
    }
    Ok(stream.len() - length)
}
