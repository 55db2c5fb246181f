//! The engine behind chapter 4's training: the same models, first weights, order, schedule, optimizers and files. `train` takes
//! it where it can.

use crate::engine::{
    cpu::Ways,
    model::{self, Model as Ops},
    needs::Needs,
    program::Numbers,
    record::{Pass, pieces},
    step::{Step, Update, adam},
    tensor::Place,
};
use backprop::softmax::best;
use dfdx::prelude::*;
use matmul::parallel;
use std::{
    cell::{Cell, RefCell},
    ops::Range,
};
use training::{
    EngineKind, Error, Model, Precision, Result, Settings,
    any::AllModels as _,
    autocast::{Operands, operands},
    checkpoint::Checkpoint,
    fit::TEST_BATCH,
    memory,
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
    /// The most images that it takes at a time.
    most: usize,
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

/// Bytes of memory that a step by the settings takes on so many images: what chapter 4 measured of dfdx, or what the plan says.
pub fn bytes(settings: &Settings, images: usize) -> u64 {
    match settings.engine {
        EngineKind::Dfdx => memory::bytes(settings, images),
        EngineKind::Fast => needs(settings, images).total(),
    }
}

/// What the engine takes for a step by the settings, and for the predictions between steps.
pub fn needs(settings: &Settings, images: usize) -> Needs {
    let numbers = match settings.precision {
        Precision::F32 => Numbers::F32,
        Precision::Bf16 => Numbers::Bf16,
        Precision::Amp => Numbers::F16,
    };
    let most = settings.accumulate.unwrap_or(usize::MAX);
    let mut passes: Vec<Pass> =
        pieces(images, most).map(|piece| Pass::piece(&piece, numbers)).collect();
    passes.dedup(); // all pieces but the first and the last are alike
    let rows = TEST_BATCH.min(most);
    passes.push(Pass { rows, training: false, numbers: Numbers::F32, adds: false });
    Needs::of(&of(settings), &passes, threads())
}

/// The settings' model.
fn of(settings: &Settings) -> Ops {
    operations(settings.model, settings.dropout).recomputed(settings.recompute)
}

/// As many as the pool around has: a replica has its part of the cores.
pub fn threads() -> usize {
    rayon::current_num_threads().min(parallel::available())
}

/// What the settings' engine makes on a CPU.
///
/// # Errors
/// As [`Engine::new`].
pub fn by_engine(dev: &Cpu, settings: &Settings) -> Result<Box<dyn Learner<Device = Cpu>>> {
    match settings.engine {
        EngineKind::Dfdx => dev.learner(settings),
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
    move |Update { step, rate, p, means: [m, v], g }| {
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
            Rule::Adam | Rule::AdamW => adam(Update { step, rate, p, means: [m, v], g }),
        }
    }
}

impl Engine {
    /// The settings' model with the weights that the device's seed gives, as chapter 4 builds it, and an optimizer that has
    /// seen nothing.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory.
    pub fn new(dev: &Cpu, settings: &Settings) -> Result<Self> {
        let first = dev.learner(settings)?.parameters()?;
        let rule = update(settings.optimizer, settings.decay as f32);
        let seed = settings.seed as u32;
        let mut step = Step::new(of(settings), threads(), Ways::default(), seed, rule);
        step.from_file(Place::Params, &first);
        let (step, fresh) = (RefCell::new(step), Cell::new(false));
        let most = settings.accumulate.unwrap_or(usize::MAX);
        Ok(Self { step, dev: dev.clone(), rule: settings.optimizer, most, fresh })
    }

    /// Forward and backward on a batch of `images`, piece by piece; `fill` puts a
    /// piece where the step finds it. The scores, (images, 10) in a row.
    // ANCHOR: passes
    fn passes<F>(&mut self, images: usize, fill: F) -> Vec<f32>
    where
        F: Fn(&mut Step, Range<usize>),
    {
        let (step, (numbers, scale)) = (self.step.get_mut(), numbers());
        step.set_scale(scale);
        self.fresh.set(true);
        let mut scores = Vec::with_capacity(images * CLASSES);
        for piece in pieces(images, self.most) {
            fill(step, piece.clone());
            scores.extend(step.piece(piece, images, numbers));
        }
        scores
    }
    // ANCHOR_END: passes

    /// [`Engine::passes`] on tensors.
    fn learn(&mut self, images: &Images<Cpu>, targets: &Targets<Cpu>) -> Vec<f32> {
        let (pixels, truth) = (images.as_vec(), targets.as_vec());
        self.passes(images.shape().0, |step, piece| {
            let (to, labels) = step.batch(piece.len());
            to.copy_from_slice(&pixels[piece.start * PIXELS..piece.end * PIXELS]);
            let rows = truth.chunks_exact(CLASSES).skip(piece.start);
            labels.iter_mut().zip(rows).for_each(|(label, row)| *label = best(row) as u32);
        })
    }
}

impl Learner for Engine {
    fn skip(&self, _: &Cpu, steps: usize) {
        self.step.borrow_mut().skip(steps as u32);
    }

    fn gradients(&mut self, images: Images<Cpu>, targets: Targets<Cpu>) -> Result<Logits<Cpu>> {
        let scores = self.learn(&images, &targets);
        self.dev.try_tensor_from_vec(scores, (images.shape().0, Const)).map_err(Error::device)
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
        let scores = self.learn(&images, &targets);
        self.update(lr)?;
        Ok(scores)
    }

    fn step_on(&mut self, lr: f64, batch: &Batch<Cpu>) -> Scores {
        let Batch { data, index, changed } = batch;
        if changed.is_some() {
            return self.step(lr, batch.images()?, data.targets(index)?);
        }
        let scores = self.passes(index.len(), |step, piece| {
            let index = &index[piece];
            let image = |at: usize| &data.rows()[index[at] * PIXELS..][..PIXELS];
            step.gather(index.len(), image, |at| data.label(index[at]));
        });
        self.update(lr)?;
        Ok(scores)
    }

    fn scores(&self, images: Images<Cpu>) -> Result<Vec<f32>> {
        let (mut step, pixels) = (self.step.borrow_mut(), images.as_vec());
        let of = |piece: &[f32]| {
            let rows = piece.len() / PIXELS;
            step.batch(rows).0.copy_from_slice(piece);
            step.predict(rows)
        };
        Ok(pixels.chunks(self.most.saturating_mul(PIXELS)).flat_map(of).collect())
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
