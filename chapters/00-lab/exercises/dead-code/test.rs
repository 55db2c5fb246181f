//! The test of the exercise `dead-code`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Step::{self, Add, BlackBox, Multiply, Number};
use exercise::{benchmark, operations_left};
use lab::check::all;

/// 3·3 + 4·4, with or without a black box around what goes in and around what comes out.
fn squares(inner: bool, outer: bool) -> Vec<Step> {
    let x = if inner { 2 } else { 0 };
    let mut program = vec![Number(3.0), Number(4.0), BlackBox(0), BlackBox(1)];
    program.extend([Multiply(x, x), Multiply(x + 1, x + 1), Add(4, 5)]);
    program.extend(outer.then_some(BlackBox(6)));
    program
}

#[test]
fn what_is_left_is_needed_and_not_known() {
    let left = |steps: &[Step], ends: &[usize]| {
        let ends: Vec<Step> = ends.iter().map(|end| BlackBox(*end)).collect();
        operations_left(&[steps, &ends].concat())
    };
    // Two chains, one of which ends in a black box.
    let chains = [Number(2.0), BlackBox(0), Multiply(1, 1), Add(1, 1), Add(2, 2), Add(3, 3)];
    // x + 2·3: the product is known, the sum is not.
    let known = [Number(1.0), BlackBox(0), Number(2.0), Number(3.0), Multiply(2, 3), Add(1, 4)];
    let twice = [Number(2.0), BlackBox(0), Multiply(1, 1), Add(2, 2)];
    all([
        ("the job is left with both black boxes only", operations_left(&squares(true, true)), 3),
        ("the sum is not needed", operations_left(&squares(true, false)), 0),
        ("3·3 + 4·4 is 25: no need to wait", operations_left(&squares(false, true)), 0),
        ("without a black box", operations_left(&squares(false, false)), 0),
        ("what is needed by nothing needed is left out", left(&chains, &[4]), 2),
        ("what is needed by nothing needed is left out", left(&chains, &[5]), 2),
        ("what is needed by nothing needed is left out", left(&chains, &[0]), 0),
        ("both chains", left(&chains, &[4, 5]), 4),
        ("what is known is left out inside of what is not", left(&known, &[5]), 1),
        ("a value that is needed twice is made once", left(&twice, &[3, 2, 3]), 2),
        ("no steps", operations_left(&[]), 0),
    ]);
}

#[test]
fn the_work_of_the_benchmark_grows_with_its_numbers() {
    for count in [0, 1, 10, 1000] {
        let numbers: Vec<f64> = (0..count).map(f64::from).collect();
        let left = operations_left(&benchmark(&numbers));
        assert_eq!(left, 2 * numbers.len(), "operations that are left for {count} numbers");
    }
}

#[test]
fn the_benchmark_is_still_the_sum_of_squares() {
    let mut values: Vec<f64> = Vec::new();
    for step in benchmark(&[1.0, 2.0, 5.0]) {
        values.push(match step {
            Number(number) => number,
            Multiply(a, b) => values[a] * values[b],
            Add(a, b) => values[a] + values[b],
            BlackBox(value) => values[value],
        });
    }
    assert_eq!(values.last(), Some(&30.0), "the last value of {values:?}");
}
