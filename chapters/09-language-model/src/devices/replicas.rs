//! Replicas in the place of a trainer in a user's run: rank 0 has the run, and the others follow it. They are threads of its
//! process or processes, each on its part of the cores or on a device.

use super::{how::How, rank::Rank};
use crate::{
    Config, Error, Layout, Model, Result, gpu,
    runner::memory,
    train::{
        Backend, Settings, Step, Trainer,
        adamw::Moments,
        batches::{self, Batch},
        trainer,
    },
};
use cpu_gpu::gpu::open;
use engine::{backend, cpu::Cpu, tensor::Place};
use engine_gpu::Gpu;
use lab::Device;
use matmul::parallel::available;
use mixed_precision::amp::scaler::{LossScale, Scaler};
use multi_gpu::{
    Communicator,
    comm::gpus::{Joined, over_nccl},
    communicator::Shared,
    replicas::run::device_of,
    split::group::{lock, size},
    threads::{Threads, together},
};
use serde::{Deserialize, Serialize};
use std::{
    sync::Arc,
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

/// Who has the run.
const LEADER: multi_gpu::Rank = multi_gpu::Rank(0);

/// Refuses replicas that can't share a batch of so many sequences.
///
/// # Errors
/// [`Error::Config`] for none, or for more than there are sequences.
pub fn can_share(replicas: usize, batch: usize) -> Result<()> {
    let most = batch.max(1);
    if (1..=most).contains(&replicas) {
        return Ok(());
    }
    Err(Error::Config(format!(
        "{replicas} replicas can't share a batch of {batch} sequences; take {most} at most"
    )))
}

/// Parameters and their two means.
const STATE: [Place; 3] = [Place::Params, Place::Mean, Place::Square];

/// What these places hold, and the factor in f16.
type State = ([Vec<f32>; 3], Option<Scaler>);

/// Where all ranks begin; the [`STATE`] comes behind it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Begin {
    config: Config,
    settings: Settings,
    step: u64,
    loss_scale: Option<LossScale>,
}

/// What rank 0 tells the others.
#[derive(Serialize, Deserialize)]
enum Order {
    Begin(Begin),
    /// A step on a batch, in a run of so many.
    Step(u64, Batch),
    End,
}

/// One of the ranks that train together.
pub struct Team<'g> {
    comm: Shared,
    /// None for the cores.
    pub gpu: Option<&'g dyn cpu_gpu::gpu::Gpu>,
    ranks: usize,
    /// How many of them share this rank's device, and so its memory.
    here: usize,
    /// What the user is told.
    told: Option<String>,
}

impl<'g> Team<'g> {
    /// A rank on a device, or on the cores. All do this at once.
    ///
    /// # Errors
    /// Those of the communicator.
    pub fn join(
        comm: impl Communicator + 'static,
        gpu: Option<&'g dyn cpu_gpu::gpu::Gpu>,
    ) -> Result<Self> {
        let device = gpu.map_or(Ok(Device::Cpu), |gpu| gpu.about().id.parse())?;
        let Joined { comm, told, here } = over_nccl(comm, device)?;
        let ranks = size(&comm).1;
        Ok(Self { comm, gpu, ranks, here, told })
    }

