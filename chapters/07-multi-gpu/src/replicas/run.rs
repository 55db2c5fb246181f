//! One trainer for many devices: a rank's run, and runs of threads.

use crate::{
    Communicator, Error, Rank, Result,
    comm::gpus::{Joined, over_nccl},
    part_of,
    replicas::{
        handshake::{Setup, shake},
        link::{Joint, Link, Spent, original},
        step::Replica,
    },
    split::{
        group::lock,
        hybrid::{Grid, Settings as Split, Sums, recorded},
        overlap::BUCKET,
        schedule::Schedule,
        stage::Extents,
    },
    threads,
};
use dfdx::prelude::Cpu;
use engine::{backend::Form, cpu::Cpu as Cores, model::Model, needs::Needs};
use lab::{Device, data::DataSet, device::Driven};
use matmul::parallel::available;
use mixed_precision::amp::autocast::Autocast;
use performance::learner::{self, Engine, Trains};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
};
use training::{
    Config, EngineKind, Outcome, Precision, Settings, Silent, Watcher,
    fit::TEST_BATCH,
    memory,
    model::{CLASSES, PIXELS},
    step::Learner,
    train_stepper,
};

/// What a rank's run has reached, and where its time went.
pub type Reached = (Outcome, Spent);

/// One rank's part of a run. All ranks call it with the same settings and data; rank 0 keeps the run's folder.
///
/// # Errors
/// As [`training::train`]; a rank that differs, ends, hangs or has broken numbers is named.
pub fn train_rank(
    mut comm: impl Communicator + 'static,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Reached> {
    // Before the first check that one rank could fail alone: the others would wait for it.
    shake(&mut comm, &Setup::of(config, data))?;
    config.settings.check()?;
    train_equal(comm, config, data, watcher)
}

/// [`train_rank`], where the ranks are known to have the same settings and data.
fn train_equal(
    comm: impl Communicator + 'static,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Reached> {
    let Config { settings, device, .. } = config;
    let (cores, precision) = (*device == Device::Cpu, settings.precision);
    if settings.engine == EngineKind::Dfdx {
        return Err(Error::Config(
            "replicas train by chapter 5's engine alone; leave out --engine dfdx, or --replicas"
                .into(),
        ));
    }
    if precision != Precision::F32 && !cores {
        return Err(Error::Config(format!(
            "--precision {precision} is for this machine's cores so far, not for {device}; use --device cpu, or leave out \
             --precision"
        )));
    }
    let Joined { comm, told, here } = over_nccl(comm, *device)?;
    let (link, dev) = (&Link::new(comm), &Cpu::seed_from_u64(settings.seed));
    link.tell(told);
    let model = learner::of(settings);
    let learner: Box<dyn Learner<Device = Cpu>> = if cores {
        let all = bytes(settings, link.size, data).saturating_mul(here as u64);
        memory::check(settings, settings.batch, all)?;
        let engine = engine(link, dev, settings, model)?.seeded(settings)?;
        Box::new(Autocast::new(Box::new(engine), precision))
    } else {
        let gpu = learner::open(*device, settings, [link.size, here])?;
        let engine = engine_on(|ranks| gpu.with_ranks(ranks), link, dev, settings, model)?;
        Box::new(engine.seeded(settings)?)
    };
    train_learner(learner, dev, link, config, data, watcher)
}

/// What the engine of a replica takes for a step on so many images, at least one. More ranks than two record no more.
pub fn needs(settings: &Settings, images: usize) -> Needs {
    let (model, split) = (learner::of(settings), split(settings, 2, images));
    let (mut own, _) = recorded(&split, &Extents::of(&model, 1), 0..model.ops.len(), Rank(0));
    own.watched = true; // as by `Link::join`
    let mut passes = learner::passes(settings, images);
    passes.drain(1..passes.len() - 1); // one pass has all micro-batches
    passes[0].rows = images;
    Needs::seen(&own, &model, &passes, Form::CPU, learner::threads(), |_, _| {})
}

/// Bytes of one of so many replicas: of its engine; of the gradient on its way, in buckets and in messages; and of images, those of
/// the data set, and those of a step and of a test as tensors and as what these are copied to.
pub fn bytes(settings: &Settings, ranks: usize, data: &DataSet) -> u64 {
    let seen = data.train.len().min(settings.limit.unwrap_or(usize::MAX)).max(1);
    let part = part_of(settings.batch.min(seen), Rank(0), ranks).len();
    let (needs, images) = (needs(settings, part), seen + data.test.len() + 2 * (part + TEST_BATCH));
    needs.total() + 2 * needs.gradient + (4 * (PIXELS + CLASSES) * images) as u64
}

