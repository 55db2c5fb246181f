//! Optimizers: from the gradient to the next weights.
//!
//! The functions on plain slices are the readable versions: [`sgd`], [`momentum`], [`rmsprop`], [`adam`] and
//! [`adamw`]. [`Optimizer`] runs dfdx's kernels for the same rules, on a CPU or a GPU. It differs from dfdx's own
//! optimizers in two things: its state can be taken out and put back, so a run can be resumed, and the learning
//! rate is given anew in each step, so that a [schedule](crate::learning::schedule) can change it.

use crate::{Error, Result, models::model};
use dfdx::{
    optim::{AdamConfig, Momentum, RMSpropConfig, SgdConfig, WeightDecay},
    prelude::*,
    tensor_ops::Device,
};

pub use crate::config::Rule;

/// How much of the last velocity [`momentum`] keeps.
pub const MOMENTUM: f32 = 0.9;
/// How much of the last mean square [`rmsprop`] keeps.
pub const RMSPROP: f32 = 0.9;
/// How much of its two means [`adam`] keeps.
pub const BETAS: [f32; 2] = [0.9, 0.999];
/// Keeps the divisions away from zero.
pub const EPSILON: f32 = 1e-8;

/// Two running means for each parameter: of its gradients, and of their squares.
pub type Means<'m> = [&'m mut [f32]; 2];

// ANCHOR: sgd
/// One step straight down: stochastic gradient descent.
pub fn sgd(lr: f32, p: &mut [f32], g: &[f32]) {
    for (p, g) in p.iter_mut().zip(g) {
        *p -= lr * g;
    }
}

/// A ball that rolls: the velocity `v` remembers nine tenths of itself.
pub fn momentum(lr: f32, p: &mut [f32], v: &mut [f32], g: &[f32]) {
    for ((p, v), g) in p.iter_mut().zip(v).zip(g) {
        *v = MOMENTUM * *v + g;
        *p -= lr * *v;
    }
}
// ANCHOR_END: sgd

// ANCHOR: rmsprop
/// Steps of nearly equal length for all: each gradient is divided by the
/// root of `s`, the running mean of its squares.
pub fn rmsprop(lr: f32, p: &mut [f32], s: &mut [f32], g: &[f32]) {
    for ((p, s), g) in p.iter_mut().zip(s).zip(g) {
        *s = RMSPROP * *s + (1.0 - RMSPROP) * g * g;
        *p -= lr * g / (*s + EPSILON).sqrt();
    }
}
// ANCHOR_END: rmsprop

// ANCHOR: adam
/// Both ideas: the mean of the gradients over the root of the mean square.
/// `t` counts the steps from 1. Kingma and Ba 2015, algorithm 1.
pub fn adam(lr: f32, t: i32, p: &mut [f32], [m, v]: Means, g: &[f32]) {
    let [beta1, beta2] = BETAS;
    // The means start at zero, so early ones are too small by this factor.
    let (part1, part2) = (1.0 - beta1.powi(t), 1.0 - beta2.powi(t));
    for ((p, (m, v)), g) in p.iter_mut().zip(m.iter_mut().zip(v)).zip(g) {
        *m = beta1 * *m + (1.0 - beta1) * g; // running mean of gradients
        *v = beta2 * *v + (1.0 - beta2) * g * g; // and of their squares
        *p -= lr * (*m / part1) / ((*v / part2).sqrt() + EPSILON);
    }
}
// ANCHOR_END: adam

// ANCHOR: adamw
/// Adam, and every weight shrinks a little towards zero on the way.
/// Loshchilov and Hutter 2019, algorithm 2.
pub fn adamw(rates: [f32; 2], t: i32, p: &mut [f32], means: Means, g: &[f32]) {
    let [lr, decay] = rates;
    for p in &mut *p {
        *p -= lr * decay * *p;
    }
    adam(lr, t, p, means, g);
}
// ANCHOR_END: adamw

/// Numbers for each parameter that dfdx's kernel wants to be given, used or not.
fn buffers(rule: Rule) -> usize {
    match rule {
        Rule::Sgd | Rule::Momentum => 1,
        Rule::Adam | Rule::AdamW => 2,
        Rule::RmsProp => 3,
    }
}

/// The optimizer for the parameters of a model on a device.
pub struct Optimizer<D: Storage<f32>> {
    rule: Rule,
    decay: f64,
    t: i32,
    /// One value per parameter in each; the first [`Rule::memory`] of them matter.
    slots: Vec<Gradients<f32, D>>,
}

