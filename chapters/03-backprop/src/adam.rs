//! Adam: steps along the gradient, scaled for each parameter by how large its gradients have been.
//!
//! Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization", algorithm 1: [`step`] is that algorithm
//! line by line, on whole vectors. [`fused`] passes over the vectors once.

use crate::{
    mlp::{Gradient, Mlp},
    optimizer::Optimizer,
    real::Real,
};
use lab::vectors::wide;

/// Adam's hyperparameters. The defaults are the paper's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// The learning rate η.
    pub lr: f64,
    /// How much of the gradients' running mean remains after a step.
    pub beta1: f64,
    /// How much of their squares' running mean remains.
    pub beta2: f64,
    /// Keeps the division from exploding where gradients are zero.
    pub eps: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self { lr: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8 }
    }
}

/// Adam's state for one tensor: the moving means of its gradients. It starts with zeros.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments<T> {
    /// Running means of the gradients.
    pub m: Vec<T>,
    /// Running means of their squares.
    pub v: Vec<T>,
}

impl<T: Real> Moments<T> {
    /// Nothing is known yet about `len` parameters.
    pub fn zeros(len: usize) -> Self {
        Self { m: vec![T::ZERO; len], v: vec![T::ZERO; len] }
    }

    /// Both means, to be changed.
    pub fn slices(&mut self) -> (&mut [T], &mut [T]) {
        (&mut self.m, &mut self.v)
    }
}

/// Step number `t` (from 1) on the parameters `p` with the gradient `g`, as in the paper; `m` and `v` are its
/// [`Moments`].
// ANCHOR: step
pub fn step<T: Real>(
    rule: &Adam,
    t: i32, // from 1
    p: &mut [T],
    (m, v): (&mut [T], &mut [T]),
    g: &[T],
) {
    let [beta1, beta2] = [rule.beta1, rule.beta2].map(T::of);
    let [lr, eps] = [rule.lr, rule.eps].map(T::of);
    for (m, g) in m.iter_mut().zip(g) {
        *m = beta1 * *m + (T::ONE - beta1) * *g;
    }
    for (v, g) in v.iter_mut().zip(g) {
        *v = beta2 * *v + (T::ONE - beta2) * *g * *g;
    }
    // The means start at zero, so early ones are too small by a known factor.
    let (part1, part2) = (T::ONE - beta1.powi(t), T::ONE - beta2.powi(t));
    let m_hat: Vec<T> = m.iter().map(|m| *m / part1).collect();
    let v_hat: Vec<T> = v.iter().map(|v| *v / part2).collect();
    for ((p, m), v) in p.iter_mut().zip(m_hat).zip(v_hat) {
        *p -= lr * m / (v.sqrt() + eps);
    }
}
// ANCHOR_END: step

/// What [`fused`] multiplies with in one step; it depends on the number of the step alone.
#[derive(Clone, Copy, Debug)]
pub struct Factors {
    /// β₁ and 1 − β₁.
    beta1: [f32; 2],
    /// β₂ and 1 − β₂.
    beta2: [f32; 2],
    /// η·√(1 − β₂ᵗ) / (1 − β₁ᵗ).
    lr: f32,
    /// ε·√(1 − β₂ᵗ).
    eps: f32,
}

impl Factors {
    /// Those of step `t` (from 1). Both corrections of the means go into two factors (the paper's remark at the
    /// end of section 2), which leaves one division for each parameter.
    // ANCHOR: factors
    pub fn new(rule: &Adam, t: i32) -> Self {
        let part1 = 1.0 - rule.beta1.powi(t);
        let part2 = 1.0 - rule.beta2.powi(t);
        Self {
            beta1: [rule.beta1 as f32, (1.0 - rule.beta1) as f32],
            beta2: [rule.beta2 as f32, (1.0 - rule.beta2) as f32],
            lr: (rule.lr * part2.sqrt() / part1) as f32,
            eps: (rule.eps * part2.sqrt()) as f32,
        }
    }
    // ANCHOR_END: factors

    /// Those of gradients that are multiplied with a number first: the means take it in.
    #[must_use]
    pub fn clipped(self, clip: f32) -> Self {
        let [[beta1, rest1], [beta2, rest2]] = [self.beta1, self.beta2];
        Self { beta1: [beta1, rest1 * clip], beta2: [beta2, rest2 * clip * clip], ..self }
    }

    /// What changes from step to step: the rate and the ε of a device that is given both anew.
    pub fn of_step(self) -> [f32; 2] {
        [self.lr, self.eps]
    }
}

/// One pass over four arrays: nothing is allocated, and each is read and written once.
#[inline(always)]
// ANCHOR: fused
pub fn one_pass(f: Factors, [p, m, v]: [&mut [f32]; 3], g: &[f32]) {
    let Factors { beta1, beta2, lr, eps } = f;
    for (((p, m), v), g) in p.iter_mut().zip(m).zip(v).zip(g) {
        *m = beta1[0] * *m + beta1[1] * g;
        *v = beta2[0] * *v + beta2[1] * g * g;
        *p -= lr * *m / (v.sqrt() + eps);
    }
}
// ANCHOR_END: fused

/// [`step`] in one pass, in the vectors of this CPU. The rounding differs in the last bits, and is the same on
/// every CPU: no multiplication is fused with an addition.
///
/// # Panics
/// When the slices have different lengths.
pub fn fused(f: Factors, p: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32]) {
    assert!(p.len() == g.len() && m.len() == g.len() && v.len() == g.len(), "four equal lengths");
    wide!(|| one_pass(f, [p, m, v], g));
}

/// Operations that [`fused`] does for each parameter: six multiplications, three additions, a
/// subtraction, a root and a division.
pub const OPERATIONS: f64 = 12.0;

/// Bytes that [`fused`] reads for each parameter: four values. It writes three.
pub const BYTES_READ: f64 = 16.0;

/// The rule with its memory.
#[derive(Clone, Debug)]
pub struct Adaptive<T> {
    rule: Adam,
    t: i32,
    moments: Vec<Moments<T>>,
}

impl<T: Real> Adaptive<T> {
    /// An optimizer that has seen nothing.
    pub fn new(rule: Adam, model: &Mlp<T>) -> Self {
        Self { rule, t: 0, moments: model.tensors().map(|p| Moments::zeros(p.len())).collect() }
    }
}

impl<T: Real> Optimizer<T> for Adaptive<T> {
    fn update(&mut self, model: &mut Mlp<T>, gradient: &Gradient<T>) {
        self.t += 1;
        let tensors = model.tensors_mut().zip(gradient.tensors());
        for ((p, g), moments) in tensors.zip(&mut self.moments) {
            step(&self.rule, self.t, p, moments.slices(), g);
        }
    }

    fn lr(&self) -> f64 {
        self.rule.lr
    }
}