    /// Rank 0's: replicas of a trainer, at its step.
    ///
    /// # Errors
    /// As [`can_share`]; a sentence for more memory than there is; those of the device and of the other ranks.
    pub fn lead(&self, begun: &Trainer) -> Result<Replicas<'_>> {
        let Trainer { config, settings, step, scaler, .. } = *begun;
        can_share(self.ranks, settings.batch)?;
        let loss_scale = scaler.map(|scaler| scaler.state());
        let begin = Begin { config, settings, step, loss_scale };
        let state = STATE.map(|place| begun.transformer.step.to_file(place));
        self.tell(&Order::Begin(begin))?;
        let rank = self.begin(&begin, Some(state))?;
        Ok(Replicas { team: self, rank, settings, step, asked: false })
    }

    /// Another rank's: does what rank 0 does, to its end. `stop` is asked in every step whether all shall stop.
    ///
    /// # Errors
    /// As [`Team::lead`].
    pub fn follow(&self, stop: &mut dyn FnMut() -> bool) -> Result<()> {
        let mut rank: Option<Box<dyn Steps>> = None;
        loop {
            match self.hear()? {
                Order::Begin(begin) => {
                    drop(rank.take()); // its memory is the next one's
                    rank = Some(self.begin(&begin, None)?);
                }
                Order::Step(steps, batch) => {
                    self.asked(stop())?;
                    rank.as_mut().ok_or_else(unexpected)?.step(steps, &batch)?;
                }
                Order::End => return Ok(()),
            }
        }
    }

    /// Rank 0's: the others need not wait for more.
    ///
    /// # Errors
    /// Those of the communicator.
    pub fn end(&self) -> Result<()> {
        self.tell(&Order::End)
    }

    /// Rank 0 says what is done next.
    fn tell(&self, order: &Order) -> Result<()> {
        let mut bytes = serde_json::to_vec(order).map_err(|_| unexpected())?;
        Ok(lock(&self.comm).broadcast_bytes(LEADER, &mut bytes)?)
    }

    fn hear(&self) -> Result<Order> {
        let mut bytes = Vec::new();
        lock(&self.comm).broadcast_bytes(LEADER, &mut bytes)?;
        serde_json::from_slice(&bytes).map_err(|_| unexpected())
    }

    /// Whether a rank was asked to stop, if this one was or was not.
    fn asked(&self, this: bool) -> Result<bool> {
        let mut asked = [f32::from(u8::from(this))];
        lock(&self.comm).all_reduce(&mut asked)?;
        Ok(asked[0] > 0.0)
    }

    /// This rank at the beginning, with rank 0's state, which that one has.
    fn begin(&self, begin: &Begin, state: Option<[Vec<f32>; 3]>) -> Result<Box<dyn Steps + 'g>> {
        let Begin { config, settings, .. } = begin;
        let me = size(&self.comm).0;
        if self.gpu.is_none() && me != LEADER {
            // Rank 0 has asked for all of its machine.
            memory::fits(memory::of_replica(config, settings, [self.ranks, self.here]))?;
        }
        let comm = Arc::clone(&self.comm);
        let (layout, tokenizer) = (Layout::new(config), String::new());
        let mut state = state.unwrap_or_else(|| STATE.map(|_| vec![0.0; layout.len]));
        for numbers in &mut state {
            lock(&comm).broadcast(LEADER, numbers)?;
        }
        let [parameters, m, v] = state;
        let (model, moments) =
            (Model { config: *config, layout, parameters, tokenizer }, Moments { m, v });
        let at = (begin, &model, &moments);
        let split = How::Data.split(settings, self.ranks);
        let Some(gpu) = self.gpu else {
            let threads = (available() / self.here).max(1);
            let cores = |peers| Cpu::new(threads).with_ranks(peers);
            return begun(Rank::new(&model, split, *settings, comm, cores)?, at);
        };
        let gpu = Gpu::new(gpu);
        let bytes = |batch| gpu::bytes(config, &Settings { accumulate: 1, ..*settings }, batch);
        gpu.fits(settings.batch, "sequences", [self.ranks, self.here], bytes)?;
        let split = split.in_order(split.order.0, 1); // all of its sequences at once
        let on = |peers| gpu.with_ranks(peers);
        begun(Rank::new(&model, split, *settings, comm, on)?, at)
    }
}

/// What no rank tells another one of the same program.
fn unexpected() -> Error {
    Error::Config("rank 0 told what this rank does not know; copy one build to all machines".into())
}

/// A rank that goes on from here.
fn begun<'g, B: backend::Backend + 'g>(
    mut rank: Rank<dyn Communicator, B>,
    (begin, model, moments): (&Begin, &Model, &Moments),
) -> Result<Box<dyn Steps + 'g>> {
    if let (Some(scaler), Some(state)) = (&mut rank.scaler, begin.loss_scale) {
        scaler.set_state(state);
    }
    rank.step = begin.step;
    let at = (begin.step, rank.scaler);
    trainer::restore(&mut rank.member.step, at, &model.parameters, moments);
    rank.member.check()?;
    Ok(Box::new(rank))
}

