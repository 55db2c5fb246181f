//! The engine behind chapter 4's training: the same models, first weights, order, schedule, optimizers and files. `train` takes
//! it where it can.

use crate::engine::{
    backend::{Backend, Form},
    cpu::Cpu as Cores,
    model::{self, Model as Ops},
    needs::Needs,
    program::Numbers,
    record::{Pass, pieces},
    rule::{Kernel, Rule as Moves, Update, adam},
    step::{Split, Step, Whole},
    tensor::Place,
};
use backprop::softmax::best;
use cpu_gpu::gpu;
use dfdx::prelude::*;
use engine_gpu::{Gpu, cast};
use lab::Device;
use matmul::parallel;
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    ops::Range,
};
use training::{
    EngineKind, Error, Model, Precision, Result, Settings,
    any::{AllModels as _, Made},
    checkpoint::Checkpoint,
    fit::TEST_BATCH,
    memory,
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

    /// Fills the batch's memory with a piece of a batch out of a data set; `kept` is which one, and which epoch's order, the
    /// device has.
    fn gather(step: &mut Step<Self>, kept: &mut Kept, batch: &Batch<Cpu>, piece: Range<usize>);

    /// A step on a batch that is one piece, in one program, if that pays: its scores, which come later.
    fn entire(
        _: &mut Step<Self>,
        _: &mut Kept,
        _: &Batch<Cpu>,
        _: (Numbers, f32),
    ) -> Option<Self::Fetching> {
        None
    }

    /// What failed on it.
    ///
    /// # Errors
    /// [`Error::Device`], [`Error::Team`].
    fn sound(&mut self) -> Result<()>;
}

impl Trains for Cores {
    const AHEAD: usize = 0;

    fn gather(step: &mut Step, _: &mut Kept, batch: &Batch<Cpu>, piece: Range<usize>) {
        let (data, index) = (batch.data, &batch.index()[piece]);
        let image = |at: usize| &data.rows()[index[at] * PIXELS..][..PIXELS];
        step.gather(index.len(), image, |at| data.label(index[at]));
    }

    fn sound(&mut self) -> Result<()> {
        self.told().map_err(Error::Team)
    }
}

impl Trains for Gpu<'_> {
    const AHEAD: usize = 2;

    fn gather(step: &mut Step<Self>, kept: &mut Kept, batch: &Batch<Cpu>, piece: Range<usize>) {
        keep(step, kept, batch);
        step.choose(batch.range.start + piece.start, piece.len());
    }

    fn entire(
        step: &mut Step<Self>,
        kept: &mut Kept,
        batch: &Batch<Cpu>,
        (numbers, rate): (Numbers, f32),
    ) -> Option<Self::Fetching> {
        keep(step, kept, batch);
        let rows = (batch.range.start, batch.range.len());
        let entire = step.entire(rows, numbers, (rate, None));
        Some(step.fetch_of(entire, 0))
    }

    fn sound(&mut self) -> Result<()> {
        self.told().map_err(|why| match why.downcast::<lab::Error>() {
            Ok(own) => Error::Device(own.to_string()),
            Err(others) => Error::Team(others),
        })
    }
}

/// Lets the device have the data set, and the order of the epoch.
fn keep(step: &mut Step<Gpu>, kept: &mut Kept, batch: &Batch<Cpu>) {
    let Batch { data, epoch, order, .. } = batch;
    // ANCHOR: kept
    let address = data.rows().as_ptr() as usize;
    if kept.0 != address {
        let label = |at| u32::from(data.label(at));
        step.keep(data.rows(), &(0..data.len()).map(label).collect::<Vec<_>>());
    }
    if *kept != (address, *epoch) {
        step.arrange(&order.iter().map(|at| *at as u32).collect::<Vec<_>>());
        *kept = (address, *epoch);
    }
    // ANCHOR_END: kept
}

