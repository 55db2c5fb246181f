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

#[cfg(test)]
#[allow(clippy::float_cmp)] // The numbers are chosen so that nothing rounds.
mod tests {
    use super::*;

    #[test]
    fn sums_agree_where_nothing_rounds() {
        for len in [0, 1, 7, 8, 9, 31, 64] {
            let x: Vec<f32> = (0..len).map(|i| (i % 5) as f32 - 2.0).collect();
            let y: Vec<f32> = (0..len).map(|i| (i % 3) as f32).collect();
            let expected: i32 = (0..len).map(|i| (i % 5 - 2) * (i % 3)).sum();
            assert_eq!(one_sum(&x, &y), expected as f32, "one sum of {len}");
            assert_eq!(eight_sums(&x, &y), expected as f32, "eight sums of {len}");
        }
    }

    #[test]
    fn order_changes_a_rounded_sum() {
        // 1 + 2⁻²⁴ rounds to 1, so the small terms vanish one by one; among themselves they add up.
        let mut x = vec![2f32.powi(-24); 1024];
        x[0] = 1.0;
        let ones = vec![1.0; 1024];
        assert_eq!(one_sum(&x, &ones), 1.0);
        assert!(eight_sums(&x, &ones) > 1.0);
    }

    #[test]
    fn row_update_adds_a_multiple() {
        let mut y = [1.0, 2.0, 3.0];
        row_update(&mut y, 2.0, &[10.0, 20.0, 30.0]);
        assert_eq!(y, [21.0, 42.0, 63.0]);
    }
}
