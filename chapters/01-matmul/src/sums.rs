//! "The compiler will vectorise it for me": one sum, eight sums, and a loop without a sum.
//!
//! A vector register adds several numbers at once. The compiler uses it only where that gives the very same
//! result, and the result of a floating-point sum depends on the order: (x + y) + z and x + (y + z) round
//! differently. One running sum therefore stays one addition after the other.

// ANCHOR: one_sum
/// The sum of the products of `x` and `y`, from left to right.
pub fn one_sum(x: &[f32], y: &[f32]) -> f32 {
    let mut sum = 0.0;
    for (x, y) in x.iter().zip(y) {
        sum += x * y;
    }
    sum
}
// ANCHOR_END: one_sum

// ANCHOR: eight_sums
/// The same sum, as eight that do not wait for each other.
pub fn eight_sums(x: &[f32], y: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    let (xs, x_rest) = x.as_chunks::<8>();
    let (ys, y_rest) = y.as_chunks::<8>();
    for (x, y) in xs.iter().zip(ys) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f32>() + one_sum(x_rest, y_rest)
}
// ANCHOR_END: eight_sums

/// `y` gains `factor` times `x`: every element has a sum of its own.
pub fn row_update(y: &mut [f32], factor: f32, x: &[f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}