/// A model of chapter 4 in training by the engine.
pub struct Engine<B: Trains = Cores> {
    /// Predictions take the same memory as a step.
    step: RefCell<Step<B>>,
    /// The data set and the order that the device has.
    kept: Kept,
    /// Scores of steps that were begun.
    begun: VecDeque<Vec<B::Fetching>>,
    dev: Cpu,
    rule: Rule,
    /// What the products of a step read.
    numbers: Numbers,
    /// The most images that it takes at a time.
    most: usize,
    /// Where the next images begin among those of a batch, and how many the batch has, if other ranks have the rest of it.
    part: Option<(usize, usize)>,
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

/// What the engine takes on the CPU for a step by the settings, and for the predictions between steps.
pub fn needs(settings: &Settings, images: usize) -> Needs {
    Needs::of(&of(settings), &passes(settings, images), Form::CPU, threads())
}

/// What the products of a step read.
pub fn numbers(precision: Precision) -> Numbers {
    match precision {
        Precision::F32 => Numbers::F32,
        Precision::Bf16 => Numbers::Bf16,
        Precision::Amp => Numbers::F16,
    }
}

/// The passes of a step by the settings, and that of predictions.
pub fn passes(settings: &Settings, images: usize) -> Vec<Pass> {
    let numbers = numbers(settings.precision);
    let most = settings.accumulate.unwrap_or(usize::MAX);
    let mut passes: Vec<Pass> =
        pieces(images, most).map(|piece| Pass::piece(&piece, numbers)).collect();
    passes.dedup(); // all pieces but the first and the last are alike
    let rows = TEST_BATCH.min(most);
    passes.push(Pass { rows, training: false, numbers: Numbers::F32, adds: false });
    passes
}

/// The settings' model.
pub fn of(settings: &Settings) -> Ops {
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
pub fn by_engine(dev: &Cpu, settings: &Settings) -> Made<Cpu> {
    match settings.engine {
        EngineKind::Dfdx => dev.learner(settings),
        EngineKind::Fast => Ok(Box::new(Engine::new(dev, settings)?)),
    }
}

/// What the settings' engine makes on a device of chapter 2.
///
/// # Errors
/// As [`open`].
pub fn on_device(dev: &Cpu, settings: &Settings, device: Device) -> Made<Cpu> {
    Ok(Box::new(Engine::on(open(device, settings, [1, 1])?, dev, settings)?))
}

/// Bytes of chapter 4's data set, which a device keeps beside all else.
const DATA: u64 = 60_000 * 4 * PIXELS as u64;

/// A device of chapter 2, for the steps of so many replicas, of which so many share it.
///
/// # Errors
/// [`Error::Device`] if it is not there or does not start; [`Error::Config`] if a step needs more memory than it has: it says
/// which would fit.
pub fn open(device: Device, settings: &Settings, replicas: [usize; 2]) -> Result<Gpu<'static>> {
    let gpu = gpu::open(&device.id()).map_err(|why| Error::Device(why.to_string()))?;
    // A run has one device, and takes it to the end of the program.
    let device = Gpu::new(&*Box::leak(gpu));
    // Replicas get their parts of a batch from the host.
    let data = if replicas[0] > 1 { 0 } else { DATA };
    let bytes = |rows: usize| data + cast::bytes(&of(settings), &passes(settings, rows));
    let fits = device.fits(settings.batch, "images", replicas, bytes);
    fits.map_err(|why| Error::Config(why.to_string())).map(|()| device)
}

/// Chapter 4's rules.
pub fn moves(rule: Rule, decay: f32) -> Moves {
    let kernel = match rule {
        Rule::Sgd => Kernel::Sgd,
        Rule::Momentum => Kernel::Momentum,
        Rule::RmsProp => Kernel::RmsProp,
        Rule::Adam => Kernel::Adam,
        Rule::AdamW => Kernel::AdamW,
    };
    let code = move |Update { step, rate, mut clip, first, p, means: [m, v], g }: Update| {
        let adaptive = matches!(rule, Rule::Adam | Rule::AdamW);
        if decay > 0.0 && rule == Rule::AdamW {
            for p in &mut *p {
                *p -= rate * decay * *p;
            }
        } else if decay > 0.0 || !adaptive && clip.to_bits() != 1.0_f32.to_bits() {
            g.iter_mut().zip(&*p).for_each(|(g, p)| *g = clip * *g + decay * p);
            clip = 1.0; // it is in the gradient
        }
        match rule {
            Rule::Sgd => optimizer::sgd(rate, p, g),
            Rule::Momentum => optimizer::momentum(rate, p, m, g),
            Rule::RmsProp => optimizer::rmsprop(rate, p, m, g),
            Rule::Adam | Rule::AdamW => {
                adam(Update { step, rate, clip, first, p, means: [m, v], g });
            }
        }
    };
    Moves::new(code, Some((kernel, decay)))
}

impl Engine {
    /// The settings' model with the weights that the device's seed gives, as chapter 4 builds it, and an optimizer that has
    /// seen nothing.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory.
    pub fn new(dev: &Cpu, settings: &Settings) -> Result<Self> {
        Self::on(Cores::new(threads()), dev, settings)
    }
}

impl<B: Trains> Engine<B> {
    /// [`Engine::new`] on a device.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn on(device: B, dev: &Cpu, settings: &Settings) -> Result<Self> {
        Self::split(device, dev, settings, of(settings), Box::new(Whole)).seeded(settings)
    }

