//! From stock dfdx to the engine, one saving a rung, and what each is worth. All rungs train the same network: the tests check
//! that they are equal.

use crate::engine::{
    cpu::Ways,
    model::Model,
    ops::{Op, dense::Dense},
    program::Numbers,
    rule::Update,
    step::Step,
    tensor::Place,
};
use backprop::{
    Error, Result,
    adam::{Factors, fused},
    ladder::Rung,
    mlp::Mlp,
    train::{Examples, Learner, Settings, exploded},
};
use dfdx::prelude::*;
use matmul::parallel;
use training::{
    loss::Tally,
    mlp,
    model::{CLASSES, parameters, set_parameters},
    step::{Full, Stepper as _},
};

/// The network that is measured, by its name.
pub const NAME: &str = "784-128-10";
/// Its sizes.
pub const SIZES: [usize; 3] = [784, 128, 10];

/// Layers of these sizes, each but the last with `ReLU` and dropout. Files have their weights as chapter 3 has them.
pub fn layers(sizes: &[usize], dropout: f64) -> Model {
    Model::new(1, sizes[0], |p| {
        let last = sizes.len() - 2;
        let layer = |(at, pair): (usize, &[usize])| -> Box<dyn Op> {
            let layer = Dense::straight(p, &at.to_string(), pair[0], pair[1]);
            Box::new(if at == last { layer } else { layer.relu_dropout(dropout) })
        };
        sizes.windows(2).enumerate().map(layer).collect()
    })
}

/// Chapter 3's training by the engine.
pub struct Trained {
    step: Step,
    settings: Settings,
    /// What its products read.
    numbers: Numbers,
}

impl Trained {
    /// A network with the first weights of chapter 3's networks with the same settings.
    ///
    /// # Errors
    /// As [`Settings::check`].
    pub fn new(settings: Settings, threads: usize, ways: Ways) -> Result<Self> {
        settings.check()?;
        let first = Mlp::<f32>::new(&settings.sizes, settings.seed)?.parameters();
        let model = layers(&settings.sizes, settings.dropout);
        let rule = settings.rule;
        let update = move |Update { step, clip, p, means: [m, v], g, .. }: Update| {
            fused(Factors::new(&rule, step).clipped(clip), p, m, v, g);
        };
        let mut step = Step::new(model, threads, ways, settings.seed as u32, update);
        step.from_file(Place::Params, &first);
        Ok(Self { step, settings, numbers: Numbers::F32 })
    }

    // ANCHOR: step
    /// One step on the images with these numbers. Returns the sum of their losses.
    fn step(&mut self, data: &Examples, index: &[usize]) -> f64 {
        let (image, label) =
            (|at: usize| data.image(index[at]), |at: usize| data.labels[index[at]]);
        self.step.gather(index.len(), image, label);
        self.step.gradient(index.len(), self.numbers);
        let [loss, _right] = self.step.metrics(index.len(), self.numbers);
        self.step.update(self.settings.rule.lr as f32);
        f64::from(loss)
    }
    // ANCHOR_END: step
}

impl Learner for Trained {
    fn epoch(&mut self, data: &Examples, order: &[usize], epoch: usize) -> Result<f64> {
        let settings = self.settings.clone();
        each_batch(&settings, data, order, epoch, |index| Ok(self.step(data, index)))
    }

    fn model(&self) -> Result<Mlp<f32>> {
        let mut model = Mlp::zeros(&self.settings.sizes)?;
        model.set_parameters(&self.step.to_file(Place::Params))?;
        Ok(model)
    }
}

/// Takes the steps of an epoch. `step` returns the sum of its images' losses.
fn each_batch(
    settings: &Settings,
    data: &Examples,
    order: &[usize],
    epoch: usize,
    mut step: impl FnMut(&[usize]) -> Result<f64>,
) -> Result<f64> {
    let Settings { sizes, batch, rule, .. } = settings;
    data.check(sizes[0], sizes[sizes.len() - 1])?;
    data.check_order(order)?;
    let mut sum = 0.0;
    for (at, index) in order.chunks(*batch).enumerate() {
        let losses = step(index)?;
        let loss = losses / index.len() as f64;
        if exploded(loss) {
            return Err(Error::Diverged { epoch, step: at + 1, lr: rule.lr, loss });
        }
        sum += losses;
    }
    Ok(sum / order.len() as f64)
}

/// The same network by dfdx alone, as chapter 4 trains it with `--engine dfdx`.
struct Stock {
    dev: Cpu,
    network: Full<mlp::Mlp<Cpu>, Cpu>,
    settings: Settings,
}

/// A device's error as chapter 3's.
fn failed(error: impl std::fmt::Display) -> Error {
    Error::Config(format!("the device failed: {error}; a smaller batch needs less memory"))
}

