//! Gradient descent: a step against the gradient, and one with momentum, which remembers where it was going.

use crate::{
    mlp::{Gradient, Mlp},
    optimizer::Optimizer,
    real::Real,
};

/// Stochastic gradient descent with momentum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sgd {
    /// The learning rate η.
    pub lr: f64,
    /// How much of the last step's velocity remains: 0 for plain descent, 0.9 is common.
    pub momentum: f64,
}

/// One step on the parameters `p` with the gradient `g`; `velocity` remembers the steps before. This is the
/// form of Sutskever and others 2013 that PyTorch uses: the learning rate multiplies the velocity.
// ANCHOR: step
pub fn step<T: Real>(rule: &Sgd, p: &mut [T], velocity: &mut [T], g: &[T]) {
    let (lr, momentum) = (T::of(rule.lr), T::of(rule.momentum));
    for ((p, v), g) in p.iter_mut().zip(velocity).zip(g) {
        *v = momentum * *v + *g;
        *p -= lr * *v;
    }
}
// ANCHOR_END: step

/// The rule with its memory.
#[derive(Clone, Debug)]
pub struct Descent<T> {
    rule: Sgd,
    velocities: Vec<Vec<T>>,
}

impl<T: Real> Descent<T> {
    /// A descent that has not begun.
    pub fn new(rule: Sgd, model: &Mlp<T>) -> Self {
        Self { rule, velocities: model.tensors().map(|p| vec![T::ZERO; p.len()]).collect() }
    }
}

impl<T: Real> Optimizer<T> for Descent<T> {
    fn update(&mut self, model: &mut Mlp<T>, gradient: &Gradient<T>) {
        let tensors = model.tensors_mut().zip(gradient.tensors());
        for ((p, g), velocity) in tensors.zip(&mut self.velocities) {
            step(&self.rule, p, velocity, g);
        }
    }

    fn lr(&self) -> f64 {
        self.rule.lr
    }
}
