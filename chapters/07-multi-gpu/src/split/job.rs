//! What is trained, the same for one device and for every way to split it, and the one device.

use crate::{Error, Result};
use backprop::{
    adam::{self, Adam, Adaptive, Moments},
    mlp::Mlp,
    optimizer::Optimizer,
    sgd::{self, Descent, Sgd},
    softmax::loss_and_gradient,
    train,
};
use std::ops::Range;

/// How parameters move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Gradient descent, with momentum if there is any.
    Sgd(Sgd),
    /// Adam.
    Adam(Adam),
}

impl Rule {
    /// `sgd` or `adam`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sgd(_) => "sgd",
            Self::Adam(_) => "adam",
        }
    }
}

/// A network and how it is trained.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Inputs, hidden layers, classes.
    pub sizes: Vec<usize>,
    /// Of the first weights.
    pub seed: u64,
    /// How the parameters move.
    pub rule: Rule,
}

impl Job {
    /// The network with its first weights. Every rank makes it from the seed, and so needs no message to have it.
    ///
    /// # Errors
    /// [`Error::Backprop`] if the sizes are no network.
    pub fn model(&self) -> Result<Mlp<f32>> {
        Ok(Mlp::new(&self.sizes, self.seed)?)
    }
}

/// Images and their labels: the batch of all ranks together, or a part of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The images, one after the other.
    pub x: Vec<f32>,
    /// Their classes.
    pub labels: Vec<u8>,
}

impl Batch {
    /// How many images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Some of the images.
    ///
    /// # Errors
    /// [`Error::Config`] if the images are not as wide as each other, or there are too few of them.
    pub fn part(&self, rows: Range<usize>) -> Result<Self> {
        let width = if self.is_empty() { 0 } else { self.x.len() / self.len() };
        if rows.end > self.len() || self.x.len() != width * self.len() {
            return Err(Error::Config(format!(
                "a batch of {} pixels and {} labels has no images {rows:?}; give a label to each image",
                self.x.len(),
                self.len()
            )));
        }
        let x = self.x[rows.start * width..rows.end * width].to_vec();
        Ok(Self { x, labels: self.labels[rows].to_vec() })
    }
}

/// The mean loss and the derivatives of the scores of some images out of a batch of `whole`, weighed by their fraction
/// of it: summed over the parts of a batch, both are those of the batch.
///
/// # Errors
/// [`Error::Backprop`] if labels and scores do not fit.
// ANCHOR: weighed
pub fn weighed_loss(
    scores: &[f32], // of these images
    labels: &[u8],
    classes: usize,
    whole: usize,
) -> Result<(f64, Vec<f32>)> {
    let (loss, mut dscores) = loss_and_gradient(scores, labels, classes)?;
    let share = labels.len() as f64 / whole as f64;
    for d in &mut dscores {
        *d *= share as f32;
    }
    Ok((loss * share, dscores))
}
// ANCHOR_END: weighed

/// A rule and what it remembers of `len` parameters, wherever they come from: what it does to one has nothing to do
/// with the others, so any part of a network can have an optimizer of its own.
#[derive(Clone, Debug)]
pub struct Update {
    rule: Rule,
    t: i32,
    moments: Moments<f32>,
}

impl Update {
    /// One that has seen nothing.
    pub fn new(rule: Rule, len: usize) -> Self {
        let mut moments = Moments::zeros(len);
        if let Rule::Sgd(_) = rule {
            moments.v = Vec::new(); // it remembers a velocity alone
        }
        Self { rule, t: 0, moments }
    }

    /// Moves the parameters by one step.
    pub fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) {
        self.t += 1;
        let (m, v) = self.moments.slices();
        match &self.rule {
            Rule::Sgd(rule) => sgd::step(rule, parameters, m, gradient),
            Rule::Adam(rule) => adam::step(rule, self.t, parameters, (m, v), gradient),
        }
    }

    /// Bytes of what it remembers.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.moments.m[..]) + size_of_val(&self.moments.v[..])
    }
}

/// What training came to: the whole network's parameters, and the loss of each batch before its step.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// All parameters, in the order of [`Mlp::parameters`].
    pub parameters: Vec<f32>,
    /// The mean loss of each batch.
    pub losses: Vec<f64>,
}

/// Trains on one device, by chapter 3's own step: what every split has to be equal to.
///
/// # Errors
/// [`Error::Backprop`] if the network and the batches do not fit.
pub fn one_device(job: &Job, batches: &[Batch]) -> Result<Trained> {
    let mut model = job.model()?;
    let mut optimizer: Box<dyn Optimizer<f32>> = match job.rule {
        Rule::Sgd(rule) => Box::new(Descent::new(rule, &model)),
        Rule::Adam(rule) => Box::new(Adaptive::new(rule, &model)),
    };
    let mut losses = Vec::new();
    for Batch { x, labels } in batches {
        losses.push(train::step(&mut model, &mut *optimizer, (x, labels), None, false)?);
    }
    Ok(Trained { parameters: model.parameters(), losses })
}

/// Fails for a batch without images, which has no mean loss.
///
/// # Errors
/// [`Error::Backprop`].
pub fn not_empty(batch: &Batch) -> Result<()> {
    if batch.is_empty() { Err(backprop::Error::EmptyBatch.into()) } else { Ok(()) }
}
