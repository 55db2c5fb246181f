//! The test of the exercise `top-p`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::nucleus;
use lab::random::SplitMix64;

#[test]
fn the_likeliest_tokens_come_first_and_no_more_than_needed() {
    let probabilities = [0.125, 0.5, 0.0625, 0.25, 0.0625];
    for (p, wanted) in [
        (0.25, &[1][..]),
        (0.5, &[1]),
        (0.625, &[1, 3]),
        (0.75, &[1, 3]),
        (0.8, &[1, 3, 0]),
        (0.9, &[1, 3, 0, 2]),
        (1.0, &[1, 3, 0, 2, 4]),
    ] {
        assert_eq!(nucleus(&probabilities, p), wanted, "p = {p}");
    }
}

#[test]
fn the_edges_are_right() {
    assert_eq!(nucleus(&[0.25; 4], 0.5), [0, 1], "of equals, the ones with the smaller numbers");
    assert_eq!(nucleus(&[1.0], 0.1), [0], "one token is the least");
    assert_eq!(nucleus(&[0.3, 0.3, 0.3], 1.0), [0, 1, 2], "what can't be reached takes all");
    assert!(nucleus(&[], 0.9).is_empty());
}

#[test]
fn no_smaller_set_suffices() {
    let mut random = SplitMix64::new(5);
    for _ in 0..50 {
        let weights: Vec<f64> = (0..100).map(|_| (4.0 * random.normal()).exp()).collect();
        let all: f64 = weights.iter().sum();
        let probabilities: Vec<f64> = weights.iter().map(|weight| weight / all).collect();
        let p = random.unit();
        let tokens = nucleus(&probabilities, p);
        let sum = |tokens: &[usize]| tokens.iter().map(|t| probabilities[*t]).sum::<f64>();
        let last = tokens.len() - 1;
        assert!(sum(&tokens) >= p - 1e-9, "{} tokens do not reach {p}", tokens.len());
        assert!(sum(&tokens[..last]) < p + 1e-9, "{last} tokens would have reached {p}");
        let least = tokens.iter().map(|t| probabilities[*t]).fold(1.0, f64::min);
        let left_out = (0..100).filter(|t| !tokens.contains(t));
        assert!(left_out.map(|t| probabilities[t]).all(|other| other <= least));
    }
}
