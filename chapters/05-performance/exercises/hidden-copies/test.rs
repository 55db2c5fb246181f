//! The test of the exercise `hidden-copies`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::hidden;
use lab::random::SplitMix64;

/// The same, microsecond by microsecond.
fn played(copies: &[[usize; 2]], kernels: &[[usize; 2]]) -> f64 {
    let runs = |spans: &[[usize; 2]], at| spans.iter().any(|[from, to]| (*from..*to).contains(&at));
    let copying: Vec<usize> = (0..200).filter(|at| runs(copies, *at)).collect();
    let both = copying.iter().filter(|at| runs(kernels, **at)).count();
    if copying.is_empty() { 1.0 } else { both as f64 / copying.len() as f64 }
}

#[track_caller]
fn holds(copies: &[[usize; 2]], kernels: &[[usize; 2]]) {
    let seconds = |spans: &[[usize; 2]]| -> Vec<[f64; 2]> {
        spans.iter().map(|span| span.map(|us| us as f64 * 1e-6)).collect()
    };
    let (found, wanted) = (hidden(&seconds(copies), &seconds(kernels)), played(copies, kernels));
    assert!(
        (found - wanted).abs() < 1e-9,
        "{found}, and not {wanted}: copies {copies:?}, kernels {kernels:?}, in µs"
    );
}

#[test]
fn one_copy_behind_one_kernel() {
    holds(&[[10, 20]], &[[0, 100]]);
    holds(&[[10, 20]], &[[15, 100]]);
    holds(&[[10, 20]], &[[20, 100]]);
    holds(&[[0, 100]], &[[10, 20], [30, 50]]);
}

#[test]
fn a_microsecond_counts_once() {
    holds(&[[10, 20]], &[[0, 15], [5, 18]]);
    holds(&[[10, 20], [12, 30]], &[[0, 15]]);
    holds(&[[10, 20], [10, 20]], &[[12, 14], [12, 14]]);
    holds(&[[10, 40], [15, 20]], &[[38, 60]]);
}

#[test]
fn the_order_of_the_list_does_not_matter() {
    holds(&[[50, 60], [10, 20]], &[[55, 100], [0, 12]]);
}

#[test]
fn without_copies_or_kernels() {
    holds(&[], &[[0, 10]]);
    holds(&[[0, 10]], &[]);
    holds(&[], &[]);
}

#[test]
fn any_two_lanes() {
    let mut random = SplitMix64::new(21);
    for _ in 0..300 {
        let mut lane = || -> Vec<[usize; 2]> {
            let count = random.below(8);
            let span = |_| {
                let from = random.below(180);
                [from, from + 1 + random.below(20)]
            };
            (0..count).map(span).collect()
        };
        let (copies, kernels) = (lane(), lane());
        holds(&copies, &kernels);
    }
}
