//! Is a derivative right? Move each number a little to both sides and see what the function does.

/// The derivative of `f` with respect to each of the values, as (f(x + h) − f(x − h)) / 2h. The error of
/// the formula shrinks with h² and that of the subtraction grows with 1/h; in f64 they meet near 10⁻⁵.
// ANCHOR: differences
pub fn differences(at: &[f64], f: impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    differences_by(1e-5, at, f)
}

/// The same with a step of your own, which is relative for values beyond 1.
pub fn differences_by<F>(step: f64, at: &[f64], mut f: F) -> Vec<f64>
where
    F: FnMut(&[f64]) -> f64,
{
    let mut moved = at.to_vec();
    (0..at.len())
        .map(|i| {
            let h = step * at[i].abs().max(1.0);
            moved[i] = at[i] + h;
            let above = f(&moved);
            moved[i] = at[i] - h;
            let below = f(&moved);
            moved[i] = at[i];
            (above - below) / (2.0 * h)
        })
        .collect()
}
// ANCHOR_END: differences

/// How far `found` is from `wanted`: the length of the difference over the length of `wanted` (or over 1, where
/// `wanted` is all zeros). NaN anywhere, or another number of values, makes it infinite.
pub fn error(found: &[f64], wanted: &[f64]) -> f64 {
    if found.len() != wanted.len() {
        return f64::INFINITY;
    }
    let length = |square: f64| square.sqrt();
    let size = length(wanted.iter().map(|w| w * w).sum());
    let apart = length(found.iter().zip(wanted).map(|(f, w)| (f - w) * (f - w)).sum());
    let error = apart / if size == 0.0 { 1.0 } else { size };
    if error.is_nan() { f64::INFINITY } else { error }
}

/// The same numbers in f64.
pub fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

/// [`error()`] for f32.
pub fn error_f32(found: &[f32], wanted: &[f32]) -> f64 {
    error(&wide(found), &wide(wanted))
}
