//! The engine behind chapter 4's training: the same models, first weights, order, schedule, optimizers and files. `train` takes
//! it where it can.

use crate::engine::{
    cpu::Ways,
    model::{self, Model as Ops},
    program::Numbers,
    step::{Step, Update, adam},
    tensor::Place,
};
use backprop::softmax::best;
use dfdx::prelude::*;
use matmul::parallel;
use std::cell::{Cell, RefCell};
use training::{
    EngineKind, Error, Model, Result, Settings,
    any::AllModels as _,
    autocast::{Operands, operands},
    checkpoint::Checkpoint,
    model::{CLASSES, Images, Logits, PIXELS, Targets},
    optimizer::{self, Rule, State},
    step::{Batch, Learner, Scores, Stepper},
};

/// A model of chapter 4 in training by the engine.
pub struct Engine {
    /// Predictions take the same memory as a step.
    step: RefCell<Step>,
    dev: Cpu,
    rule: Rule,
    /// Whether the gradients are those of a step. They stay until the next one, and count as zero here.
    fresh: Cell<bool>,
}

/// The operations of a model; no weights of a file, but some.
pub fn operations(model: Model, dropout: f64) -> Ops {
    match model {
        Model::Linear => model::linear(1),
        Model::Mlp => model::mlp(1, dropout),
        Model::Cnn => model::cnn(1, dropout),
        Model::Rnn => model::rnn(1),
        Model::Transformer => model::transformer(1),
        Model::Resnet => model::resnet(1),
    }
}

/// What the settings' engine makes on a CPU.
///
/// # Errors
/// As [`Engine::new`].
pub fn by_engine(dev: &Cpu, settings: &Settings) -> Result<Box<dyn Learner<Device = Cpu>>> {
    match settings.engine {
        EngineKind::Plain => dev.learner(settings),
        EngineKind::Fast => Ok(Box::new(Engine::new(dev, settings)?)),
    }
}

/// What a product reads while chapter 4's [`autocast`](mod@training::autocast) is around a step, and the factor.
fn numbers() -> (Numbers, f32) {
    match operands() {
        Operands::F32 => (Numbers::F32, 1.0),
        Operands::Bf16 => (Numbers::Bf16, 1.0),
        Operands::F16 { scale } => (Numbers::F16, scale),
    }
}

/// Chapter 4's rules on some parameters.
fn update(rule: Rule, decay: f32) -> impl Fn(Update) + Send + Sync {
    move |Update { step, rate, clip, first, p, means: [m, v], g }| {
        if decay > 0.0 && rule == Rule::AdamW {
            for p in &mut *p {
                *p -= rate * decay * *p;
            }
        } else if decay > 0.0 {
            g.iter_mut().zip(&*p).for_each(|(g, p)| *g += decay * p);
        }
        match rule {
            Rule::Sgd => optimizer::sgd(rate, p, g),
            Rule::Momentum => optimizer::momentum(rate, p, m, g),
            Rule::RmsProp => optimizer::rmsprop(rate, p, m, g),
            Rule::Adam | Rule::AdamW => {
                adam(Update { step, rate, clip, first, p, means: [m, v], g });
            }
        }
    }
}

impl Engine {
    /// The settings' model with the weights that the device's seed gives, as chapter 4 builds it, and an optimizer that has
    /// seen nothing. It takes as many threads as the pool around it has: a replica has its part of the cores.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory.
    pub fn new(dev: &Cpu, settings: &Settings) -> Result<Self> {
        let first = dev.learner(settings)?.parameters()?;
        let threads = rayon::current_num_threads().min(parallel::available());
        let model = operations(settings.model, settings.dropout);
        let rule = update(settings.optimizer, settings.decay as f32);
        let mut step = Step::new(model, threads, Ways::default(), settings.seed as u32, rule);
        step.from_file(Place::Params, &first);
        let (step, fresh) = (RefCell::new(step), Cell::new(false));
        Ok(Self { step, dev: dev.clone(), rule: settings.optimizer, fresh })
    }

    /// Forward and backward on the first `rows` images of the batch. The scores, (rows, 10) in a row.
    fn passes(&mut self, rows: usize) -> Vec<f32> {
        let (step, (numbers, scale)) = (self.step.get_mut(), numbers());
        step.set_scale(scale);
        self.fresh.set(true);
        step.gradient(rows, numbers)
    }

    /// [`Engine::passes`], and the update.
    fn train(&mut self, rows: usize, lr: f64) -> Scores {
        let scores = self.passes(rows);
        self.update(lr)?;
        Ok(scores)
    }

