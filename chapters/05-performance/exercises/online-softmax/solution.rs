//! The logarithm of a sum of powers, in one pass. Milakov and Gimelshein 2018, algorithm 3.

/// ln(Σ eˢ) over all scores, without a power that overflows. The scores come one after the other and only once. Without
/// scores it is −∞.
pub fn log_sum_exp(scores: impl Iterator<Item = f32>) -> f32 {
    // EXERCISE: begin
    // The sum of the powers so far, each divided by e to the highest score so far.
    let (mut highest, mut sum) = (f32::NEG_INFINITY, 0.0_f32);
    for score in scores {
        if score > highest {
            sum = sum * (highest - score).exp() + 1.0;
            highest = score;
        } else if score > f32::NEG_INFINITY {
            sum += (score - highest).exp();
        } else if score.is_nan() {
            return f32::NAN;
        }
    }
    highest + sum.ln()
    // EXERCISE: instead
    // // Correct for small scores only: e to the power of 100 is too large for f32.
    // let mut sum = 0.0_f32;
    // for score in scores {
    //     sum += score.exp();
    // }
    // sum.ln()
    // EXERCISE: end
}
