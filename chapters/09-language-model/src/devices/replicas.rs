//! Replicas on the threads of one process, in the place of a trainer in a user's run.

use super::{how::How, rank::Rank};
use crate::{
    Error, Result,
    train::{Backend, Step, Trainer, adamw::Moments, trainer},
};
use engine::tensor::Place;
use matmul::parallel::available;
use multi_gpu::{split::hybrid, threads::Threads};
use std::thread;

/// The most replicas on one machine.
pub const MOST: usize = 64;

/// Replicas that train together, each in a thread of its own.
///
/// They take a trainer's place in its loop: they begin where it stands, and hand back what they came to, so that its
/// checkpoints, samples and validation go on as before.
pub struct Replicas {
    ranks: Vec<Rank<Threads>>,
}

impl Replicas {
    /// So many replicas of a trainer, at its step.
    ///
    /// # Errors
    /// [`Error::Config`] for no replica, or more than [`MOST`] or than the batch has sequences; as [`Trainer::new`].
    pub fn new(begun: &Trainer, stream: &[u32], replicas: usize) -> Result<Self> {
        let Trainer { settings, step, .. } = *begun;
        let most = MOST.min(settings.batch);
        if replicas == 0 || replicas > most {
            return Err(Error::Config(format!(
                "{replicas} replicas can't share a batch of {} sequences on one machine; take 1 to {most}",
                settings.batch
            )));
        }
        let threads = (available() / replicas).max(1);
        let split = hybrid::Settings { threads, ..How::Data.split(&settings, replicas) };
        let (model, moments) = (begun.model(), begun.moments());
        let rank = |comm| {
            let mut rank = Rank::new(&model, split, settings, stream, comm)?;
            trainer::restore(&mut rank.member.step, step, &model.parameters, &moments);
            rank.step = step;
            Ok(rank)
        };
        let ranks = Threads::ranks(replicas).into_iter().map(rank).collect::<Result<_>>()?;
        Ok(Self { ranks })
    }
}

impl Backend for Replicas {
    fn step(&mut self, stream: &[u32]) -> Result<Step> {
        let steps: Result<Vec<_>> = thread::scope(|scope| {
            let ranks = self.ranks.iter_mut();
            let threads: Vec<_> =
                ranks.map(|rank| scope.spawn(move || rank.step(stream))).collect();
            let panicked = |_| Err(Error::Config("a replica has panicked".to_owned()));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
        });
        Ok(steps?[0])
    }

    fn plan(&mut self, steps: u64) {
        self.ranks.iter_mut().for_each(|rank| rank.settings.steps = steps);
    }

    fn hand_back(&mut self, trainer: &mut Trainer) -> Result<()> {
        let Rank { step, member, .. } = &self.ranks[0];
        let [parameters, m, v] =
            [Place::Params, Place::Mean, Place::Square].map(|place| member.step.to_file(place));
        trainer.restore(*step, &parameters, &Moments { m, v });
        Ok(())
    }
}
