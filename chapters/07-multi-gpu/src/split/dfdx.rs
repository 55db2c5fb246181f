//! Replicas of chapter 4's models on dfdx, in their shortest form.

use super::job::{Batch, Trained, not_empty};
use crate::{Communicator, Error, Result, part_of};
use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};
use training::{
    Model, Settings,
    any::AllModels,
    model::{CLASSES, Images, PIXELS, Targets},
    optimizer::Rule,
    step::Learner,
};

/// How a model of dfdx is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    /// Of the first weights: every rank builds the same.
    pub seed: u64,
    /// The learning rate η.
    pub lr: f64,
    /// The optimizer.
    pub rule: Rule,
}

impl Task {
    /// Chapter 4's settings for it, without dropout.
    fn settings(self, model: Model) -> Settings {
        let Self { seed, lr, rule: optimizer } = self;
        Settings { model, seed, lr, optimizer, dropout: 0.0, decay: 0.0, ..Settings::default() }
    }
}

/// An error of the device.
fn device(error: impl std::fmt::Display) -> Error {
    training::Error::device(error).into()
}

/// The images of a batch and their classes as probabilities.
fn tensors(dev: &Cpu, batch: &Batch) -> Result<(Images<Cpu>, Targets<Cpu>)> {
    let rows = batch.len();
    if batch.x.len() != rows * PIXELS || batch.labels.iter().any(|l| usize::from(*l) >= CLASSES) {
        return Err(Error::Config(format!(
            "{} pixels and {rows} labels are no batch of digits; give {PIXELS} pixels and a label from 0 to 9 for each",
            batch.x.len()
        )));
    }
    let mut targets = vec![0.0; rows * CLASSES];
    for (row, label) in targets.chunks_exact_mut(CLASSES).zip(&batch.labels) {
        row[usize::from(*label)] = 1.0;
    }
    let images = dev.try_tensor_from_vec(batch.x.clone(), (rows, Const)).map_err(device)?;
    Ok((images, dev.try_tensor_from_vec(targets, (rows, Const)).map_err(device)?))
}

/// One step of a replica: its part of the batch, one all-reduce of all gradients, the same update everywhere. Returns
/// the mean loss of the whole batch.
fn step(
    model: &mut dyn Learner<Device = Cpu>,
    dev: &Cpu,
    (batch, lr): (&Batch, f64),
    comm: &mut dyn Communicator,
) -> Result<f64> {
    // ANCHOR: step
    let mine = batch.part(part_of(batch.len(), comm.rank(), comm.size()))?;
    let mut row = vec![0.0];
    if !mine.is_empty() {
        let (images, targets) = tensors(dev, &mine)?;
        let scores = model.gradients(images, targets.clone())?;
        row[0] = cross_entropy_with_logits_loss(scores, targets).array();
    }
    model.pack(&mut row)?;
    let share = mine.len() as f32 / batch.len() as f32;
    for number in &mut row {
        *number *= share;
    }
    comm.all_reduce(&mut row)?;
    model.unpack(&row[1..])?;
    model.update(lr)?;
    // ANCHOR_END: step
    Ok(f64::from(row[0]))
}

/// Trains this rank's replica, without dropout.
///
/// # Errors
/// [`Error::Training`], [`Error::Config`] if a batch is not one of digits, and the communicator's.
pub fn data_parallel(
    model: Model,
    task: Task,
    batches: &[Batch],
    comm: &mut dyn Communicator,
) -> Result<Trained> {
    let dev = Cpu::seed_from_u64(task.seed);
    let mut learner = dev.learner(&task.settings(model))?;
    let mut losses = Vec::new();
    for batch in batches {
        not_empty(batch)?;
        losses.push(step(&mut *learner, &dev, (batch, task.lr), comm)?);
    }
    Ok(Trained { parameters: learner.parameters()?, losses })
}

/// Trains on one device by chapter 4's own step, without dropout.
///
/// # Errors
/// [`Error::Training`], and [`Error::Config`] if a batch is not one of digits.
pub fn one_device(model: Model, task: Task, batches: &[Batch]) -> Result<Trained> {
    let dev = Cpu::seed_from_u64(task.seed);
    let mut learner = dev.learner(&task.settings(model))?;
    let mut losses = Vec::new();
    for batch in batches {
        not_empty(batch)?;
        let (images, targets) = tensors(&dev, batch)?;
        let scores = learner.gradients(images, targets.clone())?;
        let loss = cross_entropy_with_logits_loss(scores, targets);
        losses.push(f64::from(loss.array()));
        learner.update(task.lr)?;
    }
    Ok(Trained { parameters: learner.parameters()?, losses })
}
