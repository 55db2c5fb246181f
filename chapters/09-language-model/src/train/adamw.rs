//! `AdamW`: Adam's step, and apart from it every weight shrinks a little (Loshchilov and Hutter 2019, "Decoupled Weight
//! Decay Regularization"). Were the decay a part of the gradient, Adam would divide it by the gradient's usual size.
//!
//! Matrices shrink. The scales of the normalisations do not: they would be pulled to zero, where a layer is silent.

use crate::{Config, Layout};
use backprop::adam::{self, Adam, Factors, fused};
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

/// A `step`, which is its number (from 1), its learning rate and what the gradient is multiplied with, of all `tensors`:
/// where each lies, and whether it shrinks.
///
/// # Panics
/// If the lengths differ.
// ANCHOR: update
pub fn update(
    rule: &AdamW,
    (t, lr, clip): (i32, f64, f32),
    p: &mut [f32],
    (m, v): (&mut [f32], &mut [f32]),
    g: &[f32],
    tensors: &[(Range<usize>, bool)],
) {
    let AdamW { beta1, beta2, eps, decay } = *rule;
    let adam = Adam { lr, beta1, beta2, eps };
    let factors = Factors::new(&adam, t).clipped(clip);
    for (range, shrinks) in tensors {
        let own = [&mut *p, &mut *m, &mut *v];
        let [p, m, v] = own.map(|all| &mut all[range.clone()]);
        if *shrinks {
            let kept = (1.0 - lr * decay) as f32;
            wide!(|| p.iter_mut().for_each(|p| *p *= kept));
        }
        fused(factors, p, m, v, &g[range.clone()]);
    }
}
// ANCHOR_END: update

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
            let own = inside(&tensors, &(first..first + p.len()));
            update(&self, (step, f64::from(rate), clip), p, means.into(), g, &own);
        };
        let means = Adam { beta1, beta2, eps, ..Adam::default() };
        Rule::new(code, Some((Kernel::AdamW, decay as f32))).with(means, spared)
    }
}