/// Stock dfdx: its layers, its loss, its Adam.
///
/// # Errors
/// As [`Settings::check`]; [`Error::Config`] for other sizes than [`SIZES`].
pub fn stock(settings: Settings) -> Result<Box<dyn Learner>> {
    settings.check()?;
    if settings.sizes != SIZES {
        return Err(Error::Config(format!(
            "chapter 4's network has the sizes {SIZES:?}, not {:?}",
            settings.sizes
        )));
    }
    let dev = Cpu::seed_from_u64(settings.seed);
    let own = training::Settings { dropout: settings.dropout, ..training::Settings::default() };
    let mut network = Full::new(&dev, &own).map_err(failed)?;
    let first = turned(Mlp::new(&SIZES, settings.seed)?).parameters();
    set_parameters(&mut network.model, &first).map_err(failed)?;
    Ok(Box::new(Stock { dev, network, settings }))
}

/// Weights as dfdx has them, from those of chapter 3, or the other way round: each layer's with rows as columns.
fn turned(mut model: Mlp<f32>) -> Mlp<f32> {
    for layer in &mut model.layers {
        let (rows, cols) = (layer.inputs, layer.outputs);
        let from = layer.weights.clone();
        for (at, w) in layer.weights.iter_mut().enumerate() {
            *w = from[at % rows * cols + at / rows];
        }
    }
    model
}

impl Learner for Stock {
    fn epoch(&mut self, data: &Examples, order: &[usize], epoch: usize) -> Result<f64> {
        let settings = self.settings.clone();
        each_batch(&settings, data, order, epoch, |index| {
            let (images, labels) = data.batch(index);
            let mut truth = vec![0.0; labels.len() * CLASSES];
            for (row, label) in truth.chunks_exact_mut(CLASSES).zip(&labels) {
                row[usize::from(*label)] = 1.0;
            }
            let shape = (index.len(), Const);
            let images = self.dev.try_tensor_from_vec(images, shape).map_err(failed)?;
            let shape = (index.len(), Const);
            let truth = self.dev.try_tensor_from_vec(truth, shape).map_err(failed)?;
            let scores = self.network.step(settings.rule.lr, images, truth).map_err(failed)?;
            let mut tally = Tally::default();
            tally.add(&scores, &labels);
            Ok(tally.mean_loss() * index.len() as f64)
        })
    }

    fn model(&self) -> Result<Mlp<f32>> {
        let mut model = Mlp::zeros(&SIZES)?;
        for layer in &mut model.layers {
            std::mem::swap(&mut layer.inputs, &mut layer.outputs);
        }
        model.set_parameters(&parameters(&self.network.model).map_err(failed)?)?;
        let mut model = turned(model);
        for layer in &mut model.layers {
            std::mem::swap(&mut layer.inputs, &mut layer.outputs);
        }
        Ok(model)
    }
}

/// The engine with some of its savings.
fn rung(settings: Settings, threads: usize, ways: Ways) -> Result<Box<dyn Learner>> {
    Ok(Box::new(Trained::new(settings, threads, ways)?))
}

/// The last rung: the engine with all of them.
///
/// # Errors
/// As [`Settings::check`].
pub fn fastest(settings: Settings) -> Result<Box<dyn Learner>> {
    reading(settings, Numbers::F32)
}

/// [`fastest`], whose products read these numbers.
///
/// # Errors
/// As [`fastest`].
pub fn reading(settings: Settings, numbers: Numbers) -> Result<Box<dyn Learner>> {
    let trained = Trained::new(settings, parallel::available(), Ways::default())?;
    Ok(Box::new(Trained { numbers, ..trained }))
}

/// The rungs, from the slowest way to the fastest.
pub fn ladder() -> Vec<Rung> {
    // ANCHOR: ways
    const NONE: Ways = Ways { unused: false, fused: false, planned: false };
    const UNUSED: Ways = Ways { unused: true, ..NONE };
    const FUSED: Ways = Ways { fused: true, ..UNUSED };
    // ANCHOR_END: ways
    vec![
        Rung { key: "stock", name: "stock dfdx", learner: stock },
        Rung {
            key: "recorded",
            name: "calls that were written down",
            learner: |settings| rung(settings, 1, NONE),
        },
        Rung {
            key: "no_data_gradient",
            name: "no gradient of the data",
            learner: |settings| rung(settings, 1, UNUSED),
        },
        Rung { key: "fused", name: "calls fused", learner: |settings| rung(settings, 1, FUSED) },
        Rung {
            key: "planned",
            name: "numbers stay in place",
            learner: |settings| rung(settings, 1, Ways::default()),
        },
        Rung { key: "threads", name: "threads where they pay", learner: fastest },
    ]
}
