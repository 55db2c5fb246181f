//! The test of the exercise `worth-the-rent`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Step, most, time};
use lab::check::{near, pairs};

/// The page's step: 10 ms, 4 MB, 10 µs and 10 GB/s.
const STEP: Step = Step { compute: 10e-3, update: 0.0, bytes: 4e6, alpha: 10e-6, beta: 1e-10 };

#[test]
fn the_time_has_three_terms() {
    for (step, p, wanted) in [
        (STEP, 1, 10e-3),
        (Step { update: 1e-3, ..STEP }, 1, 11e-3),
        (STEP, 2, 5e-3 + 2.0 * (10e-6 + 0.2e-3)),
        (Step { update: 1e-3, ..STEP }, 8, 1.25e-3 + 14.0 * (10e-6 + 0.05e-3) + 1e-3),
    ] {
        near(time(step, p), wanted, 1e-12, format!("seconds on {p} devices"));
    }
}

#[test]
fn the_next_device_is_not_worth_it() {
    let steps = [STEP, Step { bytes: 4e3, ..STEP }, Step { update: 0.2e-3, ..STEP }];
    for (step, wanted) in pairs(steps, [0.3, 0.5, 0.8, 0.95]) {
        let efficiency = |p: usize| time(step, 1) / (p as f64 * time(step, p));
        let found = most(step, wanted, 4096);
        assert!(efficiency(found) >= wanted, "{found} devices for {wanted}: {step:?}");
        assert!(efficiency(found + 1) < wanted, "{found} devices for {wanted}: {step:?}");
    }
}

#[test]
fn worth_its_rent_is_not_the_fastest() {
    let fastest = (1..=4096).min_by(|p, q| time(STEP, *p).total_cmp(&time(STEP, *q))).unwrap();
    let found = most(STEP, 0.5, 4096);
    println!("fastest on {fastest} devices, half of the rent is worth something on {found}");
    assert_eq!((fastest, found), (21, 10));
}

#[test]
fn the_limit_holds() {
    assert_eq!(most(Step { bytes: 0.0, alpha: 0.0, ..STEP }, 0.9, 64), 64);
    assert_eq!(most(STEP, 1.0, 64), 1);
}