/// A rank on a device of any kind.
trait Steps {
    /// A step of a run of so many.
    fn step(&mut self, steps: u64, batch: &Batch) -> Result<Step>;
    fn state(&mut self) -> Result<State>;
}

impl<B: backend::Backend> Steps for Rank<dyn Communicator, B> {
    fn step(&mut self, steps: u64, batch: &Batch) -> Result<Step> {
        self.settings.steps = steps;
        Rank::step(self, batch)
    }

    fn state(&mut self) -> Result<State> {
        let state = STATE.map(|place| self.member.step.to_file(place));
        self.member.check()?;
        Ok((state, self.scaler))
    }
}

/// Replicas that train together, as rank 0 has them.
///
/// They take a trainer's place in its loop: they begin where it stands, and hand back what they came to, so that its
/// checkpoints, samples and validation go on as before.
pub struct Replicas<'t> {
    team: &'t Team<'t>,
    rank: Box<dyn Steps + 't>,
    settings: Settings,
    step: u64,
    /// Whether another rank was asked to stop.
    asked: bool,
}

impl Backend for Replicas<'_> {
    fn step(&mut self, stream: &[u32]) -> Result<Step> {
        let Self { team, settings, .. } = self;
        let batch = batches::batch(settings, self.step, stream)?;
        team.tell(&Order::Step(settings.steps, batch.clone()))?;
        self.asked |= team.asked(false)?;
        let step = self.rank.step(settings.steps, &batch)?;
        self.step = step.step;
        Ok(step)
    }

    fn plan(&mut self, steps: u64) {
        self.settings.steps = steps;
    }

    fn stops(&self) -> bool {
        self.asked
    }

    fn hand_back(&mut self, trainer: &mut Trainer) -> Result<()> {
        let ([parameters, m, v], scaler) = self.rank.state()?;
        trainer.scaler = scaler;
        trainer.restore(self.step, &parameters, &Moments { m, v });
        Ok(())
    }

    fn note(&self) -> Option<&str> {
        self.team.told.as_deref()
    }
}

/// Ranks as threads of this process: rank 0 does `lead` in this one. On devices each has one, from the `first` on.
///
/// # Errors
/// That of the rank which failed first.
pub fn threads<T>(
    ranks: usize,
    first: Option<Device>,
    lead: impl FnOnce(&Team) -> Result<T>,
) -> multi_gpu::Result<T> {
    thread::scope(|scope| {
        let mut all = Threads::ranks(ranks).into_iter().map(|mut comm| {
            comm.set_patience(Duration::MAX); // rank 0 may test and save in between; one that ends is noticed at once
            comm
        });
        let own = all.next();
        let follow = |comm: Threads| {
            let at = (first, comm.rank().0);
            scope.spawn(move || on(comm, at, |team| team.follow(&mut || false)))
        };
        let others: Vec<_> = all.map(follow).collect();
        let led = own.map(|comm| {
            on(comm, (first, 0), |team| {
                let led = lead(team)?;
                team.end().map(|()| Some(led))
            })
        });
        let others = others.into_iter().map(ScopedJoinHandle::join);
        let others = others.map(|ended| ended.map(|ended| ended.map(|()| None)));
        let ended = together(led.map(Ok).into_iter().chain(others).collect())?;
        let none = || multi_gpu::Error::Config("a run needs at least one rank".into());
        ended.into_iter().next().flatten().ok_or_else(none)
    })
}

/// A rank's work, on its own of this machine's devices from the `first` on: number `local` of them.
///
/// # Errors
/// As [`Team::join`], and those of the work; a sentence for a device that is not there.
pub fn on<T>(
    comm: impl Communicator + 'static,
    (first, local): (Option<Device>, usize),
    work: impl FnOnce(&Team) -> Result<T>,
) -> multi_gpu::Result<T> {
    let own = first.map(|first| device_of(first, local).id());
    let gpu = own.map(|own| open(&own)).transpose()?;
    let team = Team::join(comm, gpu.as_deref())?;
    Ok(work(&team)?)
}
