//! Gradient descent with momentum.

/// A parameter's memory of the steps before.
#[derive(Clone, Debug, Default)]
pub struct Momentum {
    /// One number for each parameter; empty before the first step.
    pub velocity: Vec<f32>,
}

impl Momentum {
    /// One step: the velocity keeps `momentum` of itself and gains the gradient; the parameters move against it by
    /// `lr` times the velocity.
    pub fn step(&mut self, p: &mut [f32], g: &[f32], lr: f32, momentum: f32) {
        self.velocity.resize(p.len(), 0.0);
        // EXERCISE: begin
        for ((p, v), g) in p.iter_mut().zip(&mut self.velocity).zip(g) {
            *v = momentum * *v + g;
            *p -= lr * *v;
        }
        // EXERCISE: instead
        // let _ = momentum; // plain descent: it forgets
        // for (p, g) in p.iter_mut().zip(g) {
        //     *p -= lr * g;
        // }
        // EXERCISE: end
    }
}
