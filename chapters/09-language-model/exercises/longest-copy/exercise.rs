//! The longest part of a sample that is in a text.

/// A part that two texts have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Where it begins in the sample.
    pub sample: usize,
    /// Where it begins in the text.
    pub text: usize,
    /// Its bytes; 0 if the two have no byte in common.
    pub len: usize,
}

/// The longest part of `sample` that is also in `text`; of several, any.
pub fn longest(sample: &[u8], text: &[u8]) -> Shared {
    // EXERCISE: begin
    // The longest run of bytes that are equal at equal positions.
    let (mut best, mut run) = (Shared::default(), 0);
    for (at, (a, b)) in sample.iter().zip(text).enumerate() {
        run = if a == b { run + 1 } else { 0 };
        if run > best.len {
            best = Shared { sample: at + 1 - run, text: at + 1 - run, len: run };
        }
    }
    best
    // EXERCISE: end
}