    /// Any model in training by the settings' rule, by a rank that records as `split` does.
    pub fn split(
        device: B,
        dev: &Cpu,
        settings: &Settings,
        model: Ops,
        split: Box<dyn Split>,
    ) -> Self {
        let rule = moves(settings.optimizer, settings.decay as f32);
        let step = Step::split(device, model, settings.seed as u32, rule, split);
        let (step, fresh) = (RefCell::new(step), Cell::new(false));
        let (rule, most) = (settings.optimizer, settings.accumulate.unwrap_or(usize::MAX));
        let (kept, begun, part) = ((0, 0), VecDeque::new(), None);
        let (dev, numbers) = (dev.clone(), numbers(settings.precision));
        Self { step, kept, begun, dev, rule, numbers, most, part, fresh }
    }

    /// With the first weights of chapter 4's model.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn seeded(mut self, settings: &Settings) -> Result<Self> {
        let step = self.step.get_mut();
        step.from_file(Place::Params, &self.dev.learner(settings)?.parameters()?);
        step.device.sound()?;
        Ok(self)
    }

    /// Forward and backward on a batch of `images`, piece by piece; `fill` puts a
    /// piece where the step finds it. The pieces' scores, which come later.
    // ANCHOR: passes
    fn passes<F>(&mut self, images: usize, fill: F) -> Vec<B::Fetching>
    where
        F: Fn(&mut Step<B>, &mut Kept, Range<usize>),
    {
        let (step, numbers) = (self.step.get_mut(), self.numbers);
        self.fresh.set(true);
        let mut scores = Vec::new();
        for piece in pieces(images, self.most) {
            fill(step, &mut self.kept, piece.clone());
            let pass = step.piece(piece, images, numbers);
            scores.push(step.fetch(pass));
        }
        scores
    }
    // ANCHOR_END: passes

    /// The scores of all pieces, (images, 10) in a row, when they are there.
    fn fetched(&mut self, pieces: Vec<B::Fetching>) -> Scores {
        let step = self.step.get_mut();
        let scores = pieces.into_iter().flat_map(|piece| step.device.fetched(piece)).collect();
        step.device.sound()?;
        Ok(scores)
    }

    /// [`Engine::passes`] on tensors.
    fn learn(&mut self, images: &Images<Cpu>, targets: &Targets<Cpu>) -> Vec<B::Fetching> {
        // A rank without images has none to read.
        let (pixels, truth) = match images.shape().0 {
            0 => (Vec::new(), Vec::new()),
            _ => (images.as_vec(), targets.as_vec()),
        };
        let labels: Vec<u32> = truth.chunks_exact(CLASSES).map(|row| best(row) as u32).collect();
        if let Some(part) = self.part {
            let (step, numbers) = (self.step.get_mut(), self.numbers);
            self.fresh.set(true);
            step.shared(part, (&pixels, &labels), 1, numbers);
            return Vec::new(); // the pass counts what there is to count
        }
        self.passes(labels.len(), |step, _, piece| {
            let pixels = &pixels[piece.start * PIXELS..piece.end * PIXELS];
            step.fill(piece.len(), pixels, &labels[piece]);
        })
    }

    /// [`Engine::passes`] on images of the data set, changed if they are to be.
    fn learn_of(&mut self, batch: &Batch<Cpu>) -> Result<Vec<B::Fetching>> {
        if batch.changed.is_some() {
            return Ok(self.learn(&batch.images()?, &batch.data.targets(batch.index())?));
        }
        let fill = |step: &mut _, kept: &mut _, piece| B::gather(step, kept, batch, piece);
        Ok(self.passes(batch.range.len(), fill))
    }

    /// [`Engine::learn_of`] and the update.
    fn step_of(&mut self, lr: f64, batch: &Batch<Cpu>) -> Result<Vec<B::Fetching>> {
        if batch.changed.is_none() && batch.range.len() <= self.most {
            let how = (self.numbers, lr as f32);
            if let Some(scores) = B::entire(self.step.get_mut(), &mut self.kept, batch, how) {
                self.discard()?; // the gradients were taken
                return Ok(vec![scores]);
            }
        }
        let begun = self.learn_of(batch)?;
        self.update(lr)?;
        Ok(begun)
    }
}

