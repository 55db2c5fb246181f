//! A rank of a training: the trainer's step, of which chapter 7's engine computes a part and knows the whole.

use super::gpt::Gpt;
use crate::{
    Model, Result,
    count::Bytes,
    train::{Settings, Step, batches, trainer},
    transformer,
};
use engine::words::words;
use multi_gpu::{
    Communicator,
    split::hybrid::{self, Member},
};

/// A rank.
pub struct Rank<C> {
    /// What the run was told.
    pub settings: Settings,
    /// Steps taken.
    pub step: u64,
    /// Its part of the model, in chapter 7's engine.
    pub member: Member<C>,
    tokens: Vec<u32>,
    targets: Vec<u32>,
}

impl<C: Communicator + 'static> Rank<C> {
    /// A rank at the beginning; every rank has the same model, settings and stream.
    ///
    /// # Errors
    /// As [`crate::train::Trainer::new`] and [`Member::new`].
    pub fn new(
        model: &Model,
        split: hybrid::Settings,
        settings: Settings,
        stream: &[u32],
        comm: C,
    ) -> Result<Self> {
        let Settings { batch, length, rule, numbers, .. } = settings;
        trainer::check(model, &settings, stream)?;
        transformer::check(&model.config, (batch, length))?;
        let split = hybrid::Settings { numbers: numbers.into(), ..split };
        let member = Member::new(&Gpt { model, rule, tokens: length }, split, comm)?;
        let [tokens, targets] = [(); 2].map(|()| vec![0; batch * length]);
        Ok(Self { settings, step: 0, member, tokens, targets })
    }

    /// The next step, by all ranks at once: each calls this with the same stream.
    ///
    /// # Errors
    /// [`crate::Error::Diverged`] on all ranks alike, and the communicator's.
    // ANCHOR: step
    pub fn step(&mut self, stream: &[u32]) -> Result<Step> {
        let Settings { length, seed, .. } = self.settings;
        let (tokens, targets) = (&mut self.tokens, &mut self.targets);
        batches::draw(stream, (seed, self.step), length, tokens, targets)?;
        let loss = self.member.gradient(words(tokens), targets)?;
        let norm = self.member.norm()?; // of what all ranks have
        let (step, clip) = trainer::close(&self.settings, self.step, loss, norm)?;
        self.member.step.set_clip(clip);
        self.member.update(step.lr as f32)?;
        self.step = step.step;
        Ok(step)
    }
    // ANCHOR_END: step

    /// Bytes that this rank holds: counted, after a step.
    pub fn bytes(&self) -> Bytes {
        let memory = self.member.memory();
        let [parameters, gradient, moments] =
            [memory.parameters, memory.gradients, memory.optimizer].map(|bytes| bytes as u64);
        let activations = transformer::bytes(&self.member.step) as u64;
        Bytes { parameters, gradient, moments, activations, group: 0 }
    }
}
