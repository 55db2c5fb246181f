//! The test of the exercise `fused-bias`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::through_relu;
use lab::{check::near, random::SplitMix64};

#[test]
fn both_results_are_right() {
    let mut random = SplitMix64::new(5);
    for (rows, width) in [(1, 1), (3, 7), (33, 130)] {
        let y: Vec<f32> = random.normals(rows * width, 1.0).iter().map(|y| y.max(0.0)).collect();
        let mut dy = random.normals(rows * width, 1.0);
        let own = |(up, y): (&f32, &f32)| if *y > 0.0 { *up } else { 0.0 };
        let wanted: Vec<f32> = dy.iter().zip(&y).map(own).collect();
        let db = through_relu(&mut dy, &y, width, || {});
        near(dy, &wanted, 1e-9, format!("dy, {rows}×{width}"));
        let column = |at| wanted.iter().skip(at).step_by(width).copied().map(f64::from).sum();
        let sums: Vec<f64> = (0..width).map(column).collect();
        near(db, sums, 1e-5, format!("db, {rows}×{width}"));
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
