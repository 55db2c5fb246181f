//! The engine behind chapter 4's training: the same models, first weights, order, schedule, optimizers and files. `train` takes
//! it where it can.

use crate::engine::{
    backend::Backend,
    cpu::{Cpu as Cores, Ways},
    model::{self, Model as Ops},
    plan::Plan,
    program::Numbers,
    record::Pass,
    step::{Kernel, Rule as Moves, Step, Update, adam, program},
    tensor::Place,
};
use backprop::softmax::best;
use cpu_gpu::gpu;
use dfdx::prelude::*;
use engine_gpu::Gpu;
use lab::{Device, Unit};
use matmul::parallel;
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};
use training::{
    EngineKind, Error, Model, Result, Settings,
    any::AllModels as _,
    autocast::{Operands, operands},
    checkpoint::Checkpoint,
    model::{CLASSES, Images, Logits, PIXELS, Targets},
    optimizer::{self, Rule, State},
    step::{Batch, Learner, Scores, Stepper},
};

/// The address of a data set, and an epoch.
type Kept = (usize, usize);

/// A device that the engine trains on, behind chapter 4's training.
pub trait Trains: Backend + Sized {
    /// Steps that may be begun before the scores of the first are asked for.
    const AHEAD: usize;

    /// Fills the batch with images of a data set; `kept` is which one, and which epoch's order, the device has.
    fn gather(step: &mut Step<Self>, kept: &mut Kept, batch: &Batch<Cpu>);

    /// What failed on it.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn sound(&self) -> Result<()> {
        Ok(())
    }
}

impl Trains for Cores {
    const AHEAD: usize = 0;

    fn gather(step: &mut Step, _: &mut Kept, batch: &Batch<Cpu>) {
        let (data, index) = (batch.data, batch.index());
        let image = |at: usize| &data.rows()[index[at] * PIXELS..][..PIXELS];
        step.gather(index.len(), image, |at| data.label(index[at]));
    }
}

impl Trains for Gpu<'_> {
    const AHEAD: usize = 2;

    fn gather(step: &mut Step<Self>, kept: &mut Kept, batch: &Batch<Cpu>) {
        let Batch { data, epoch, order, range, .. } = batch;
        let address = data.rows().as_ptr() as usize;
        if kept.0 != address {
            let labels: Vec<u32> = (0..data.len()).map(|at| u32::from(data.label(at))).collect();
            step.keep(data.rows(), &labels);
        }
        if *kept != (address, *epoch) {
            step.arrange(&order.iter().map(|at| *at as u32).collect::<Vec<_>>());
            *kept = (address, *epoch);
        }
        step.choose(range.start, range.len());
    }

    fn sound(&self) -> Result<()> {
        self.check().map_err(|why| Error::Device(why.to_string()))
    }
}

/// A model of chapter 4 in training by the engine.
pub struct Engine<B: Trains = Cores> {
    /// Predictions take the same memory as a step.
    step: RefCell<Step<B>>,
    /// The data set and the order that the device has.
    kept: Kept,
    /// Scores of steps that were begun.
    begun: VecDeque<B::Fetching>,
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

/// What the settings' engine makes on a device of chapter 2.
///
/// # Errors
/// [`Error::Device`] if it is not there or does not start; [`Error::Config`] if a step needs more memory than it has.
pub fn on_device(
    dev: &Cpu,
    settings: &Settings,
    device: Device,
) -> Result<Box<dyn Learner<Device = Cpu>>> {
    let gpu = gpu::open(&device.id()).map_err(|why| Error::Device(why.to_string()))?;
    // A run has one device, and takes it to the end of the program.
    let device = Gpu::new(&*Box::leak(gpu));
    let model = operations(settings.model, settings.dropout);
    fits(&device, &model, settings.batch)?;
    Ok(Box::new(Engine::on(device, model, dev, settings)?))
}

/// Bytes of chapter 4's data set, which a device keeps beside all else.
const DATA: u64 = 60_000 * 4 * PIXELS as u64;

/// Refuses a step that needs more memory than a device has, and says which would fit.
fn fits(device: &Gpu, model: &Ops, batch: usize) -> Result<()> {
    let bytes = |rows: usize| {
        let pass = Pass { rows, training: true, numbers: Numbers::F32 };
        let arena = Plan::new(&program(model, pass, device.form()), false).arena;
        DATA + 4 * (4 * model.params.words() + arena + rows * model.inputs) as u64
    };
    let free = device.free().map_err(|why| Error::Device(why.to_string()))?;
    let (needed, of) = (bytes(batch), |bytes: u64| Unit::Bytes.format(bytes as f64));
    if needed <= free {
        return Ok(());
    }
    let smaller = std::iter::successors(Some(batch / 2), |rows| Some(rows / 2));
    let fitting = smaller.take_while(|rows| *rows > 0).find(|rows| bytes(*rows) <= free);
    let way = fitting.map_or("--device cpu".to_owned(), |rows| format!("--batch {rows}"));
    Err(Error::Config(format!(
        "a step of {batch} images needs {} on {}, which has {} free; take {way}",
        of(needed),
        device.gpu().about().name,
        of(free)
    )))
}

/// What a product reads while chapter 4's [`autocast`](mod@training::autocast) is around a step, and the factor.
fn numbers() -> (Numbers, f32) {
    match operands() {
        Operands::F32 => (Numbers::F32, 1.0),
        Operands::Bf16 => (Numbers::Bf16, 1.0),
        Operands::F16 { scale } => (Numbers::F16, scale),
    }
}

/// Chapter 4's rules.
fn update(rule: Rule, decay: f32) -> Moves {
    let kernel = match rule {
        Rule::Sgd => Kernel::Sgd,
        Rule::Momentum => Kernel::Momentum,
        Rule::RmsProp => Kernel::RmsProp,
        Rule::Adam => Kernel::Adam,
        Rule::AdamW => Kernel::AdamW,
    };
    let code = move |Update { step, rate, p, means: [m, v], g }: Update| {
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
    };
    Moves::new(code, Some((kernel, decay)))
}

impl Engine {
    /// The settings' model with the weights that the device's seed gives, as chapter 4 builds it, and an optimizer that has
    /// seen nothing. It takes as many threads as the pool around it has: a replica has its part of the cores.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory.
    pub fn new(dev: &Cpu, settings: &Settings) -> Result<Self> {
        let threads = rayon::current_num_threads().min(parallel::available());
        let mut cores = Cores::new(threads);
        cores.ways = Ways::default();
        Self::on(cores, operations(settings.model, settings.dropout), dev, settings)
    }
}

impl<B: Trains> Engine<B> {
    /// [`Engine::new`] on a device, with the operations of the settings' model.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn on(device: B, model: Ops, dev: &Cpu, settings: &Settings) -> Result<Self> {
        let first = dev.learner(settings)?.parameters()?;
        let rule = update(settings.optimizer, settings.decay as f32);
        let mut step = Step::on(device, model, settings.seed as u32, rule);
        step.from_file(Place::Params, &first);
        step.device.sound()?;
        let (step, fresh) = (RefCell::new(step), Cell::new(false));
        let (kept, begun, rule) = ((0, 0), VecDeque::new(), settings.optimizer);
        Ok(Self { step, kept, begun, dev: dev.clone(), rule, fresh })
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
        self.step.get_mut().device.sound()?;
        Ok(scores)
    }

