//! The ways to split a training by name, and a run of one of them on threads.

use super::{data::Data, pipeline::Pipeline, split::Split, tensor::Tensor, zero::Zero};
use crate::{Error, Model, Result, count::Bytes, train::Settings};
use multi_gpu::{
    Communicator, Rank,
    comm::counting::{Counting, Traffic},
    cores::keep_to_core,
    split::schedule::Schedule,
    threads,
};
use std::time::Instant;

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
    /// A rank at the beginning, with one thread of its own.
    ///
    /// # Errors
    /// [`Error::Config`] if the model can't be split over so many; as [`crate::train::Trainer::new`].
    pub fn start(
        self,
        model: &Model,
        settings: Settings,
        stream: &[u32],
        of: (Rank, usize),
    ) -> Result<Box<dyn Split>> {
        let schedule = (Schedule::OneForwardOneBackward, MICROS);
        Ok(match self {
            Self::Data => Box::new(Data::new(model, settings, stream, of, 1)?),
            Self::Zero => Box::new(Zero::new(model.clone(), settings, stream, of)?),
            Self::Tensor => Box::new(Tensor::new(model, settings, stream, of)?),
            Self::Pipeline => Box::new(Pipeline::new(model, settings, stream, of, schedule)?),
        })
    }
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
/// As [`How::start`] and [`Split::step`].
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
    let all = threads::run(ranks, |comm| {
        use multi_gpu::PointToPoint as _;
        keep_to_core(comm.rank());
        let mut comm = Counting::new(comm);
        let mut rank = how.start(model, settings, stream, (comm.rank(), ranks))?;
        let (mut losses, mut seconds, mut sent) = (Vec::new(), Vec::new(), Traffic::default());
        for _ in 0..steps {
            comm.barrier()?;
            let (begun, before) = (Instant::now(), comm.traffic());
            losses.push(rank.step(stream, &mut comm)?.loss);
            seconds.push(begun.elapsed().as_secs_f64());
            let after = comm.traffic();
            sent = Traffic {
                sent: after.sent - before.sent,
                received: after.received - before.received,
                bytes_sent: after.bytes_sent - before.bytes_sent,
                bytes_received: after.bytes_received - before.bytes_received,
            };
        }
        let bytes = rank.bytes();
        Ok((losses, rank.parameters(&mut comm)?, sent, bytes, seconds))
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
