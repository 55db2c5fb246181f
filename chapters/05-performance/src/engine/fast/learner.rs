//! Chapter 4's training with the network in the store: the same model, first weights, order, schedule, optimizer and files,
//! from another engine. `train` takes it where it can.

use super::InPlace;
use crate::engine::{
    cached::Pieces,
    layer::{self, Behind, Team},
    networks::{FastCnn, FastResnet, FastTransformer},
    store::lend,
    update::{self, Rows},
};
use backprop::{
    adam::{Adam, Factors},
    softmax::best,
    train,
};
use dfdx::prelude::*;
use matmul::parallel;
use std::cell::{Cell, RefCell};
use training::{
    EngineKind, Error, Model, Result, Settings,
    any::AllModels as _,
    checkpoint::Checkpoint,
    linear::Linear,
    mlp::Mlp,
    model::{self, CLASSES, Images, Logits, Network, PIXELS, Targets},
    optimizer::{self, Rule, State},
    rnn::Rnn,
    step::{Full, Learner, Scores, Stepper},
};

/// A model of chapter 4 that is made of dense layers alone, trained in place.
pub struct Dense {
    /// Predictions borrow the parameters in the store as a step does.
    net: RefCell<InPlace>,
    /// Where the keys of the masks come from: one number for each step.
    dev: Cpu,
    rule: Rule,
    decay: f32,
    /// Whether the gradients are those of a step. They stay in the store until the next one, and count as zero here.
    fresh: Cell<bool>,
}

/// The sizes of a model's layers, if they are all dense.
pub fn sizes(model: Model) -> Option<Vec<usize>> {
    match model {
        Model::Linear => Some(vec![PIXELS, CLASSES]),
        Model::Mlp => Some(vec![PIXELS, 128, CLASSES]),
        Model::Cnn | Model::Resnet | Model::Rnn | Model::Transformer => None,
    }
}

/// What `train` computes with on a CPU: [`Dense`] for a model of dense layers; [`Pieces`] of a batch for those that treat
/// each image by itself, the convolutional network as [`FastCnn`] and the transformer as [`FastTransformer`]; and
/// [`FastResnet`], whose normalisation needs the whole batch at once.
///
/// # Errors
/// As [`Dense::new`].
pub fn fastest(dev: &Cpu, settings: &Settings) -> Result<Box<dyn Learner<Device = Cpu>>> {
    match settings.model {
        Model::Linear | Model::Mlp => Ok(Box::new(Dense::new(dev, settings)?)),
        Model::Cnn => Ok(Box::new(Pieces::<FastCnn<f32, Cpu>>::new(dev, settings, 16)?)),
        Model::Rnn => Ok(Box::new(Pieces::<Rnn<f32, Cpu>>::new(dev, settings, 64)?)),
        Model::Transformer => {
            Ok(Box::new(Pieces::<FastTransformer<f32, Cpu>>::new(dev, settings, 16)?))
        }
        Model::Resnet => Ok(Box::new(Full::<FastResnet<f32, Cpu>, Cpu>::new(dev, settings)?)),
    }
}

/// What the settings' engine makes on a CPU: [`fastest`], or chapter 4's own.
///
/// # Errors
/// As both.
pub fn by_engine(dev: &Cpu, settings: &Settings) -> Result<Box<dyn Learner<Device = Cpu>>> {
    match settings.engine {
        EngineKind::Plain => dev.learner(settings),
        EngineKind::Fast => fastest(dev, settings),
    }
}

/// The weights that the device's seed gives a model.
fn first<M: Network<Cpu>>(dev: &Cpu) -> Result<Vec<f32>> {
    model::parameters(&model::build::<M, Cpu>(dev)?)
}

