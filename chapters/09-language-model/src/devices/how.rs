//! The ways to split a training by name, and a run of one of them on threads.

use super::rank::Rank;
use crate::{
    Error, Model, Result,
    count::Bytes,
    train::{Settings, Step, batches, trainer},
    transformer::sequences,
};
use engine::cpu::Cpu;
use multi_gpu::{
    Communicator as _,
    comm::counting::{Counting, Traffic},
    cores::keep_to_core,
    split::{equality::Strategy, hybrid, overlap::BUCKET, schedule::Schedule, zero::Level},
    threads,
};
use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

lab::named! {
    /// How the work is split.
    pub enum How("how") {
        /// The batch.
        Data = "data",
        /// The batch and the optimizer's memory.
        Zero = "zero",
        /// Heads and hidden units.
        Tensor = "tensor",
        /// Layers.
        Pipeline = "pipeline",
    }
}

/// Micro-batches of a pipeline's batch.
pub const MICROS: usize = 8;

impl How {
    /// The settings of chapter 7's engine that it is, for so many ranks.
    // ANCHOR: settings
    pub fn split(self, settings: &Settings, ranks: usize) -> hybrid::Settings {
        let Settings { batch, length, .. } = *settings;
        let order = Schedule::OneForwardOneBackward;
        // Pieces that stay in a cache.
        let pieces = |batch: usize| batch.div_ceil(sequences(length)).max(1);
        let own = pieces(batch.div_ceil(ranks));
        let (way, micros) = match self {
            Self::Data => (Strategy::Overlap(BUCKET), own),
            Self::Zero => (Strategy::Zero(Level::Optimizer), own),
            Self::Tensor => (Strategy::Tensor, pieces(batch)),
            Self::Pipeline => (Strategy::Layers, MICROS.min(batch)),
        };
        way.settings(ranks).in_order(order, micros)
    }
    // ANCHOR_END: settings
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The loss of each step.
    pub losses: Vec<f64>,
    /// The whole model's parameters after the last step, as each rank knows them.
    pub parameters: Vec<Vec<f32>>,
    /// What each rank sent in the last step.
    pub traffic: Vec<Traffic>,
    /// What each rank held.
    pub bytes: Vec<Bytes>,
    /// Seconds of each step of the slowest rank.
    pub seconds: Vec<f64>,
}

/// Takes `steps` steps on `ranks` threads, each on a core of its own as far as there are cores.
///
/// # Errors
/// As [`Rank::new`] and [`Rank::step`].
pub fn train(
    how: How,
    model: &Model,
    settings: Settings,
    stream: &[u32],
    (ranks, steps): (usize, u64),
) -> Result<Ran> {
    if ranks == 0 {
        return Err(Error::Config("a run needs at least one rank".to_owned()));
    }
    let split = how.split(&settings, ranks);
    run(split, model, settings, stream, steps)
}

/// [`train`], split in any of chapter 7's ways.
///
/// # Errors
/// As [`train`].
pub fn run(
    split: hybrid::Settings,
    model: &Model,
    settings: Settings,
    stream: &[u32],
    steps: u64,
) -> Result<Ran> {
    trainer::check(model, &settings, stream)?;
    let all = threads::run(split.grid.ranks(), |comm| {
        keep_to_core(comm.rank());
        let comm = Arc::new(Mutex::new(Counting::new(comm)));
        let cores = |peers| Cpu::new(split.threads).with_ranks(peers);
        let mut rank = Rank::new(model, split, settings, comm, cores)?;
        let (mut losses, mut seconds, mut sent) = (Vec::new(), Vec::new(), Traffic::default());
        for _ in 0..steps {
            rank.member.comm().barrier()?;
            rank.member.comm().take();
            let begun = Instant::now();
            let batch = batches::batch(&settings, rank.step, stream)?;
            let Step { loss, .. } = rank.step(&batch)?;
            losses.push(loss);
            seconds.push(begun.elapsed().as_secs_f64());
            sent = rank.member.comm().take();
        }
        Ok((losses, rank.member.parameters()?, sent, rank.bytes(), seconds))
    })?;
    let losses = all[0].0.clone();
    let slowest = |step: usize| all.iter().map(|rank| rank.4[step]).fold(0.0, f64::max);
    Ok(Ran {
        seconds: (0..losses.len()).map(slowest).collect(),
        losses,
        traffic: all.iter().map(|rank| rank.2).collect(),
        bytes: all.iter().map(|rank| rank.3).collect(),
        parameters: all.into_iter().map(|rank| rank.1).collect(),
    })
}
