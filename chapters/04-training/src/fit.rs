//! The loop: forward, backward, update, and after each epoch the test.
//!
//! A run's result is a function of its settings, the data set and the device: on one machine's CPU it is the
//! same bit for bit, whatever the number of threads, and whether or not it was interrupted.

use crate::{
    Error, Result,
    checkpoint::{self, Checkpoint, Header, LossScale},
    cnn::Cnn,
    config::{Config, Model, Precision, Settings, Start},
    engine::{Engine, Resident},
    linear::Linear,
    loss::Tally,
    memory,
    mlp::Mlp,
    model::{self, Images, Network, Targets},
    optimizer::{Optimizer, State},
    order::order,
    resnet::Resnet,
    rnn::Rnn,
    run::{self, Folder},
    schedule::rate,
    team::{Alone, Team},
    transformer::Transformer,
    watch::{Begin, Epoch, Step, Watcher},
};
use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};
use lab::{
    Device,
    data::{self, DataSet, Source, Split},
    machine::Provenance,
};
use sha2::{Digest, Sha256};
use std::{borrow::Cow, fmt::Write as _, path::PathBuf, time::Instant};

/// A batch whose loss is above this learns nothing any more: a thousand times the loss of a model that
/// has no idea.
const EXPLODED: f64 = 2303.0;

/// Pictures that are tested at once.
const TEST_BATCH: usize = 250;

/// What a run has reached.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The metrics of each epoch.
    pub history: Vec<Epoch>,
    /// Seconds of training and testing, those before a resume included.
    pub seconds: f64,
    /// The data set, in words.
    pub data: String,
    /// Where the data set came from.
    pub source: Source,
    /// Where it was computed.
    pub device: Device,
    /// The model.
    pub model: Model,
    /// Its parameters, in the order of [`model::parameters`].
    pub weights: Vec<f32>,
    /// How many of them it has learned.
    pub learned: usize,
    /// Where the run left its files, if it has a folder.
    pub run: Option<PathBuf>,
    /// Epoch and step (from 1) after which it was stopped, if it was.
    pub stopped: Option<(usize, usize)>,
    /// The epoch whose weights these are, if it is not the last: the best one on pictures held back.
    pub best: Option<usize>,
    /// The factor before its losses, if it had one.
    pub loss_scale: Option<LossScale>,
}

impl Outcome {
    /// The epoch whose weights were kept.
    pub fn kept(&self) -> Option<&Epoch> {
        match self.best {
            Some(best) => self.history.iter().find(|epoch| epoch.epoch == best),
            None => self.history.last(),
        }
    }

    /// The share of test pictures that the weights read correctly.
    pub fn test_accuracy(&self) -> Option<f64> {
        self.kept().map(|epoch| epoch.test_accuracy)
    }

    /// The last line of `train`: `test accuracy 97.62% after 10 epochs in 12.3 s`.
    pub fn summary(&self) -> String {
        let epochs = self.history.len();
        let Some(accuracy) = self.test_accuracy() else {
            return format!(
                "stopped before the end of the first epoch, after {:.1} s",
                self.seconds
            );
        };
        format!(
            "test accuracy {:.2}% after {epochs} epoch{} in {:.1} s",
            100.0 * accuracy,
            if epochs == 1 { "" } else { "s" },
            self.seconds
        )
    }
}

/// Finds the data set and trains on it.
///
/// # Errors
/// A choice that can't work, a data set or a folder that can't be used, a checkpoint that does not fit, a
/// loss that diverges: each an [`Error`] with the way out.
pub fn train(config: &Config, watcher: &mut dyn Watcher) -> Result<Outcome> {
    config.settings.check()?;
    let options = data::Options { folder: config.data.clone(), ..data::Options::default() };
    train_on(config, &data::load(&options)?, watcher)
}

