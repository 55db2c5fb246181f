//! The test of the exercise `softmax-gradient`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use backprop::check::differences;
use exercise::gradient;
use lab::check::near;

fn found(scores: &[f32], right: usize) -> Vec<f32> {
    let mut found = vec![f32::NAN; scores.len()];
    gradient(scores, right, &mut found);
    found
}

#[test]
fn is_the_derivative_of_the_loss() {
    for (scores, right) in [
        (vec![0.0, 0.0], 0),
        (vec![1.0, -2.0, 0.5], 2),
        (vec![3.0, 1.0, -4.0, 1.0, 5.0, -9.0, 2.0, -6.0, 5.0, 3.0], 9),
    ] {
        let wide: Vec<f64> = scores.iter().map(|s| f64::from(*s)).collect();
        let loss = |s: &[f64]| s.iter().map(|s| s.exp()).sum::<f64>().ln() - s[right];
        near(found(&scores, right), differences(&wide, loss), 1e-5, format!("scores {scores:?}"));
    }
}

#[test]
fn large_scores_are_no_problem() {
    near(found(&[1000.0, 0.0, -1000.0], 1), [1.0, -1.0, 0.0], 1e-6, "1000, 0 and -1000");
}
