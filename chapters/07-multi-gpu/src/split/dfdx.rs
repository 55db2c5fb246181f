//! Chapter 4's models, split: replicas of any of them, and the perceptron with a layer on each of two ranks.

use super::job::{Batch, Trained, not_empty};
use crate::{Communicator, Error, Rank, Result, part_of};
use dfdx::{
    losses::cross_entropy_with_logits_loss,
    nn::modules::{Linear, ReLU},
    prelude::*,
};
use training::{
    Model, Settings,
    any::AllModels,
    mlp::Mlp,
    model::{CLASSES, Images, PIXELS, Targets, build, parameters},
    optimizer::{Optimizer, Rule},
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

/// Units between the two layers.
const HIDDEN: usize = 128;

/// The hidden units of a batch.
type Hidden = Tensor<(usize, Const<HIDDEN>), f32, Cpu>;

/// Rank 0: from the images to the hidden units, and back from rank 1's upstream gradient.
// ANCHOR: first
fn first_layer(
    layer: &(Linear<PIXELS, HIDDEN, f32, Cpu>, ReLU),
    images: &Images<Cpu>,
    comm: &mut dyn Communicator,
) -> Result<Gradients<f32, Cpu>> {
    let traced = layer.try_forward(images.leaky_trace()).map_err(device)?;
    let (hidden, tape) = traced.split_tape();
    comm.send(Rank(1), &hidden.as_vec())?;
    let mut up = vec![0.0; hidden.shape().num_elements()];
    comm.receive(Rank(1), &mut up)?;
    let up = images.device().try_tensor_from_vec(up, *hidden.shape());
    // The gradient of this sum at the hidden units is the upstream gradient.
    let sum = hidden.put_tape(tape) * up.map_err(device)?;
    sum.sum::<Rank0, _>().try_backward().map_err(device)
}
// ANCHOR_END: first

/// Rank 1: from the hidden units to the loss, and back to them.
fn second_layer(
    layer: &Linear<HIDDEN, CLASSES, f32, Cpu>,
    targets: Targets<Cpu>,
    comm: &mut dyn Communicator,
) -> Result<(f32, Gradients<f32, Cpu>)> {
    let (rows, dev) = (targets.shape().0, targets.device().clone());
    let mut hidden = vec![0.0; rows * HIDDEN];
    comm.receive(Rank(0), &mut hidden)?;
    let hidden: Hidden = dev.try_tensor_from_vec(hidden, (rows, Const)).map_err(device)?;
    let scores = layer.try_forward(hidden.leaky_trace()).map_err(device)?;
    let loss = cross_entropy_with_logits_loss(scores, targets);
    let value = loss.array();
    let gradients = loss.try_backward().map_err(device)?;
    comm.send(Rank(0), &gradients.get(&hidden).as_vec())?;
    Ok((value, gradients))
}

/// Trains the perceptron with its first layer on rank 0 and its second on rank 1, without dropout. Both ranks return
/// the whole network.
///
/// # Errors
/// As [`data_parallel`], and [`Error::Config`] unless there are two ranks.
pub fn layers(task: Task, batches: &[Batch], comm: &mut dyn Communicator) -> Result<Trained> {
    if comm.size() != 2 {
        return Err(Error::Config(format!(
            "this network has two layers, for two ranks, and there are {}",
            comm.size()
        )));
    }
    let dev = Cpu::seed_from_u64(task.seed);
    let whole: Mlp<Cpu> = build(&dev)?;
    let all = parameters(&whole)?.len();
    let (mut one, _, mut two) = whole;
    let (mut of_one, mut of_two) =
        (Optimizer::new(&one, task.rule, 0.0)?, Optimizer::new(&two, task.rule, 0.0)?);
    let mut losses = Vec::new();
    for batch in batches {
        not_empty(batch)?;
        let (images, targets) = tensors(&dev, batch)?;
        let mut loss = [0.0];
        if comm.rank() == Rank(0) {
            let mut gradients = first_layer(&one, &images, comm)?;
            of_one.update(task.lr, &mut one, &mut gradients)?;
        } else {
            let (value, mut gradients) = second_layer(&two, targets, comm)?;
            of_two.update(task.lr, &mut two, &mut gradients)?;
            loss = [value];
        }
        comm.broadcast(Rank(1), &mut loss)?;
        losses.push(f64::from(loss[0]));
    }
    let mut values = vec![0.0; all];
    if comm.rank() == Rank(0) {
        let mine = parameters(&one)?;
        values[..mine.len()].copy_from_slice(&mine);
    } else {
        let mine = parameters(&two)?;
        values[all - mine.len()..].copy_from_slice(&mine);
    }
    comm.all_reduce(&mut values)?; // each number is on one rank, and zero on the other
    Ok(Trained { parameters: values, losses })
}
