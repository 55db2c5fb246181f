//! The largest transformer for a budget.

/// Tokens that a model can read or write.
pub const VOCABULARY: u64 = 50_257;
/// Tokens of a sequence.
pub const LENGTH: u64 = 1024;

/// Parameters of a transformer of `l` blocks of width `d`: matrices, biases and normalisations of the blocks, a
/// vector for each token and each position, and the last normalisation.
pub fn parameters(l: u64, d: u64) -> u64 {
    // EXERCISE: begin
    l * (12 * d * d + 13 * d) + (VOCABULARY + LENGTH) * d + 2 * d
    // EXERCISE: instead
    // 12 * l * d * d
    // EXERCISE: end
}

/// The most blocks of a transformer of width 128 times its blocks that `seconds` on a card are enough for, which
/// reaches the fraction `mfu` of its `peak` (FLOP/s). It is trained with twenty tokens for each parameter.
pub fn largest(peak: f64, mfu: f64, seconds: f64) -> u64 {
    // EXERCISE: begin
    let operations = peak * mfu * seconds;
    let model = |l: u64| 120.0 * (parameters(l, 128 * l) as f64).powi(2);
    (1..1000).take_while(|&l| model(l) <= operations).count() as u64
    // EXERCISE: instead
    // let operations = peak * mfu * seconds;
    // let model = |l: u64| 120.0 * parameters(l, 128 * l) as f64;
    // (1..1000).take_while(|&l| model(l) <= operations).count() as u64
    // EXERCISE: end
}
