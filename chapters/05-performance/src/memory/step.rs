//! A training step in its parts, so that a batch can be taken in pieces: gradients are added up first, and the weights
//! move later.

use crate::{Error, Result};
use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};
use lab::data::Split;
use training::{
    engine::Resident,
    model::{self, Images, Network, Targets},
    optimizer::{Optimizer, Rule},
};

/// A model in training: its weights, the sums of its gradients and its optimizer.
pub struct Learner<M> {
    /// The model.
    pub model: M,
    optimizer: Optimizer<Cpu>,
    grads: Gradients<f32, Cpu>,
}

impl<M: Network<Cpu>> Learner<M> {
    /// A model with random weights from the device's seed, and Adam.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory for it.
    pub fn new(dev: &Cpu) -> Result<Self> {
        let model: M = model::build(dev)?;
        let optimizer = Optimizer::new(&model, Rule::Adam, 0.0)?;
        let grads = model.try_alloc_grads().map_err(Error::device)?;
        Ok(Self { model, optimizer, grads })
    }

    /// Adds `by` times the gradient of the mean loss of these images to
    /// the sums, and returns that mean loss. The weights stay.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn add(&mut self, x: Images<Cpu>, y: Targets<Cpu>, by: f32) -> Result<f32> {
        let grads = std::mem::replace(&mut self.grads, Gradients::leaky());
        let scores = self.model.learn(x.traced(grads)).map_err(Error::device)?;
        let loss = cross_entropy_with_logits_loss(scores, y);
        let value = loss.array();
        // The derivative of by · loss; 1 for a batch that is not cut.
        let loss = loss.try_mul(by).map_err(Error::device)?;
        self.grads = loss.try_backward().map_err(Error::device)?;
        Ok(value)
    }

    /// Moves the weights by the sums of the gradients, and sets the sums to zero.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn update(&mut self, lr: f64) -> Result<()> {
        self.optimizer.update(lr, &mut self.model, &mut self.grads)?;
        self.model.try_zero_grads(&mut self.grads).map_err(Error::device)
    }

    /// The sums of the gradients, tensor by tensor, in the order of [`model::parameters`].
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn gradients(&self) -> Result<Vec<f32>> {
        model::gradients(&self.model, &self.grads)
    }
}

/// How far `a` is from `b`: the length of the difference over the length of `b`, in f64.
pub fn distance(a: &[f32], b: &[f32]) -> f64 {
    let length = |of: &mut dyn Iterator<Item = f64>| of.map(|v| v * v).sum::<f64>().sqrt();
    let difference = length(&mut a.iter().zip(b).map(|(a, b)| f64::from(*a) - f64::from(*b)));
    let size = length(&mut b.iter().map(|b| f64::from(*b)));
    if difference == 0.0 { 0.0 } else { difference / size }
}

/// Images and labels with these indices.
///
/// # Errors
/// [`Error::Device`].
pub fn batch(data: &Resident<Cpu>, index: &[usize]) -> Result<(Images<Cpu>, Targets<Cpu>)> {
    Ok((data.images(index)?, data.targets(index)?))
}

/// Images of 28×28 that look like nothing: for what does not depend on what they show.
pub fn noise(count: usize, seed: u64) -> Split {
    let mut random = backprop::random::SplitMix64::new(seed);
    Split {
        images: (0..count * model::PIXELS).map(|_| random.below(256) as u8).collect(),
        labels: (0..count).map(|_| random.below(model::CLASSES) as u8).collect(),
        rows: 28,
        cols: 28,
    }
}
