//! The test of the exercise `momentum`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Momentum;
use lab::check::near;

/// A valley: its height is (x² + 100·y²) / 2, and its gradient (x, 100·y).
fn after(steps: usize, lr: f32, momentum: f32) -> [f32; 2] {
    let (mut p, mut memory) = ([10.0, 1.0], Momentum::default());
    for _ in 0..steps {
        let g = [p[0], 100.0 * p[1]];
        memory.step(&mut p, &g, lr, momentum);
    }
    p
}

#[test]
fn without_momentum_it_is_plain_descent() {
    near(after(1, 0.01, 0.0), [9.9, 0.0], 1e-5, "a step without momentum");
}

#[test]
fn the_velocity_is_the_sum_of_what_was_kept() {
    let (mut p, mut memory) = ([0.0], Momentum::default());
    for _ in 0..3 {
        memory.step(&mut p, &[1.0], 1.0, 0.5);
    }
    // 1, 1.5 and 1.75.
    near(memory.velocity, [1.75], 1e-6, "the velocity");
    near(p, [-4.25], 1e-6, "the parameter");
}

#[test]
fn a_hundred_steps_reach_the_bottom_that_plain_descent_does_not() {
    let (plain, with) = (after(100, 0.01, 0.0), after(100, 0.01, 0.9));
    println!("plain: {plain:?}, with momentum: {with:?}");
    assert!(plain[0].abs() > 3.0, "{plain:?}");
    assert!(with[0].abs() < 0.1 && with[1].abs() < 0.1, "{with:?}");
}
