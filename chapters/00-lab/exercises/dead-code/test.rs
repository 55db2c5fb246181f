//! The test of the exercise `dead-code`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{
    Step::{self, Add, BlackBox, Multiply, Number},
    benchmark, operations_left,
};

/// 3·3 + 4·4, with or without a black box around what goes in and around what comes out.
fn squares(inner: bool, outer: bool) -> Vec<Step> {
    let x = if inner { 2 } else { 0 };
    let mut program = vec![Number(3.0), Number(4.0), BlackBox(0), BlackBox(1)];
    program.extend([Multiply(x, x), Multiply(x + 1, x + 1), Add(4, 5)]);
    program.extend(outer.then_some(BlackBox(6)));
    program
}

#[test]
fn the_job_is_left_with_both_black_boxes_only() {
    assert_eq!(operations_left(&squares(true, true)), 3);
    assert_eq!(operations_left(&squares(true, false)), 0, "the sum is not needed");
    assert_eq!(operations_left(&squares(false, true)), 0, "3·3 + 4·4 is 25: no need to wait");
    assert_eq!(operations_left(&squares(false, false)), 0);
}

#[test]
fn what_is_needed_by_nothing_needed_is_left_out() {
    // Two chains, one of which ends in a black box.
    let steps = [Number(2.0), BlackBox(0), Multiply(1, 1), Add(1, 1), Add(2, 2), Add(3, 3)];
    let chains = |end| operations_left(&[&steps[..], &[BlackBox(end)]].concat());
    assert_eq!((chains(4), chains(5), chains(0)), (2, 2, 0));
    assert_eq!(operations_left(&[&steps[..], &[BlackBox(4), BlackBox(5)]].concat()), 4);
}

#[test]
fn what_is_known_is_left_out_inside_of_what_is_not() {
    // x + 2·3: the product is known, the sum is not.
    let program = [Number(1.0), BlackBox(0), Number(2.0), Number(3.0), Multiply(2, 3), Add(1, 4)];
    assert_eq!(operations_left(&[&program[..], &[BlackBox(5)]].concat()), 1);
}

#[test]
fn a_value_that_is_needed_twice_is_made_once() {
    let program = [
        Number(2.0),
        BlackBox(0),
        Multiply(1, 1),
        Add(2, 2),
        BlackBox(3),
        BlackBox(2),
        BlackBox(3),
    ];
    assert_eq!(operations_left(&program), 2);
    assert_eq!(operations_left(&[]), 0);
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
