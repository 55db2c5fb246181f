//! The test of the exercise `loss-scaler`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{RANGE, Scale};
use lab::check::pairs;
use mixed_precision::amp::scaler::{Dynamic, Scaler, Scaling};

const GOOD: [f32; 3] = [0.0, -1.0, 65504.0];

/// The factor after these steps, `true` for good ones.
fn after(factor: f32, every: u32, steps: &[bool]) -> f32 {
    let mut scale = Scale { factor, good: 0 };
    for good in steps {
        let gradients = if *good { GOOD } else { [0.0, f32::INFINITY, 1.0] };
        let moves = scale.step(&gradients, every);
        assert_eq!(moves, *good, "whether the weights may move after {gradients:?}");
    }
    scale.factor
}

#[track_caller]
fn check(found: f32, wanted: f32) {
    lab::check::close(found, wanted, 1e-6, "the factor");
}

#[test]
fn it_doubles_after_good_steps_in_a_row() {
    check(after(8.0, 3, &[true; 2]), 8.0);
    check(after(8.0, 3, &[true; 3]), 16.0);
    check(after(8.0, 3, &[true; 5]), 16.0);
    check(after(8.0, 3, &[true; 6]), 32.0);
    check(after(8.0, 1, &[true; 4]), 128.0);
}

#[test]
fn it_halves_after_a_bad_step_and_counts_anew() {
    check(after(8.0, 3, &[false]), 4.0);
    check(after(8.0, 3, &[true, true, false, true, true]), 4.0);
    check(after(8.0, 3, &[true, true, false, true, true, true]), 8.0);
}

#[test]
fn every_kind_of_bad_number_is_seen_wherever_it_is() {
    for (bad, at) in pairs([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN], 0..5) {
        let mut gradients = [1.0; 5];
        gradients[at] = bad;
        let mut scale = Scale { factor: 8.0, good: 0 };
        assert!(!scale.step(&gradients, 3), "the weights moved by {bad} at index {at}");
        check(scale.factor, 4.0);
    }
}

#[test]
fn it_stays_in_its_range() {
    check(after(1.0, 1, &[true; 300]), RANGE[1]);
    check(after(1.0, 1, &[false; 300]), RANGE[0]);
}

#[test]
fn it_is_the_rule_of_the_course() {
    let rule = Dynamic { start: 1024.0, every: 4 };
    let mut course = Scaler::new(Scaling::Dynamic(rule));
    let mut scale = Scale { factor: rule.start, good: 0 };
    for step in 0..200_u32 {
        let good = step % 13 != 4;
        course.update(good).unwrap();
        scale.step(if good { &GOOD } else { &[f32::NAN] }, rule.every);
        check(scale.factor, course.scale());
    }
}