/// [`engine_on`] this machine's cores.
///
/// # Errors
/// As [`train_rank`].
pub fn engine(link: &Link, dev: &Cpu, settings: &Settings, model: Model) -> Result<Engine> {
    let cores = |ranks: Joint| Cores::new(learner::threads()).with_ranks(ranks);
    engine_on(cores, link, dev, settings, model)
}

// ANCHOR: engine
/// Whole networks, gradients that leave in buckets, and as many
/// micro-batches of a replica's images as --accumulate asks for.
fn split(settings: &Settings, ranks: usize, images: usize) -> Split {
    let micros = images.div_ceil(settings.accumulate.unwrap_or(images));
    let order = Schedule::OneForwardOneBackward;
    let split = Split::of(Grid::replicas_of(ranks)).in_order(order, micros);
    split.with(Sums::Early(BUCKET))
}

/// Chapter 5's engine for a replica.
#[allow(clippy::missing_errors_doc, reason = "those of `train_rank`")]
pub fn engine_on<B: Trains>(
    device: impl FnOnce(Joint) -> B, // with a way to the others
    link: &Link,
    dev: &Cpu, // where the seed's numbers come from
    settings: &Settings,
    model: Model,
) -> Result<Engine<B>> {
    let images = part_of(settings.batch, Rank(0), link.size).len();
    let split = split(settings, link.size, images);
    let (part, ranks) = link.join(&model, &split)?;
    Ok(Engine::split(device(ranks), dev, settings, model, Box::new(part)))
}
// ANCHOR_END: engine

// ANCHOR: train_learner
/// Chapter 4's training, by a stepper and a team of this chapter.
#[allow(clippy::missing_errors_doc, reason = "those of `train_rank`")]
pub fn train_learner(
    learner: Box<dyn Learner<Device = Cpu>>,
    dev: &Cpu,
    link: &Link,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Reached> {
    let mut replica = Replica::new(learner, link);
    let outcome = train_stepper(&mut replica, link, dev, config, data, watcher);
    let outcome = outcome.map_err(original)?;
    // No rank leaves before all have everything.
    link.talk(|comm| comm.barrier())?;
    Ok((outcome, link.spent()))
}
// ANCHOR_END: train_learner

/// The words of a panic.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words")
}

/// Work in a thread pool of its own, so that ranks on one machine do not wait for each other's work.
///
/// # Errors
/// [`Error::Config`] if the system has no more threads, or with the words of a panic; whatever `work` fails with.
pub fn in_own_pool<T: Send>(
    rank: Rank,
    threads: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
    let pool = pool.map_err(|e| {
        Error::Config(format!(
            "the system has no threads for rank {rank} ({e}); take fewer --replicas"
        ))
    })?;
    pool.install(|| {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            Err(Error::Config(format!("rank {rank} panicked: {}", words(&*panic))))
        })
    })
}

/// Threads of each of `ranks` ranks on this machine: its cores, shared out.
pub fn threads_each(ranks: usize) -> usize {
    (available() / ranks.max(1)).max(1)
}

/// Where rank `local` of those on this machine computes: each GPU has one, and the cores, which OpenCL drives too, have all.
pub fn device_of(device: Device, local: usize) -> Device {
    match device {
        Device::Cpu | Device::OpenCl(Driven::Cpu, _) => device,
        Device::Cuda(first) => Device::Cuda(first + local),
        Device::OpenCl(of, first) => Device::OpenCl(of, first + local),
    }
}

/// Trains with `size` replicas, each a thread of this process. They need no handshake: what they share can't differ.
///
/// # Errors
/// That of the rank which failed first.
pub fn train_threads(
    size: usize,
    config: &Config,
    data: &DataSet,
    watcher: &mut dyn Watcher,
) -> Result<Reached> {
    if size == 0 {
        return Err(Error::Config("--replicas must be at least 1".into()));
    }
    config.settings.check()?;
    let watcher = Mutex::new(Some(watcher)); // rank 0 takes it
    let mut reached = threads::run(size, |comm| {
        let rank = comm.rank();
        in_own_pool(rank, threads_each(size), || {
            let config = Config { device: device_of(config.device, rank.0), ..config.clone() };
            let first = if rank == Rank(0) { lock(&watcher).take() } else { None };
            train_equal(comm, &config, data, first.unwrap_or(&mut Silent))
        })
    })?;
    Ok(reached.swap_remove(0))
}
