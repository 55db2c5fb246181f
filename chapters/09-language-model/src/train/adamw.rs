//! `AdamW`: Adam's step, and apart from it every weight shrinks a little (Loshchilov and Hutter 2019, "Decoupled Weight
//! Decay Regularization"). Were the decay a part of the gradient, Adam would divide it by the gradient's usual size.
//!
//! Matrices shrink. The scales of the normalisations do not: they would be pulled to zero, where a layer is silent.

use crate::{Config, Layout};
use backprop::adam::{self, Adam};
use engine::{
    params::{Named, Params},
    rule::{Kernel, Rule, Update},
};
use lab::vectors::wide;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The rule's constants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdamW {
    /// How much of the gradients' running mean remains after a step.
    pub beta1: f64,
    /// How much of their squares' running mean remains.
    pub beta2: f64,
    /// Keeps the division from exploding where gradients are zero.
    pub eps: f64,
    /// The part of a weight that a step of learning rate 1 would take away.
    pub decay: f64,
}

impl Default for AdamW {
    /// GPT-3's (Brown et al. 2020, appendix B).
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.95, eps: 1e-8, decay: 0.1 }
    }
}

/// The running means of all parameters' gradients.
pub type Moments = adam::Moments<f32>;

/// Where the tensors of a model, or of a part of it, lie in the engine's buffer, and whether each shrinks.
pub fn tensors(params: &Params, config: &Config) -> Vec<(Range<usize>, bool)> {
    let all = Layout::new(config).tensors(config);
    let shrinks =
        |name: &str| all.iter().any(|(other, _, shape)| other == name && shape.len() == 2);
    let tensor = |Named { name, tensor, .. }: &Named| {
        (tensor.start..tensor.start + tensor.words(), shrinks(name))
    };
    params.tensors.iter().map(tensor).collect()
}

/// What a step multiplies with: it depends on the number of the step alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors {
    /// What is left of a weight.
    pub kept: f32,
    /// What the gradient is multiplied with.
    pub clip: f32,
    /// Each mean's factor, and the new value's.
    pub beta1: [f32; 2],
    pub beta2: [f32; 2],
    /// η·√(1 − β₂ᵗ) / (1 − β₁ᵗ), and ε·√(1 − β₂ᵗ).
    pub lr: f32,
    pub eps: f32,
}

impl Factors {
    /// Those of step number `t` (from 1) at the learning rate `lr`, for a tensor that shrinks or does not.
    pub fn new(rule: &AdamW, (t, lr, clip): (u64, f64, f32), shrinks: bool) -> Self {
        let t = i32::try_from(t).unwrap_or(i32::MAX);
        let (part1, part2) = (1.0 - rule.beta1.powi(t), 1.0 - rule.beta2.powi(t));
        let kept = if shrinks { 1.0 - lr * rule.decay } else { 1.0 };
        Self {
            kept: kept as f32,
            clip,
            beta1: [rule.beta1 as f32, (1.0 - rule.beta1) as f32],
            beta2: [rule.beta2 as f32, (1.0 - rule.beta2) as f32],
            lr: (lr * part2.sqrt() / part1) as f32,
            eps: (rule.eps * part2.sqrt()) as f32,
        }
    }
}

/// One pass over four arrays.
// ANCHOR: one_pass
#[inline(always)]
fn one_pass(f: Factors, [p, m, v]: [&mut [f32]; 3], g: &[f32]) {
    for (((p, m), v), g) in p.iter_mut().zip(m).zip(v).zip(g) {
        let g = g * f.clip;
        *m = f.beta1[0] * *m + f.beta1[1] * g;
        *v = f.beta2[0] * *v + f.beta2[1] * g * g;
        *p = *p * f.kept - f.lr * *m / (v.sqrt() + f.eps);
    }
}
// ANCHOR_END: one_pass

/// A `step`, which is its number (from 1), its learning rate and what the gradient is multiplied with.
///
/// # Panics
/// If the lengths differ.
pub fn update(
    rule: &AdamW,
    step: (u64, f64, f32),
    p: &mut [f32],
    (m, v): (&mut [f32], &mut [f32]),
    g: &[f32],
    tensors: &[(Range<usize>, bool)],
) {
    assert!(p.len() == g.len() && m.len() == g.len() && v.len() == g.len(), "four equal lengths");
    for (range, shrinks) in tensors {
        let (factors, g) = (Factors::new(rule, step, *shrinks), &g[range.clone()]);
        let to = [&mut *p, &mut *m, &mut *v].map(|all| &mut all[range.clone()]);
        wide!(|| one_pass(factors, to, g));
    }
}

/// The parts of the tensors that lie in `own`, numbered from its beginning.
pub fn inside(tensors: &[(Range<usize>, bool)], own: &Range<usize>) -> Vec<(Range<usize>, bool)> {
    let part = |range: &Range<usize>| {
        range.start.max(own.start) - own.start..range.end.min(own.end) - own.start
    };
    let meets = |range: &Range<usize>| range.start < own.end && own.start < range.end;
    let parts = tensors.iter().filter(|(range, _)| meets(range));
    parts.map(|(range, shrinks)| (part(range), *shrinks)).collect()
}

impl AdamW {
    /// The rule for the engine, which hands it the parameters in parts: of these tensors, and whether each shrinks.
    pub fn rule(self, tensors: Vec<(Range<usize>, bool)>) -> Rule {
        let Self { beta1, beta2, eps, decay } = self;
        let spared = tensors.iter().filter(|(_, shrinks)| !shrinks);
        let spared = spared.map(|(range, _)| range.clone()).collect();
        let code = move |Update { step, rate, clip, first, p, means, g }: Update| {
            let step = (step as u64, f64::from(rate), clip);
            let own = inside(&tensors, &(first..first + p.len()));
            update(&self, step, p, means.into(), g, &own);
        };
        let means = Adam { beta1, beta2, eps, ..Adam::default() };
        Rule::new(code, Some((Kernel::AdamW, decay as f32))).with(means, spared)
    }
}