impl<B: Trains> Learner for Engine<B> {
    fn skip(&self, _: &Cpu, steps: usize) {
        self.step.borrow_mut().skip(steps as u32);
    }

    fn part(&mut self, first: usize, images: usize) {
        self.part = Some((first, images));
    }

    fn set_scale(&mut self, factor: f32) {
        self.step.get_mut().set_scale(factor);
    }

    fn gradients(&mut self, images: Images<Cpu>, targets: Targets<Cpu>) -> Result<Logits<Cpu>> {
        let begun = self.learn(&images, &targets);
        let scores = self.fetched(begun)?;
        let rows = scores.len() / CLASSES; // none where all ranks count together
        self.dev.try_tensor_from_vec(scores, (rows, Const)).map_err(Error::device)
    }

    /// In the engine's own order, which all ranks share.
    fn pack(&self, row: &mut Vec<f32>) -> Result<()> {
        let step = &mut *self.step.borrow_mut();
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
        let begun = self.learn(&images, &targets);
        self.update(lr)?;
        self.fetched(begun)
    }

    fn step_on(&mut self, lr: f64, batch: &Batch<Cpu>) -> Scores {
        let begun = self.step_of(lr, batch)?;
        self.fetched(begun)
    }

    fn ahead(&self) -> usize {
        B::AHEAD
    }

    fn begin(&mut self, lr: f64, batch: &Batch<Cpu>) -> Result<Option<Vec<f32>>> {
        let begun = self.step_of(lr, batch)?;
        self.begun.push_back(begun);
        Ok(None)
    }

    fn end(&mut self) -> Scores {
        let begun = self.begun.pop_front().unwrap_or_default();
        self.fetched(begun)
    }

    fn scores(&self, images: Images<Cpu>) -> Result<Vec<f32>> {
        let (mut step, pixels) = (self.step.borrow_mut(), images.as_vec());
        let of = |piece: &[f32]| {
            let rows = piece.len() / PIXELS;
            step.fill(rows, piece, &[]);
            step.predict(rows)
        };
        let scores = pixels.chunks(self.most.saturating_mul(PIXELS)).flat_map(of).collect();
        step.device.sound()?;
        Ok(scores)
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        let mut step = self.step.borrow_mut();
        let params = step.to_file(Place::Params);
        step.device.sound()?;
        Ok(params)
    }

    fn learned(&self) -> usize {
        self.step.borrow().model.params.learned()
    }

    fn state(&self) -> Result<State> {
        let mut step = self.step.borrow_mut();
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
