//! A rank of a training: the trainer's step, of which chapter 7's engine computes a part and knows the whole.

use super::gpt::Gpt;
use crate::{
    Model, Result,
    count::Bytes,
    train::{Settings, Step, batches::Batch, schedule, trainer},
    transformer,
};
use engine::{backend::Backend, cpu::Cpu, words::words};
use mixed_precision::amp::scaler::Scaler;
use multi_gpu::{
    Communicator,
    split::{
        hybrid::{self, Member},
        ranks::Peers,
    },
};
use std::sync::{Arc, Mutex};

/// A rank, on a device of the engine.
pub struct Rank<C: ?Sized, B: Backend = Cpu> {
    /// What the run was told.
    pub settings: Settings,
    /// Steps taken.
    pub step: u64,
    /// The factor before derivatives in f16, of all ranks.
    pub scaler: Option<Scaler>,
    /// Its part of the model, in chapter 7's engine.
    pub member: Member<C, B>,
}

impl<C: Communicator + ?Sized + 'static, B: Backend> Rank<C, B> {
    /// A rank at the beginning; every rank has the same model and settings. `device` makes its device, with a way to the others.
    ///
    /// # Errors
    /// As [`Member::new`], and for sequences that the model can't take.
    pub fn new(
        model: &Model,
        split: hybrid::Settings,
        settings: Settings,
        comm: Arc<Mutex<C>>,
        device: impl FnOnce(Peers<C>) -> B,
    ) -> Result<Self> {
        transformer::check(&model.config, (settings.batch, settings.length))?;
        let split = hybrid::Settings { numbers: settings.numbers, ..split };
        let member = Member::on(&Gpt { model, settings }, split, comm, device)?;
        Ok(Self { settings, step: 0, scaler: settings.scaler(), member })
    }

    /// The next step, by all ranks at once: each calls this with the same batch.
    ///
    /// # Errors
    /// As [`Trainer::step`](crate::train::Trainer::step), on all ranks alike; the device's and the communicator's.
    // ANCHOR: step
    pub fn step(&mut self, [tokens, targets]: &Batch) -> Result<Step> {
        trainer::begin(&mut self.member.step, self.scaler);
        let loss = self.member.gradient(words(tokens), targets)?;
        let norm = self.member.clip(self.settings.clip)?; // of what all ranks have
        let lr = schedule::rate(&self.settings, self.step);
        self.member.update(lr as f32)?;
        let step = Step { step: self.step + 1, loss, lr, norm };
        trainer::close(&mut self.member.step, &mut self.scaler, &step)?;
        self.step = step.step;
        Ok(step)
    }
    // ANCHOR_END: step
}

impl<C: Communicator + 'static> Rank<C> {
    /// Bytes that this rank holds: counted, after a step.
    pub fn bytes(&self) -> Bytes {
        let memory = self.member.memory();
        let [parameters, gradient, moments] =
            [memory.parameters, memory.gradients, memory.optimizer].map(|bytes| bytes as u64);
        let activations = transformer::bytes(&self.member.step) as u64;
        Bytes { parameters, gradient, moments, activations, group: 0 }
    }
}