    /// Fills the batch with images of the data set, changed if they are to be. Returns their number.
    fn feed(&mut self, batch: &Batch<Cpu>) -> Result<usize> {
        if batch.changed.is_some() {
            return Ok(self.fill(&batch.images()?, &batch.data.targets(batch.index())?));
        }
        B::gather(self.step.get_mut(), &mut self.kept, batch);
        Ok(batch.index().len())
    }

    /// Fills the batch. Returns its images' number.
    fn fill(&mut self, images: &Images<Cpu>, targets: &Targets<Cpu>) -> usize {
        let (rows, truth) = (images.shape().0, targets.as_vec());
        let labels: Vec<u32> = truth.chunks_exact(CLASSES).map(|row| best(row) as u32).collect();
        self.step.get_mut().fill(rows, &images.as_vec(), &labels);
        rows
    }
}

impl<B: Trains> Learner for Engine<B> {
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
        let params = &step.model.params;
        if self.fresh.get() {
            row.extend_from_slice(&step.device.read(params.all(Place::Gradient)));
        } else {
            row.resize(row.len() + params.words(), 0.0);
        }
        row.extend_from_slice(&step.device.read(params.all(Place::Kept)));
        step.device.sound()
    }

    fn unpack(&mut self, row: &[f32]) -> Result<()> {
        let step = self.step.get_mut();
        let (own, kept) = row.split_at(step.model.params.words());
        for (place, values) in [(Place::Gradient, own), (Place::Kept, kept)] {
            step.device.write(step.model.params.all(place), values);
        }
        self.fresh.set(true);
        step.device.sound()
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

impl<B: Trains> Stepper for Engine<B> {
    type Device = Cpu;

    fn step(&mut self, lr: f64, images: Images<Cpu>, targets: Targets<Cpu>) -> Scores {
        let rows = self.fill(&images, &targets);
        self.train(rows, lr)
    }

    fn step_on(&mut self, lr: f64, batch: &Batch<Cpu>) -> Scores {
        let rows = self.feed(batch)?;
        self.train(rows, lr)
    }

    fn ahead(&self) -> usize {
        B::AHEAD
    }

    fn begin(&mut self, lr: f64, batch: &Batch<Cpu>) -> Result<Option<Vec<f32>>> {
        let rows = self.feed(batch)?;
        let (step, (numbers, scale)) = (self.step.get_mut(), numbers());
        step.set_scale(scale);
        let scores = step.begin(rows, numbers);
        self.begun.push_back(scores);
        self.update(lr)?;
        self.step.get_mut().device.sound()?;
        Ok(None)
    }

    fn end(&mut self) -> Scores {
        let step = self.step.get_mut();
        let scores = self.begun.pop_front().map(|scores| step.device.fetched(scores));
        step.device.sound()?;
        Ok(scores.unwrap_or_default())
    }

    fn scores(&self, images: Images<Cpu>) -> Result<Vec<f32>> {
        let mut step = self.step.borrow_mut();
        let rows = images.shape().0;
        step.fill(rows, &images.as_vec(), &[]);
        let scores = step.predict(rows);
        step.device.sound()?;
        Ok(scores)
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        let step = self.step.borrow();
        let params = step.to_file(Place::Params);
        step.device.sound()?;
        Ok(params)
    }

    fn learned(&self) -> usize {
        self.step.borrow().model.params.learned()
    }

    fn state(&self) -> Result<State> {
        let step = self.step.borrow();
        let means = [Place::Mean, Place::Square].into_iter().take(self.rule.memory());
        let slots = means.map(|mean| step.to_file(mean)).collect();
        step.device.sound()?;
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
        step.device.sound()
    }
}
