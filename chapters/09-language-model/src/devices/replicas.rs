//! Replicas on the threads of one process, in the place of a trainer in a user's run.

use super::{data::Data, split::Split};
use crate::{
    Error, Result,
    train::{Backend, Step, Trainer, adamw::Moments},
};
use matmul::parallel::available;
use multi_gpu::{Communicator, Rank, threads};
use std::sync::{Mutex, PoisonError};

/// The most replicas on one machine.
pub const MOST: usize = 64;

/// Replicas that train together, each in a thread of its own.
///
/// They take a trainer's place in its loop: they begin where it stands, and hand back what they came to, so that its
/// checkpoints, samples and validation go on as before.
pub struct Replicas {
    ranks: Vec<Mutex<Data>>,
}

impl Replicas {
    /// So many replicas of a trainer, at its step.
    ///
    /// # Errors
    /// [`Error::Config`] for no replica, or more than [`MOST`] or than the batch has sequences; as [`Trainer::new`].
    pub fn new(trainer: &Trainer, stream: &[u32], replicas: usize) -> Result<Self> {
        let most = MOST.min(trainer.settings.batch);
        if replicas == 0 || replicas > most {
            return Err(Error::Config(format!(
                "{replicas} replicas can't share a batch of {} sequences on one machine; take 1 to {most}",
                trainer.settings.batch
            )));
        }
        let threads = (available() / replicas).max(1);
        let (model, moments) = (trainer.model(), trainer.moments());
        let rank = |rank| {
            let of = (Rank(rank), replicas);
            let mut data = Data::new(&model, trainer.settings, stream, of, threads)?;
            data.restore(trainer.step, &moments);
            Ok(Mutex::new(data))
        };
        Ok(Self { ranks: (0..replicas).map(rank).collect::<Result<_>>()? })
    }
}

impl Backend for Replicas {
    fn step(&mut self, stream: &[u32]) -> Result<Step> {
        let ranks = &self.ranks;
        let steps = threads::run(ranks.len(), |mut comm| {
            let mut data = ranks[comm.rank().0].lock().unwrap_or_else(PoisonError::into_inner);
            // Its own failure is told by all ranks alike, and none waits for another then.
            Ok(data.step(stream, &mut comm as &mut dyn Communicator))
        })?;
        steps.into_iter().next().unwrap_or_else(|| Err(Error::Config("no replica".to_owned())))
    }

    fn plan(&mut self, steps: u64) {
        for rank in &mut self.ranks {
            let data = rank.get_mut().unwrap_or_else(PoisonError::into_inner);
            data.course.settings.steps = steps;
        }
    }

    fn hand_back(&mut self, trainer: &mut Trainer) -> Result<()> {
        if let Some(first) = self.ranks.first_mut() {
            let data = first.get_mut().unwrap_or_else(PoisonError::into_inner);
            let (step, [parameters, m, v]) = data.state();
            trainer.restore(step, &parameters, &Moments { m, v });
        }
        Ok(())
    }
}
