//! Loops over pixels whose channels are treated alike. A pixel's channels are seldom whole vectors and never many: sixteen
//! pixels side by side are, and no sum waits for the one before.

/// Pixels side by side.
const SIDE: usize = 16;

/// A row of channels for each of the pixels side by side.
pub fn repeated(row: &[f32]) -> Vec<f32> {
    row.repeat(SIDE)
}

/// Sums of channels that begin with zeros: a row for each of the pixels side by side.
pub fn sums(channels: usize) -> Vec<f32> {
    vec![0.0; SIDE * channels]
}

/// Adds up what the pixels side by side have.
pub fn fold(sums: &[f32], to: &mut [f32]) {
    to.fill(0.0);
    sums.chunks_exact(to.len()).for_each(|pixel| add(to, pixel));
}

/// Adds numbers to others.
#[inline(always)]
pub fn add(sums: &mut [f32], more: &[f32]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
