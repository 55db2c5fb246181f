//! The test of the exercise `hidden-copies`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::hidden;
use lab::{check::near, random::SplitMix64};

/// The same, microsecond by microsecond.
fn played(copies: &[[usize; 2]], kernels: &[[usize; 2]]) -> f64 {
    let runs = |spans: &[[usize; 2]], at| spans.iter().any(|[from, to]| (*from..*to).contains(&at));
    let copying: Vec<usize> = (0..200).filter(|at| runs(copies, *at)).collect();
    let both = copying.iter().filter(|at| runs(kernels, **at)).count();
    if copying.is_empty() { 1.0 } else { both as f64 / copying.len() as f64 }
}

#[track_caller]
fn holds(copies: &[[usize; 2]], kernels: &[[usize; 2]], law: &str) {
    let seconds = |spans: &[[usize; 2]]| -> Vec<[f64; 2]> {
        spans.iter().map(|span| span.map(|us| us as f64 * 1e-6)).collect()
    };
    let (found, wanted) = (hidden(&seconds(copies), &seconds(kernels)), played(copies, kernels));
    near(found, wanted, 1e-9, format!("{law}: copies {copies:?}, kernels {kernels:?}, in µs"));
}

#[test]
fn by_hand() {
    for (law, copies, kernels) in [
        ("one copy behind one kernel", &[[10, 20]][..], &[[0, 100]][..]),
        ("one copy behind one kernel, which begins late", &[[10, 20]], &[[15, 100]]),
        ("one copy before one kernel", &[[10, 20]], &[[20, 100]]),
        ("one copy behind two kernels", &[[0, 100]], &[[10, 20], [30, 50]]),
        ("a microsecond counts once, of two kernels", &[[10, 20]], &[[0, 15], [5, 18]]),
        ("a microsecond counts once, of two copies", &[[10, 20], [12, 30]], &[[0, 15]]),
        ("the same twice", &[[10, 20], [10, 20]], &[[12, 14], [12, 14]]),
        ("a copy inside another", &[[10, 40], [15, 20]], &[[38, 60]]),
        ("the order of the list does not matter", &[[50, 60], [10, 20]], &[[55, 100], [0, 12]]),
        ("without copies or kernels: no copies", &[], &[[0, 10]]),
        ("no kernels", &[[0, 10]], &[]),
        ("nothing", &[], &[]),
    ] {
        holds(copies, kernels, law);
    }
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
        holds(&lane(), &lane(), "any two lanes");
    }
}