/// [`train`], on a data set that is already there.
///
/// # Errors
/// As [`train`].
pub fn train_on(config: &Config, data: &DataSet, watcher: &mut dyn Watcher) -> Result<Outcome> {
    config.settings.check()?;
    if config.settings.precision != Precision::F32 {
        return Err(Error::Config(format!(
            "chapter 4 trains in f32 alone; --precision {} is chapter 6's `mixed_precision::amp`",
            config.settings.precision
        )));
    }
    let seed = config.settings.seed;
    // ANCHOR: device
    match config.device {
        Device::Cpu => train_with(&Cpu::seed_from_u64(seed), config, data, watcher),
        #[cfg(feature = "cuda")]
        Device::Cuda(index) => {
            train_with(&crate::engine::cuda(index, seed)?, config, data, watcher)
        }
        #[cfg(not(feature = "cuda"))]
        Device::Cuda(index) => Err(Error::Config(format!(
            "this build has no cuda:{index}; use --device cpu, \
             or build with --features cuda"
        ))),
    }
    // ANCHOR_END: device
}

/// SHA-256 of the pictures and labels that a run learns from.
pub fn fingerprint(split: &Split) -> String {
    let mut sha = Sha256::new();
    sha.update((split.labels.len() as u64).to_le_bytes());
    sha.update(&split.images);
    sha.update(&split.labels);
    sha.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The scores of a batch's pictures, on the host.
pub type Scores = Result<Vec<f32>>;

/// What learns in a run: a model and its optimizer, in a number format. It is
/// just built, on a device that is freshly seeded. Errors are the device's.
#[allow(clippy::missing_errors_doc)]
// ANCHOR: stepper
pub trait Stepper<D: Engine> {
    /// Takes one step at this learning rate, and returns the batch's scores.
    fn step(&mut self, lr: f64, images: Images<D>, truth: Targets<D>) -> Scores;

    /// The scores for pictures that it does not learn from.
    fn scores(&self, images: Images<D>) -> Result<Vec<f32>>;

    /// All numbers of the model, as [`model::parameters`] has them.
    fn parameters(&self) -> Result<Vec<f32>>;

    /// How many of them it learns.
    fn learned(&self) -> usize;

    /// What its optimizer remembers.
    fn state(&self) -> Result<State>;

    /// The factor before its losses, if it has one: see chapter 6.
    fn loss_scale(&self) -> Option<LossScale> {
        None
    }

    /// Goes on from a checkpoint.
    fn restore(&mut self, dev: &D, saved: &Checkpoint) -> Result<()>;
}
// ANCHOR_END: stepper

/// A model of chapter 4 and its optimizer, both in f32.
pub struct Full<M, D: Engine> {
    /// The model.
    pub model: M,
    /// Its optimizer.
    pub optimizer: Optimizer<D>,
    /// Gradients of the parameters, all zero between steps. They are lent to a step.
    pub grads: Gradients<f32, D>,
}

impl<M: Network<D>, D: Engine> Full<M, D> {
    /// A model with random weights and an optimizer that has seen nothing.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory for them.
    pub fn new(dev: &D, settings: &Settings) -> Result<Self> {
        let mut model: M = model::build(dev)?;
        model.set_dropout(settings.dropout as f32);
        let optimizer = Optimizer::new(&model, settings.optimizer, settings.decay)?;
        let grads = model.try_alloc_grads().map_err(Error::device)?;
        Ok(Self { model, optimizer, grads })
    }
}

impl<M: Network<D>, D: Engine> Stepper<D> for Full<M, D> {
    // ANCHOR: step
    /// One step on a batch. Returns the scores that its loss is made of.
    fn step(&mut self, lr: f64, images: Images<D>, targets: Targets<D>) -> Scores {
        let grads = std::mem::replace(&mut self.grads, Gradients::leaky());
        // Forward: scores for each class, noting every operation on a tape.
        let scores = self.model.learn(images.traced(grads)).map_err(Error::device)?;
        let seen = scores.retaped::<NoneTape>();
        // Backward: the tape in reverse gives each weight's gradient.
        let mut grads = cross_entropy_with_logits_loss(scores, targets)
            .try_backward()
            .map_err(Error::device)?;
        // Update: every weight moves a little against its gradient.
        self.optimizer.update(lr, &mut self.model, &mut grads)?;
        self.model.try_zero_grads(&mut grads).map_err(Error::device)?;
        self.grads = grads;
        // Only now, when all is under way, wait for the device.
        Ok(seen.as_vec())
    }
    // ANCHOR_END: step

    fn scores(&self, images: Images<D>) -> Result<Vec<f32>> {
        Ok(self.model.predict(images).map_err(Error::device)?.as_vec())
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        model::parameters(&self.model)
    }

    fn learned(&self) -> usize {
        self.model.num_trainable_params()
    }

    fn state(&self) -> Result<State> {
        self.optimizer.state(&self.model)
    }

    // ANCHOR: resume
    /// Goes on from a checkpoint, just built on a device that is freshly
    /// seeded.
    fn restore(&mut self, dev: &D, saved: &Checkpoint) -> Result<()> {
        // The same draws as in the run's first life: weights, then masks.
        for _ in 0..M::DRAWS_PER_STEP * saved.header.steps as u64 {
            dev.random_u64();
        }
        model::set_parameters(&mut self.model, &saved.weights)?;
        self.optimizer.set_state(&self.model, &saved.optimizer)
    }
    // ANCHOR_END: resume
}

/// [`train_on`], on a device of one kind, its random numbers freshly seeded.
fn train_with<D: Engine>(
    dev: &D,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Outcome> {
    match config.settings.model {
        Model::Linear => train_network::<Linear<D>, D>(dev, config, data, watcher),
        Model::Mlp => train_network::<Mlp<D>, D>(dev, config, data, watcher),
        Model::Cnn => train_network::<Cnn<f32, D>, D>(dev, config, data, watcher),
        Model::Resnet => train_network::<Resnet<f32, D>, D>(dev, config, data, watcher),
        Model::Rnn => train_network::<Rnn<f32, D>, D>(dev, config, data, watcher),
        Model::Transformer => train_network::<Transformer<f32, D>, D>(dev, config, data, watcher),
    }
}

/// [`train_on`], with any network on a device that is freshly seeded: a reader's own, or chapter 5's faster one. The
/// settings' model is then no more than a name.
///
/// # Errors
/// As [`train`].
pub fn train_network<M: Network<D>, D: Engine>(
    dev: &D,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Outcome> {
    let stepper = Full::<M, D>::new(dev, &config.settings)?;
    train_stepper(stepper, dev, config, data, watcher)
}

/// [`train_on`] with a stepper of the caller's, which decides how a step computes: it was just built on `dev`, which
/// was freshly seeded.
///
/// # Errors
/// As [`train`].
pub fn train_stepper<S: Stepper<D>, D: Engine>(
    stepper: S,
    dev: &D,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Outcome> {
    train_team(stepper, &Alone, dev, config, data, watcher)
}

/// The training pictures that a run with these settings sees.
pub fn seen<'d>(settings: &Settings, data: &'d DataSet) -> Cow<'d, Split> {
    match settings.limit {
        Some(limit) => Cow::Owned(data.train.first(limit)),
        None => Cow::Borrowed(&data.train),
    }
}

/// [`train_stepper`], as one of a [`Team`]. All of them have the same settings and the same data set; the one that
/// leads keeps the run's folder.
///
/// # Errors
/// As [`train`], and what the team fails with.
pub fn train_team<S: Stepper<D>, D: Engine>(
    stepper: S,
    team: &dyn Team,
    dev: &D,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Outcome> {
    memory::start_threads()?;
    let train = seen(&config.settings, data);
    let train = train.as_ref();
    let mark = fingerprint(train);
    let folder = config.run.as_deref().filter(|_| team.leads());
    let folder = folder.map(|path| Folder::open(path, config.start)).transpose()?;
    let saved = match (&folder, config.start) {
        (Some(folder), Start::Resume) => {
            let saved = Checkpoint::load(folder.path())?;
            checkpoint::check(folder.path(), &saved.header, &config.settings, &mark)?;
            Some(saved)
        }
        (None, Start::Resume) if team.leads() => {
            return Err(Error::Config("a run without a folder can't be resumed".into()));
        }
        _ => None,
    };
    let saved = match config.start {
        Start::Resume => team.saved(saved)?,
        Start::New | Start::Replace => saved,
    };
    let mut trainer = match saved {
        Some(saved) => Trainer::resume(stepper, dev, config.settings.clone(), saved)?,
        None => Trainer::new(stepper, config.settings.clone(), mark)?,
    };
    let (learn, held) = split(train, &config.settings)?;
    let learn = learn.as_ref().unwrap_or(train);
    let train = Resident::new(dev, learn)?;
    let train = if config.settings.augment { train.with_bytes(learn) } else { train };
    let held = held.as_ref().map(|held| Resident::new(dev, held)).transpose()?;
    let test = Resident::new(dev, &data.test)?;
    if config.device == Device::Cpu {
        let batch = config.settings.batch.min(train.len());
        memory::check(config.settings.model, team.part(batch).len())?;
    }
    let begin = Begin {
        settings: config.settings.clone(),
        device: config.device,
        data: data.about(),
        pictures: (train.len(), test.len()),
        held_back: held.as_ref().map_or(0, Resident::len),
        steps: train.len().div_ceil(config.settings.batch),
        done: (trainer.at.epoch, trainer.at.step),
        history: trainer.at.history.clone(),
    };
    if let (Some(folder), Start::New | Start::Replace) = (&folder, config.start) {
        trainer.checkpoint()?.save(folder.path())?; // first of all: without it the folder holds no run
    }
    watcher.begin(&begin);
    let about = match &folder {
        Some(_) => run::about(&begin, &trainer.at, trainer.stepper.learned()), // asks the system: not for every small run
        None => String::new(),
    };
    let mut clock = Clock { run: Instant::now(), saved: Instant::now() };
    let mut stopped = None;
    while !trainer.is_over() && stopped.is_none() {
        stopped = trainer.epoch(&train, team, config, folder.as_ref(), &mut clock, watcher)?;
        if stopped.is_none() {
            trainer.finish_epoch(&test, held.as_ref(), team, &mut clock)?;
            if let Some(folder) = &folder {
                trainer.checkpoint()?.save(folder.path())?;
                folder.metrics(&about, &trainer.at.history)?;
                clock.saved = Instant::now();
            }
            if let Some(epoch) = trainer.at.history.last() {
                watcher.epoch(epoch);
            }
        }
    }
    let outcome = Outcome {
        history: trainer.at.history.clone(),
        seconds: trainer.at.seconds,
        data: data.about(),
        source: data.source.clone(),
        device: config.device,
        model: config.settings.model,
        learned: trainer.stepper.learned(),
        weights: if trainer.best.is_empty() {
            trainer.stepper.parameters()?
        } else {
            trainer.best.clone()
        },
        run: folder.as_ref().map(|folder| folder.path().to_owned()),
        stopped,
        best: trainer.at.best,
        loss_scale: trainer.at.loss_scale,
    };
    if let Some(folder) = &folder {
        folder.metrics(&about, &trainer.at.history)?;
        folder.finish(&outcome)?;
    }
    watcher.end(&outcome);
    Ok(outcome)
}

/// When things last happened.
struct Clock {
    run: Instant,
    saved: Instant,
}

impl Clock {
    /// Seconds since the last call.
    fn lap(&mut self) -> f64 {
        let seconds = self.run.elapsed().as_secs_f64();
        self.run = Instant::now();
        seconds
    }
}

/// With patience, the first five sixths of the pictures to learn from, and the rest to see when to stop.
fn split(train: &Split, settings: &Settings) -> Result<(Option<Split>, Option<Split>)> {
    if settings.patience.is_none() {
        return Ok((None, None));
    }
    let held = train.len() / 6;
    if held == 0 {
        return Err(Error::Config(format!(
            "--patience holds back a sixth of the training pictures, and there are only {}",
            train.len()
        )));
    }
    let learn = train.first(train.len() - held);
    let held = Split {
        images: train.images[learn.images.len()..].to_vec(),
        labels: train.labels[learn.labels.len()..].to_vec(),
        ..*train
    };
    Ok((Some(learn), Some(held)))
}

/// A run in memory: what learns, and where it is.
struct Trainer<S> {
    stepper: S,
    /// The weights after the epoch [`Header::best`]; empty without one.
    best: Vec<f32>,
    /// The learning rate of the last step.
    lr: f64,
    at: Header,
}

impl<S> Trainer<S> {
    fn new<D: Engine>(stepper: S, settings: Settings, data: String) -> Result<Self>
    where
        S: Stepper<D>,
    {
        let at = Header {
            settings,
            data,
            epoch: 0,
            step: 0,
            steps: 0,
            loss_scale: stepper.loss_scale(),
            numbers: [stepper.parameters()?.len(), stepper.learned()],
            best: None,
            tally: Tally::default(),
            epoch_seconds: 0.0,
            seconds: 0.0,
            history: Vec::new(),
            started: Provenance::now().date,
        };
        Ok(Self { stepper, best: Vec::new(), lr: at.settings.lr, at })
    }

    /// Goes on from a checkpoint with a stepper that has just been built, as it was in the run's first life.
    fn resume<D: Engine>(
        mut stepper: S,
        dev: &D,
        settings: Settings,
        saved: Checkpoint,
    ) -> Result<Self>
    where
        S: Stepper<D>,
    {
        stepper.restore(dev, &saved)?;
        let at = Header { settings, ..saved.header };
        Ok(Self { stepper, best: saved.best, lr: at.settings.lr, at })
    }

    /// Whether there is nothing left to do: all epochs are over, or patience is.
    fn is_over(&self) -> bool {
        let since_best = self.at.best.map_or(0, |best| self.at.epoch - best);
        self.at.epoch >= self.at.settings.epochs
            || self.at.settings.patience.is_some_and(|patience| since_best >= patience)
    }

    /// Takes the steps of an epoch that are not taken yet. Returns epoch and step if the watcher stopped it.
    fn epoch<D: Engine>(
        &mut self,
        data: &Resident<D>,
        team: &dyn Team,
        config: &Config,
        folder: Option<&Folder>,
        clock: &mut Clock,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<(usize, usize)>>
    where
        S: Stepper<D>,
    {
        let Settings { batch, epochs, seed, .. } = self.at.settings;
        let epoch = self.at.epoch + 1;
        let steps = data.len().div_ceil(batch);
        let order = order(seed, epoch, data.len());
        for index in order.chunks(batch).skip(self.at.step) {
            self.lr = rate(&self.at.settings, self.at.steps as usize, epochs * steps);
            let loss = self.step(data, team, index)?;
            self.at.step += 1;
            self.at.steps += 1;
            // Written so that NaN stops too.
            if !matches!(loss, 0.0..=EXPLODED) {
                return Err(self.diverged(format!("the loss became {loss:.3e}")));
            }
            let (step, tally) = (self.at.step, self.at.tally);
            watcher.step(&Step { epoch, step, steps, loss, lr: self.lr, tally });
            if let Some(words) = team.warning() {
                watcher.warn(&words);
            }
            let stop = team.stops(watcher.stop());
            let due = clock.saved.elapsed() >= config.checkpoint_every;
            if stop || due {
                let lap = clock.lap();
                self.at.epoch_seconds += lap;
                self.at.seconds += lap;
                if let Some(folder) = folder {
                    self.checkpoint()?.save(folder.path())?;
                }
                clock.saved = Instant::now();
            }
            if stop {
                return Ok(Some((epoch, step)));
            }
        }
        // The clock stops when the device has done what it was given.
        data.device().try_synchronize().map_err(Error::device)?;
        let lap = clock.lap();
        self.at.epoch_seconds += lap;
        self.at.seconds += lap;
        Ok(None)
    }

    /// One step on the pictures with these numbers. Returns their mean loss.
    fn step<D: Engine>(
        &mut self,
        data: &Resident<D>,
        team: &dyn Team,
        index: &[usize],
    ) -> Result<f64>
    where
        S: Stepper<D>,
    {
        let index = &index[team.part(index.len())];
        let (images, targets) = (self.look(data, index)?, data.targets(index)?);
        let scores = self.stepper.step(self.lr, images, targets)?;
        self.at.loss_scale = self.stepper.loss_scale();
        let mut mine = Tally::default();
        mine.add(&scores, &data.labels(index));
        let all = team.counted(mine);
        self.at.tally += all;
        Ok(all.mean_loss())
    }

    /// The pictures with these numbers, changed a little if the settings say so.
    fn look<D: Engine>(&self, data: &Resident<D>, index: &[usize]) -> Result<Images<D>> {
        let Settings { augment, seed, .. } = self.at.settings;
        if augment { data.augmented(index, seed, self.at.epoch + 1) } else { data.images(index) }
    }

    // ANCHOR: test
    /// Loss and right answers on pictures that the model has not learned from.
    fn test<D: Engine>(&self, data: &Resident<D>, team: &dyn Team) -> Result<Tally>
    where
        S: Stepper<D>,
    {
        let mut tally = Tally::default();
        // All of the pictures, unless others take a part of them.
        let mine: Vec<usize> = team.part(data.len()).collect();
        for index in mine.chunks(TEST_BATCH) {
            // Without a tape there is no dropout and no gradient.
            let scores = self.stepper.scores(data.images(index)?)?;
            tally.add(&scores, &data.labels(index));
        }
        team.sum(tally)
    }
    // ANCHOR_END: test

    /// Tests the model and closes the epoch.
    fn finish_epoch<D: Engine>(
        &mut self,
        test: &Resident<D>,
        held: Option<&Resident<D>>,
        team: &dyn Team,
        clock: &mut Clock,
    ) -> Result<()>
    where
        S: Stepper<D>,
    {
        let tested = self.test(test, team)?;
        let held = held.map(|held| self.test(held, team)).transpose()?;
        for tally in [Some(&tested), held.as_ref()].into_iter().flatten() {
            if !matches!(tally.mean_loss(), 0.0..=EXPLODED) {
                let loss = tally.mean_loss();
                return Err(self.diverged(format!("the loss became {loss:.3e}")));
            }
        }
        self.at.seconds += clock.lap();
        let at = &mut self.at;
        at.epoch += 1;
        at.history.push(Epoch {
            epoch: at.epoch,
            train_loss: at.tally.mean_loss(),
            train_accuracy: at.tally.accuracy(),
            test_loss: tested.mean_loss(),
            test_accuracy: tested.accuracy(),
            validation_loss: held.as_ref().map(Tally::mean_loss),
            validation_accuracy: held.as_ref().map(Tally::accuracy),
            seconds: at.epoch_seconds,
            images_per_second: at.tally.seen as f64 / at.epoch_seconds,
        });
        (at.step, at.tally, at.epoch_seconds) = (0, Tally::default(), 0.0);
        if held.is_some() {
            let loss = |epoch: &Epoch| epoch.validation_loss.unwrap_or(f64::INFINITY);
            let (now, before) = at
                .history
                .split_last()
                .map_or((f64::INFINITY, &[][..]), |(now, before)| (loss(now), before));
            if before.iter().all(|epoch| now < loss(epoch)) {
                at.best = Some(at.epoch);
                self.best = self.stepper.parameters()?;
            }
        }
        Ok(())
    }

    /// `what` happened in the step that was taken last.
    fn diverged(&self, what: String) -> Error {
        let Header { epoch, step, steps, .. } = self.at;
        let Settings { lr: chosen, decay, .. } = self.at.settings;
        // Between two epochs it is the last step of the one that is over.
        let (epoch, step) = if step > 0 || epoch == 0 {
            (epoch + 1, step)
        } else {
            (epoch, steps as usize / epoch)
        };
        Error::Diverged { epoch, step, lr: self.lr, chosen, decay, what }
    }

    /// The run as it is now, on the host.
    fn checkpoint<D: Engine>(&self) -> Result<Checkpoint>
    where
        S: Stepper<D>,
    {
        let weights = self.stepper.parameters()?;
        let optimizer = self.stepper.state()?;
        // The loss shows a broken number only in the step after; such numbers must not replace good ones.
        if weights.iter().chain(optimizer.slots.iter().flatten()).any(|value| !value.is_finite()) {
            let what = "a weight or a mean of the optimizer became infinite or NaN";
            return Err(self.diverged(what.to_owned()));
        }
        Ok(Checkpoint { header: self.at.clone(), weights, optimizer, best: self.best.clone() })
    }
}
