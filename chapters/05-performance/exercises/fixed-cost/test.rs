//! The test of the exercise `fixed-cost`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Line, even, line, ratio};

/// A program with calls that are cheap, and one with kernels that are fast.
const OURS: Line = Line { fixed: 200e-6, image: 5e-6 };
const THEIRS: Line = Line { fixed: 3e-3, image: 4e-6 };

fn seconds(line: Line, batch: f64) -> f64 {
    line.fixed + line.image * batch
}

#[test]
fn two_measurements_separate_the_two_costs() {
    for of in [OURS, THEIRS, Line { fixed: 0.0, ..OURS }] {
        for [small, large] in [[1.0, 2.0], [32.0, 512.0], [128.0, 2048.0], [512.0, 32.0]] {
            let found = line((small, seconds(of, small)), (large, seconds(of, large)));
            assert!((found.fixed - of.fixed).abs() < 1e-12, "{found:?} instead of {of:?}");
            assert!((found.image - of.image).abs() < 1e-15, "{found:?} instead of {of:?}");
        }
    }
}

#[test]
fn the_ratio_depends_on_the_batch() {
    let mut before = f64::INFINITY;
    for batch in [1.0, 32.0, 128.0, 2048.0, 1e9] {
        let found = ratio(THEIRS, OURS, batch);
        let wanted = seconds(THEIRS, batch) / seconds(OURS, batch);
        assert!((found / wanted - 1.0).abs() < 1e-12, "batch {batch}: {found}, and not {wanted}");
        assert!(found < before, "batch {batch}: {found} after {before}");
        before = found;
    }
    assert!((before - THEIRS.image / OURS.image).abs() < 1e-3, "{before} in the largest batch");
}

#[test]
fn the_lines_may_cross() {
    let at = even(THEIRS, OURS).expect("each of them is ahead somewhere");
    println!("both take equally long in batches of {at:.0}");
    assert!((seconds(THEIRS, at) / seconds(OURS, at) - 1.0).abs() < 1e-9, "not at {at}");
    assert!((even(OURS, THEIRS).expect("and the other way round") - at).abs() < 1e-6);
}

#[test]
fn one_of_them_may_be_ahead_everywhere() {
    assert_eq!(even(Line { image: 6e-6, ..THEIRS }, OURS), None);
    assert_eq!(even(Line { image: 5e-6, ..THEIRS }, OURS), None, "parallel lines");
    assert_eq!(even(OURS, OURS), None, "the same line");
    assert_eq!(even(Line { fixed: 200e-6, ..THEIRS }, OURS), None, "they meet at 0");
}
