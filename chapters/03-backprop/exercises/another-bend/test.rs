//! The test of the exercise `another-bend`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{sigmoid, sigmoid_backward};
use lab::check::near;

/// The derivative at `x`, for an output whose own derivative is `dy`.
fn backward(x: f32, dy: f32) -> f32 {
    let (mut output, mut gradient) = ([x], [dy]);
    sigmoid(&mut output);
    sigmoid_backward(&output, &mut gradient);
    gradient[0]
}

#[test]
fn it_is_the_derivative_of_finite_differences() {
    let y = |x: f64| 1.0 / (1.0 + (-x).exp());
    for x in [-6.0_f32, -2.0, -0.5, 0.0, 0.25, 1.0, 3.0, 8.0] {
        let (at, h) = (f64::from(x), 1e-5);
        let wanted = (y(at + h) - y(at - h)) / (2.0 * h);
        near(backward(x, 1.0), wanted, 1e-6, format!("at {x}"));
    }
}

#[test]
fn it_multiplies_what_comes_from_behind() {
    near(backward(0.0, -8.0), -2.0, 1e-6, "at 0, with −8 from behind");
}

#[test]
fn far_out_nothing_overflows() {
    near([-200.0, 200.0].map(|x| backward(x, 1.0)), [0.0; 2], 1e-6, "at −200 and 200");
}
