//! The test of the exercise `cosine`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::rate;
use lab::check::near;

const PEAK: f64 = 0.5;
const FLOOR: f64 = 0.1;

/// A run of 110 steps that warms up over the first ten.
fn at(step: usize) -> f64 {
    rate(step, 110, 10, PEAK, FLOOR)
}

#[test]
fn it_warms_up_in_equal_steps() {
    for step in 0..10 {
        near(at(step), PEAK * (step + 1) as f64 / 10.0, 1e-12, format!("step {step}"));
    }
}

#[test]
fn it_falls_along_half_a_cosine() {
    let rates: Vec<f64> = (10..=110).map(at).collect();
    assert!(rates.windows(2).all(|pair| pair[1] < pair[0]), "{rates:?}");
    // The cosine of 0°, 60°, 90°, 120° and 180°; steps of a fall of 120.
    for (step, left) in [(0, 1.0), (40, 0.75), (60, 0.5), (80, 0.25), (120, 0.0)] {
        let wanted = FLOOR + (PEAK - FLOOR) * left;
        near(rate(step, 120, 0, PEAK, FLOOR), wanted, 1e-12, format!("step {step} of 120"));
    }
}

#[test]
fn without_a_floor_it_is_the_rate_of_the_page() {
    let settings = training::Settings {
        lr: PEAK,
        warmup: 10,
        schedule: training::schedule::Schedule::Cosine,
        ..training::Settings::default()
    };
    for step in 0..120 {
        let wanted = training::schedule::rate(&settings, step, 110);
        near(rate(step, 110, 10, PEAK, 0.0), wanted, 1e-12, format!("step {step}"));
    }
}

#[test]
fn after_the_end_it_stays_at_the_floor() {
    for step in [110, 111, 160, 210, 5000] {
        near(at(step), FLOOR, 1e-12, format!("step {step}"));
    }
}

#[test]
fn a_run_that_is_no_longer_than_its_warm_up_only_warms_up() {
    for steps in [3, 10] {
        for step in 0..steps {
            let found = rate(step, steps, 10, PEAK, FLOOR);
            near(found, at(step), 1e-12, format!("step {step} of {steps}"));
        }
        // This step is never taken, but asking for its rate must not panic.
        assert!(rate(10, steps, 10, PEAK, FLOOR).is_finite());
    }
}
