//! The test of the exercise `fused-bias`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use backprop::{check, random::SplitMix64};
use exercise::through_relu;

fn numbers(random: &mut SplitMix64, len: usize) -> Vec<f32> {
    (0..len).map(|_| random.normal() as f32).collect()
}

#[test]
fn both_results_are_right() {
    let mut random = SplitMix64::new(5);
    for (rows, width) in [(1, 1), (3, 7), (33, 130)] {
        let y: Vec<f32> = numbers(&mut random, rows * width).iter().map(|y| y.max(0.0)).collect();
        let up = numbers(&mut random, rows * width);
        let mut dy = up.clone();
        let db = through_relu(&mut dy, &y, width, || {});
        let mut wanted = vec![0.0_f64; width];
        for (i, ((dy, up), y)) in dy.iter().zip(&up).zip(&y).enumerate() {
            let own = if *y > 0.0 { *up } else { 0.0 };
            assert!((dy - own).abs() < 1e-9, "{rows}×{width}: number {i} is {dy}, and not {own}");
            wanted[i % width] += f64::from(own);
        }
        let found: Vec<f64> = db.iter().map(|db| f64::from(*db)).collect();
        assert!(check::error(&found, &wanted) < 1e-5, "{found:?}, and not {wanted:?}");
    }
}

#[test]
fn a_derivative_without_a_number_stays_one() {
    // Where the output is above zero, NaN must not vanish: it is how a run that diverges is noticed.
    let mut dy = [f32::NAN, 1.0];
    let db = through_relu(&mut dy, &[1.0, 0.0], 2, || {});
    assert!(dy[0].is_nan() && db[0].is_nan() && db[1] == 0.0, "{dy:?}, {db:?}");
}

#[test]
fn each_number_is_looked_at_once() {
    let (mut dy, y, mut seen) = (vec![1.0; 60], vec![1.0; 60], 0);
    through_relu(&mut dy, &y, 12, || seen += 1);
    assert_eq!(seen, 60, "{seen} reads 60 elements: one pass reads each once");
}