/// Each layer's weights with their sides exchanged: dfdx keeps outputs×inputs, a product wants inputs×outputs.
fn turned(values: &[f32], sizes: &[usize], straight: bool) -> Vec<f32> {
    let mut turned = Vec::with_capacity(values.len());
    let mut rest = values;
    for pair in sizes.windows(2) {
        let (rows, cols) = if straight { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
        let (weights, after) = rest.split_at(rows * cols);
        let (bias, after) = after.split_at(pair[1]);
        turned
            .extend((0..cols).flat_map(|col| (0..rows).map(move |row| weights[row * cols + col])));
        turned.extend(bias);
        rest = after;
    }
    turned
}

/// This crate's error as chapter 4's.
#[allow(clippy::needless_pass_by_value, reason = "as `map_err` gives it")]
fn carried(error: backprop::Error) -> Error {
    Error::Config(error.to_string())
}

impl Dense {
    /// The settings' model with the weights that the device's seed gives, as `training` builds it, and an optimizer that
    /// has seen nothing.
    ///
    /// # Errors
    /// [`Error::Config`] for a model with other layers, or settings that cannot be; [`Error::Device`].
    pub fn new(dev: &Cpu, settings: &Settings) -> Result<Self> {
        let first = match settings.model {
            Model::Linear => first::<Linear<Cpu>>(dev)?,
            _ => first::<Mlp<Cpu>>(dev)?,
        };
        let sizes = sizes(settings.model).ok_or_else(|| {
            Error::Config(format!("{} has layers that are not dense", settings.model))
        })?;
        // As many threads as the pool around it has: a replica has its part of the cores.
        let mut team = Team::paying(&sizes, settings.batch);
        let most = rayon::current_num_threads().min(parallel::available());
        team = Team { products: team.products.min(most), passes: team.passes.min(most) };
        let first = turned(&first, &sizes, true);
        let own = train::Settings {
            sizes,
            batch: settings.batch,
            dropout: settings.dropout,
            seed: settings.seed,
            ..train::Settings::default()
        };
        Ok(Self {
            net: RefCell::new(InPlace::with(own, team, &first).map_err(carried)?),
            dev: dev.clone(),
            rule: settings.optimizer,
            decay: settings.decay as f32,
            fresh: Cell::new(false),
        })
    }

    /// Forward and backward. The scores, (batch, 10) in a row.
    fn passes(&mut self, images: &Images<Cpu>, targets: &Targets<Cpu>) -> Scores {
        let rows = images.shape().0;
        let net = self.net.get_mut();
        if rows > net.settings.batch {
            return Err(Error::Config(format!(
                "{rows} images came for a batch of {}",
                net.settings.batch
            )));
        }
        net.labels.clear();
        net.labels.extend(targets.as_vec().chunks_exact(CLASSES).map(|row| best(row) as u8));
        let places = net.places.clone();
        lend(&mut net.store, [&places.outputs[0]], |[x]| {
            images.copy_into(&mut x[..rows * PIXELS]);
            Ok::<_, backprop::Error>(())
        })
        .map_err(carried)?;
        net.passes(rows, self.dev.random_u64()).map_err(carried)?;
        self.fresh.set(true);
        let last = &places.outputs[net.layers.len()];
        lend(&mut net.store, [last], |[scores]| {
            Ok::<_, backprop::Error>(scores[..rows * CLASSES].to_vec())
        })
        .map_err(carried)
    }

    /// The gradients, the parameters or the optimizer's means, each as chapter 4 orders its own.
    fn read(&self, work: impl FnOnce([&[f32]; 4], &[usize]) -> Vec<f32>) -> Result<Vec<f32>> {
        let net = &mut *self.net.borrow_mut();
        let (places, sizes) = (net.places.clone(), net.settings.sizes.clone());
        lend(&mut net.store, [&places.p, &places.g, &places.m, &places.v], |[p, g, m, v]| {
            Ok::<_, backprop::Error>(work([p, g, m, v], &sizes))
        })
        .map_err(carried)
    }
}

impl Learner for Dense {
    fn skip(&self, dev: &Cpu, steps: usize) {
        for _ in 0..steps {
            dev.random_u64();
        }
    }

    fn gradients(&mut self, images: Images<Cpu>, targets: Targets<Cpu>) -> Result<Logits<Cpu>> {
        let scores = self.passes(&images, &targets)?;
        self.dev.try_tensor_from_vec(scores, (images.shape().0, Const)).map_err(Error::device)
    }

    /// In the store's own order, which all ranks share.
    fn pack(&self, row: &mut Vec<f32>) -> Result<()> {
        let fresh = self.fresh.get();
        row.extend(self.read(|[_, g, ..], _| if fresh { g.to_vec() } else { vec![0.0; g.len()] })?);
        Ok(())
    }

    fn unpack(&mut self, row: &[f32]) -> Result<()> {
        let net = self.net.get_mut();
        let places = net.places.clone();
        lend(&mut net.store, [&places.g], |[g]| {
            g.copy_from_slice(row);
            Ok::<_, backprop::Error>(())
        })
        .map_err(carried)?;
        self.fresh.set(true);
        Ok(())
    }

    fn update(&mut self, lr: f64) -> Result<()> {
        let (rule, decay, narrow) = (self.rule, self.decay, lr as f32);
        let net = self.net.get_mut();
        net.t += 1;
        let (places, t, threads) = (net.places.clone(), net.t, net.team.passes);
        lend(&mut net.store, [&places.p, &places.g, &places.m, &places.v], |[p, g, m, v]| {
            if decay > 0.0 && rule == Rule::AdamW {
                for p in p.iter_mut() {
                    *p -= narrow * decay * *p;
                }
            } else if decay > 0.0 {
                g.iter_mut().zip(&*p).for_each(|(g, p)| *g += decay * p);
            }
            match rule {
                Rule::Sgd => optimizer::sgd(narrow, p, g),
                Rule::Momentum => optimizer::momentum(narrow, p, m, g),
                Rule::RmsProp => optimizer::rmsprop(narrow, p, m, g),
                Rule::Adam | Rule::AdamW => {
                    let factors = Factors::new(&Adam { lr, ..Adam::default() }, t);
                    update::shared(Rows { p, moments: (m, v), g }, factors, false, threads);
                }
            }
            Ok::<_, backprop::Error>(())
        })
        .map_err(carried)?;
        self.discard()
    }

    fn discard(&mut self) -> Result<()> {
        self.fresh.set(false);
        Ok(())
    }
}

impl Stepper for Dense {
    type Device = Cpu;

    fn step(&mut self, lr: f64, images: Images<Cpu>, targets: Targets<Cpu>) -> Scores {
        let scores = self.passes(&images, &targets)?;
        self.update(lr)?;
        Ok(scores)
    }

    fn scores(&self, images: Images<Cpu>) -> Result<Vec<f32>> {
        let net = &mut *self.net.borrow_mut();
        let (team, layers) = (net.team, net.layers.clone());
        let mut rows = vec![0.0; images.shape().0 * PIXELS];
        images.copy_into(&mut rows);
        let p = net.places.p.clone();
        lend(&mut net.store, [&p], |[p]| {
            for (at, layer) in layers.iter().enumerate() {
                let sides = layer.sides;
                let mut y = vec![0.0; rows.len() / sides.inputs * sides.outputs];
                let own = (&p[layer.weights.clone()], &p[layer.bias.clone()]);
                let behind = if at + 1 < layers.len() { Behind::RELU } else { Behind::Nothing };
                layer::forward(&mut y, &rows, own, sides, behind, team)?;
                rows = y;
            }
            Ok::<_, backprop::Error>(rows)
        })
        .map_err(carried)
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        self.read(|[p, ..], sizes| turned(p, sizes, false))
    }

    fn learned(&self) -> usize {
        self.net.borrow().layers.last().map_or(0, |layer| layer.bias.end)
    }

    fn state(&self) -> Result<State> {
        let slots = [
            self.read(|[_, _, m, _], sizes| turned(m, sizes, false)),
            self.read(|[.., v], sizes| turned(v, sizes, false)),
        ];
        let slots = slots.into_iter().take(self.rule.memory()).collect::<Result<_>>()?;
        Ok(State { t: self.net.borrow().t, slots })
    }

    fn restore(&mut self, dev: &Cpu, saved: &Checkpoint) -> Result<()> {
        // The same draws as in the run's first life.
        self.skip(dev, saved.header.steps as usize);
        let count = self.learned();
        let kept = &saved.optimizer.slots;
        let whole = kept.iter().chain([&saved.weights]).all(|values| values.len() == count);
        if !whole || kept.len() != self.rule.memory() {
            return Err(Error::Config(format!(
                "{} keeps {} values for each of {count} parameters, and the checkpoint has others",
                self.rule,
                self.rule.memory()
            )));
        }
        let net = self.net.get_mut();
        net.t = saved.optimizer.t;
        let (places, sizes) = (net.places.clone(), net.settings.sizes.clone());
        lend(&mut net.store, [&places.p, &places.m, &places.v], |[p, m, v]| {
            p.copy_from_slice(&turned(&saved.weights, &sizes, true));
            for (to, from) in [m, v].into_iter().zip(kept) {
                to.copy_from_slice(&turned(from, &sizes, true));
            }
            Ok::<_, backprop::Error>(())
        })
        .map_err(carried)
    }
}
