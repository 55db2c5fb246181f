//! Another bend between two layers: the sigmoid.

/// Replaces each value x by 1 / (1 + e⁻ˣ), which lies between 0 and 1.
pub fn sigmoid(values: &mut [f32]) {
    for value in values {
        *value = 1.0 / (1.0 + (-*value).exp());
    }
}

/// The gradient of the output becomes that of the input. `output` is what [`sigmoid`] left; the input is gone.
pub fn sigmoid_backward(output: &[f32], gradient: &mut [f32]) {
    for (gradient, output) in gradient.iter_mut().zip(output) {
        // EXERCISE: begin
        *gradient *= output * (1.0 - output);
        // EXERCISE: instead
        // *gradient = if *output > 0.0 { *gradient } else { 0.0 }; // as ReLU
        // EXERCISE: end
    }
}
