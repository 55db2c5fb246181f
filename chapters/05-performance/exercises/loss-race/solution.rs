//! Softmax, cross-entropy and their gradient, as fast as you can.

/// The mean loss of a batch: minus the logarithm of the probability of each row's label. The scores, rows of `classes`
/// values, become the loss' derivatives: (probability − target) / rows, where the target is 1 for the label and 0 for
/// the other classes.
///
/// A score that is NaN or +∞ makes the loss NaN. A class with a score of −∞ has a probability of 0.
pub fn loss_and_gradient(scores: &mut [f32], labels: &[u8], classes: usize) -> f64 {
    // EXERCISE: begin
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: this CPU has both features.
        return unsafe { with_avx2(scores, labels, classes) };
    }
    in_groups(scores, labels, classes)
}

/// The same loops, compiled for registers of eight numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2(scores: &mut [f32], labels: &[u8], classes: usize) -> f64 {
    in_groups(scores, labels, classes)
}

/// As many rows at a time as stay in a first-level cache, at least one: their scores come from memory once.
#[inline(always)]
fn in_groups(scores: &mut [f32], labels: &[u8], classes: usize) -> f64 {
    let (group, mean) = ((4096 / classes).max(1), 1.0 / labels.len() as f32);
    let mut loss = 0.0;
    for (scores, labels) in scores.chunks_mut(group * classes).zip(labels.chunks(group)) {
        for (row, label) in scores.chunks_exact_mut(classes).zip(labels) {
            let highest = fold(row, f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
            for score in row.iter_mut() {
                *score -= highest;
            }
            loss -= f64::from(row[usize::from(*label)]);
        }
        // Across the rows, so that short ones fill the registers as well.
        for score in scores.iter_mut() {
            *score = power(*score);
        }
        for (row, label) in scores.chunks_exact_mut(classes).zip(labels) {
            let sum = fold(row, 0.0, |a, b| a + b);
            loss += f64::from(sum.ln());
            for power in row.iter_mut() {
                *power *= mean / sum;
            }
            row[usize::from(*label)] -= mean;
        }
    }
    loss / labels.len() as f64
}

/// One number of a row, by sixteen independent chains. The order does not matter, but for rounding.
#[inline(always)]
fn fold(row: &[f32], start: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let (chunks, rest) = row.as_chunks::<16>();
    let mut chains = [start; 16];
    for chunk in chunks {
        chains.iter_mut().zip(chunk).for_each(|(chain, x)| *chain = combine(*chain, *x));
    }
    let chains = if chunks.is_empty() { &[][..] } else { &chains };
    chains.iter().chain(rest).fold(start, |all, x| combine(all, *x))
}

/// e to the power of x, for x up to 0 and to seven digits; NaN stays NaN.
#[inline(always)]
fn power(x: f32) -> f32 {
    // eˣ = 2ⁿ·eʳ with |r| at most ln 2 / 2. Adding 1.5·2²³ rounds to a whole n, which is then in the lowest bits.
    let shifted = x * std::f32::consts::LOG2_E + 12_582_912.0;
    let n = shifted - 12_582_912.0;
    let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4; // ln 2 in two parts
    let terms = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    let series = terms.into_iter().fold(0.0, |sum, term| sum * r + term);
    let scale = f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    if x < -87.0 { 0.0 } else { series * scale }
    // EXERCISE: instead
    // // Correct for small scores only: e to the power of 100 is too large for f32.
    // let mut loss = 0.0;
    // for (row, label) in scores.chunks_exact_mut(classes).zip(labels) {
    //     let sum: f32 = row.iter().map(|score| score.exp()).sum();
    //     loss += f64::from(sum.ln() - row[usize::from(*label)]);
    //     for score in &mut *row {
    //         *score = score.exp() / sum / labels.len() as f32;
    //     }
    //     row[usize::from(*label)] -= 1.0 / labels.len() as f32;
    // }
    // loss / labels.len() as f64
    // EXERCISE: end
}
