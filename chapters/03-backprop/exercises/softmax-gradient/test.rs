//! The test of the exercise `softmax-gradient`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use backprop::check;
use exercise::gradient;

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
        let wanted =
            check::differences(&wide, |s| s.iter().map(|s| s.exp()).sum::<f64>().ln() - s[right]);
        let ours: Vec<f64> = found(&scores, right).iter().map(|g| f64::from(*g)).collect();
        let error = check::error(&ours, &wanted);
        assert!(error < 1e-5, "scores {scores:?}: off by {error}");
    }
}

#[test]
fn large_scores_are_no_problem() {
    let g = found(&[1000.0, 0.0, -1000.0], 1);
    assert!(check::error_f32(&g, &[1.0, -1.0, 0.0]) < 1e-6, "{g:?}");
}
