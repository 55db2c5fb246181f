//! What is trained, the same for one device and for every way to split it, and the one device.

use super::{
    stage::{Of, each_stage},
    tensor,
};
use crate::{Error, Result};
use backprop::{
    adam::{self, Adam},
    random::SplitMix64,
    sgd::{self, Sgd},
};
use engine::{
    cpu::Cpu,
    model::{self, Model},
    params::Params,
    program::Numbers,
    rule::{self, Update},
    step::Step,
    tensor::Place,
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

    /// For the engine.
    pub fn of_engine(self) -> rule::Rule {
        let code = move |Update { step, clip, p, means: [m, v], g, .. }: Update| {
            if clip.to_bits() != 1.0_f32.to_bits() {
                for g in &mut *g {
                    *g *= clip;
                }
            }
            match self {
                Self::Sgd(rule) => sgd::step(&rule, p, m, g),
                Self::Adam(rule) => adam::step(&rule, step, p, (m, v), g),
            }
        };
        rule::Rule::new(code, None)
    }
}

/// What ranks can train together: a model that can be cut, and the rule by which its parameters move.
pub trait Shared {
    /// A rank's part of the products of so many stages, as one list of operations, and how many of them each stage has. What
    /// the first and the last of several stages both have stands among the parameters twice, by one name. A model that is not
    /// cut has its first values.
    ///
    /// # Errors
    /// [`Error::Config`] if the sizes are no network, or can't be cut like this.
    fn cut(&self, stages: usize, of: Of) -> Result<(Model, Vec<usize>)>;

    /// The rule for a rank's parameters.
    fn rule(&self, params: &Params) -> rule::Rule;

    /// Of dropout's masks.
    fn seed(&self) -> u32 {
        0
    }

    /// Rows of a batch that stay together: one for an image, all of its tokens for a text.
    fn rows(&self) -> usize {
        1
    }

    /// What a side of so many rows or columns consists of, where a tensor is cut: matrices side by side, and equal pieces of
    /// each, of which a rank has some.
    fn pieces(&self, _tensor: &str, side: usize) -> [usize; 2] {
        [1, side]
    }
}

/// What is trained.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// Dense layers of these sizes, from the inputs to the classes, with `ReLU` between them.
    Dense(Vec<usize>),
    /// Chapter 5's convolutions, with this fraction of dropout.
    Cnn(f64),
    /// Its residual network, whose batch normalisations take the mean of the images that a rank has at a time.
    Resnet,
    /// Its recurrent network.
    Rnn,
    /// Its transformer.
    Transformer,
}

/// A network and how it is trained.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What is trained.
    pub network: Network,
    /// Of the first weights.
    pub seed: u64,
    /// How the parameters move.
    pub rule: Rule,
}

impl Job {
    /// The network with its first weights. Every rank makes it from the seed, and so needs no message to have it.
    ///
    /// # Errors
    /// [`Error::Config`] if the sizes are no network.
    pub fn model(&self) -> Result<Model> {
        Ok(self.cut(1, Of::new(0, 1))?.0)
    }

    /// Numbers of an image, and classes.
    fn ends(&self) -> [usize; 2] {
        match &self.network {
            Network::Dense(sizes) => [sizes[0], sizes[sizes.len() - 1]],
            _ => [784, 10],
        }
    }
}

impl Shared for Job {
    fn cut(&self, stages: usize, of: Of) -> Result<(Model, Vec<usize>)> {
        let model = match &self.network {
            Network::Dense(sizes) => return tensor::dense(sizes, self.seed, stages, of),
            Network::Transformer => tensor::transformer(self.seed, of)?,
            _ if of.count > 1 => {
                return Err(Error::Config(format!(
                    "convolutions and recurrent layers are not cut over {} ranks; take dense layers or the transformer, or \
                     another way to split",
                    of.count
                )));
            }
            Network::Cnn(dropout) => model::cnn(self.seed, *dropout),
            Network::Resnet => model::resnet(self.seed),
            Network::Rnn => model::rnn(self.seed),
        };
        let counts = each_stage(model.ops.len(), stages)?;
        Ok((model, counts))
    }

    fn rule(&self, _: &Params) -> rule::Rule {
        self.rule.of_engine()
    }

    fn seed(&self) -> u32 {
        self.seed as u32
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

impl From<(Vec<f32>, Vec<u8>)> for Batch {
    fn from((x, labels): (Vec<f32>, Vec<u8>)) -> Self {
        Self { x, labels }
    }
}

impl Batch {
    /// Random images of so many numbers, of so many classes.
    pub fn random(random: &mut SplitMix64, rows: usize, [inputs, classes]: [usize; 2]) -> Self {
        let x = (0..rows * inputs).map(|_| random.unit() as f32).collect();
        Self { x, labels: (0..rows).map(|_| random.below(classes) as u8).collect() }
    }

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

    /// Fails for what is no batch of a network with so many inputs and classes.
    ///
    /// # Errors
    /// [`Error::Backprop`] if it is empty, [`Error::Config`] otherwise.
    pub fn fits(&self, [inputs, classes]: [usize; 2]) -> Result<()> {
        not_empty(self)?;
        let rows = self.len();
        if self.x.len() != rows * inputs || self.labels.iter().any(|l| usize::from(*l) >= classes) {
            return Err(Error::Config(format!(
                "{} numbers and {rows} labels are no batch of this network; give {inputs} numbers and a label below {classes} \
                 for each image",
                self.x.len()
            )));
        }
        Ok(())
    }

    /// Its labels as the engine reads them.
    pub fn words(&self) -> Vec<u32> {
        self.labels.iter().copied().map(u32::from).collect()
    }
}

/// What training came to: the whole network's parameters, and the loss of each batch before its step.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// All parameters and what is kept, tensor by tensor, as a file has them.
    pub parameters: Vec<f32>,
    /// The mean loss of each batch.
    pub losses: Vec<f64>,
}

/// Trains on one device, by chapter 5's own step: what every split has to be equal to.
///
/// # Errors
/// [`Error::Backprop`] and [`Error::Config`] if the network and the batches do not fit.
pub fn one_device(job: &Job, batches: &[Batch]) -> Result<Trained> {
    let mut step = Step::on(Cpu::new(1), job.model()?, job.seed as u32, job.rule.of_engine());
    let mut losses = Vec::new();
    for batch in batches {
        batch.fits(job.ends())?;
        let rows = batch.len();
        step.fill(rows, &batch.x, &batch.words());
        step.gradient(rows, Numbers::F32);
        losses.push(f64::from(step.metrics(rows, Numbers::F32)[0]) / rows as f64);
        step.update(0.0); // the rule knows its rate
    }
    Ok(Trained { parameters: step.to_file(Place::Params), losses })
}

/// Fails for a batch without images, which has no mean loss.
///
/// # Errors
/// [`Error::Backprop`].
pub fn not_empty(batch: &Batch) -> Result<()> {
    if batch.is_empty() { Err(backprop::Error::EmptyBatch.into()) } else { Ok(()) }
}