/// An optimizer's state, on the host. It starts with zeros.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Steps taken.
    pub t: i32,
    /// [`Rule::memory`] values for each parameter, in the order of [`crate::models::model::parameters`].
    pub slots: Vec<Vec<f32>>,
}

impl<D: Device<f32>> Optimizer<D> {
    /// An optimizer that has seen nothing. `decay` is the fraction of itself that a weight loses in a step,
    /// before the learning rate: decoupled from the gradient for [`Rule::AdamW`], a part of it for the others.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory for its state.
    pub fn new<M: TensorCollection<f32, D>>(model: &M, rule: Rule, decay: f64) -> Result<Self> {
        let slots = (0..buffers(rule)).map(|_| model.try_alloc_grads().map_err(Error::device));
        Ok(Self { rule, decay, t: 0, slots: slots.collect::<Result<_>>()? })
    }

    /// Moves the parameters of `model` by one step along `grads`.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn update<M: TensorCollection<f32, D>>(
        &mut self,
        lr: f64,
        model: &mut M,
        grads: &mut Gradients<f32, D>,
    ) -> Result<()> {
        self.t += 1;
        let mut update = Update { optimizer: self, lr, grads };
        M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut update })
            .map_err(Error::device)?;
        Ok(())
    }

    /// The state, copied to the host.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn state<M: TensorCollection<f32, D>>(&self, model: &M) -> Result<State> {
        let used = &self.slots[..self.rule.memory()];
        let slots = used.iter().map(|slot| model::gradients(model, slot));
        Ok(State { t: self.t, slots: slots.collect::<Result<_>>()? })
    }

    /// Goes on from `state`.
    ///
    /// # Errors
    /// [`Error::Config`] if the state belongs to another rule or a model of another size,
    /// [`Error::Device`].
    pub fn set_state<M: TensorCollection<f32, D>>(
        &mut self,
        model: &mut M,
        state: &State,
    ) -> Result<()> {
        let wanted = (self.rule.memory(), model.num_trainable_params());
        if state.slots.len() != wanted.0 || state.slots.iter().any(|s| s.len() != wanted.1) {
            return Err(Error::Config(format!(
                "{} keeps {} values for each of {} parameters, and the optimizer's state has {:?}",
                self.rule,
                wanted.0,
                wanted.1,
                state.slots.iter().map(Vec::len).collect::<Vec<_>>()
            )));
        }
        self.t = state.t;
        for (gradients, values) in self.slots.iter_mut().zip(&state.slots) {
            *gradients = model::loaded(model, values)?;
        }
        Ok(())
    }
}

/// One step on every parameter.
struct Update<'a, D: Storage<f32>> {
    optimizer: &'a mut Optimizer<D>,
    lr: f64,
    grads: &'a mut Gradients<f32, D>,
}

impl<D: Device<f32>> TensorVisitor<f32, D> for Update<'_, D> {
    type Viewer = ViewTensorMut;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, D>,
        p: &mut Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        if !options.do_gradient_update {
            return Ok(None);
        }
        let (Optimizer { rule, decay, t, slots }, lr) = (&mut *self.optimizer, self.lr);
        let g = self.grads.get_or_alloc_mut(p)?;
        let l2 = (*decay > 0.0).then_some(WeightDecay::L2(*decay));
        match (*rule, &mut slots[..]) {
            (Rule::Sgd | Rule::Momentum, [v]) => {
                let momentum = match rule {
                    Rule::Momentum => Some(Momentum::Classic(f64::from(MOMENTUM))),
                    _ => None,
                };
                let v = v.get_or_alloc_mut(p)?;
                SgdConfig { lr, momentum, weight_decay: l2 }.try_update(p, v, g)?;
            }
            (Rule::RmsProp, [s, m, mean]) => {
                let config = RMSpropConfig { lr, weight_decay: l2, ..RMSpropConfig::default() };
                let (s, m) = (s.get_or_alloc_mut(p)?, m.get_or_alloc_mut(p)?);
                config.try_update(p, m, s, mean.get_or_alloc_mut(p)?, g)?;
            }
            (Rule::Adam | Rule::AdamW, [m, v]) => {
                let decoupled = (*decay > 0.0).then_some(WeightDecay::Decoupled(*decay));
                let weight_decay = if *rule == Rule::AdamW { decoupled } else { l2 };
                let config = AdamConfig { lr, weight_decay, ..AdamConfig::default() };
                let (m, v) = (m.get_or_alloc_mut(p)?, v.get_or_alloc_mut(p)?);
                config.try_update(*t, p, m, v, g)?;
            }
            _ => unreachable!("`new` makes as many slots as the rule has buffers"),
        }
        Ok(None)
    }
}