    /// Fills the batch. Returns its images' number.
    fn fill(&mut self, images: &Images<Cpu>, targets: &Targets<Cpu>) -> usize {
        let rows = images.shape().0;
        let (to, labels) = self.step.get_mut().batch(rows);
        images.copy_into(to);
        let truth = targets.as_vec();
        for (label, row) in labels.iter_mut().zip(truth.chunks_exact(CLASSES)) {
            *label = best(row) as u32;
        }
        rows
    }
}

impl Learner for Engine {
    fn skip(&self, _: &Cpu, steps: usize) {
        self.step.borrow_mut().skip(steps as u32);
    }

    fn gradients(&mut self, images: Images<Cpu>, targets: Targets<Cpu>) -> Result<Logits<Cpu>> {
        let rows = self.fill(&images, &targets);
        let scores = self.passes(rows);
        self.dev.try_tensor_from_vec(scores, (rows, Const)).map_err(Error::device)
    }

    /// In the engine's own order, which all ranks share.
    fn pack(&self, row: &mut Vec<f32>) -> Result<()> {
        let step = self.step.borrow();
        let gradient = step.all(Place::Gradient);
        if self.fresh.get() {
            row.extend_from_slice(gradient);
        } else {
            row.resize(row.len() + gradient.len(), 0.0);
        }
        row.extend_from_slice(step.all(Place::Kept));
        Ok(())
    }

    fn unpack(&mut self, row: &[f32]) -> Result<()> {
        let step = self.step.get_mut();
        let gradient = step.all_mut(Place::Gradient);
        let (own, kept) = row.split_at(gradient.len());
        gradient.copy_from_slice(own);
        step.all_mut(Place::Kept).copy_from_slice(kept);
        self.fresh.set(true);
        Ok(())
    }

    fn update(&mut self, lr: f64) -> Result<()> {
        self.step.get_mut().update(lr as f32);
        self.discard()
    }

    fn discard(&mut self) -> Result<()> {
        self.fresh.set(false);
        Ok(())
    }
}

impl Stepper for Engine {
    type Device = Cpu;

    fn step(&mut self, lr: f64, images: Images<Cpu>, targets: Targets<Cpu>) -> Scores {
        let rows = self.fill(&images, &targets);
        self.train(rows, lr)
    }

    fn step_on(&mut self, lr: f64, batch: &Batch<Cpu>) -> Scores {
        let Batch { data, index, changed } = batch;
        if changed.is_some() {
            return self.step(lr, batch.images()?, data.targets(index)?);
        }
        let image = |at: usize| &data.rows()[index[at] * PIXELS..][..PIXELS];
        self.step.get_mut().gather(index.len(), image, |at| data.label(index[at]));
        self.train(index.len(), lr)
    }

    fn scores(&self, images: Images<Cpu>) -> Result<Vec<f32>> {
        let mut step = self.step.borrow_mut();
        let rows = images.shape().0;
        images.copy_into(step.batch(rows).0);
        Ok(step.predict(rows))
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        Ok(self.step.borrow().to_file(Place::Params))
    }

    fn learned(&self) -> usize {
        self.step.borrow().model.params.learned()
    }

    fn state(&self) -> Result<State> {
        let step = self.step.borrow();
        let means = [Place::Mean, Place::Square].into_iter().take(self.rule.memory());
        let slots = means.map(|mean| step.to_file(mean)).collect();
        Ok(State { t: step.updates() as i32, slots })
    }

    fn restore(&mut self, dev: &Cpu, saved: &Checkpoint) -> Result<()> {
        // The same masks as in the run's first life.
        self.skip(dev, saved.header.steps as usize);
        let (count, slots) = (self.learned(), &saved.optimizer.slots);
        let tensors = &self.step.get_mut().model.params.tensors;
        let all: usize = tensors.iter().map(|named| named.tensor.words()).sum();
        let whole = slots.iter().all(|slot| slot.len() == count) && saved.weights.len() == all;
        if !whole || slots.len() != self.rule.memory() {
            return Err(Error::Config(format!(
                "{} keeps {} values for each of {count} parameters, and the checkpoint has others",
                self.rule,
                self.rule.memory()
            )));
        }
        let step = self.step.get_mut();
        step.set_updates(saved.optimizer.t as u32);
        step.from_file(Place::Params, &saved.weights);
        for (mean, slot) in [Place::Mean, Place::Square].into_iter().zip(slots) {
            step.from_file(mean, slot);
        }
        Ok(())
    }
}
