//! The layers of a network on different ranks: activations go forward from rank to rank, their derivatives back.
//!
//! While one rank computes, the others wait: this makes room, not speed. [`pipeline`](super::pipeline) gives the
//! others something to do.

use super::{
    group::Group,
    job::{Batch, Job, Trained, Update, not_empty, weighed_loss},
    stage::{Of, Stage},
};
use crate::{Communicator, Rank, Result};
use backprop::mlp::Mlp;

/// One step: `stage` is this rank's part of the network. Returns the loss, which the last rank knows and tells.
///
/// # Errors
/// [`crate::Error::Backprop`] if the network and the batch do not fit, and the communicator's.
pub fn step(
    stage: &mut Stage,
    update: &mut Update,
    batch: &Batch,
    comm: &mut dyn Communicator,
) -> Result<f64> {
    not_empty(batch)?;
    // ANCHOR: step
    let (me, rows) = (comm.rank(), batch.len());
    let mut x = batch.x.clone();
    if !stage.is_first() {
        x = vec![0.0; rows * stage.inputs()];
        comm.receive(before(me), &mut x)?;
    }
    let (y, kept) = stage.forward(x, &mut Group::of(comm, &[me])?)?;
    let (mut loss, mut dy) = (0.0, vec![0.0; y.len()]);
    if stage.is_last() {
        (loss, dy) = weighed_loss(&y, &batch.labels, stage.outputs(), rows)?;
    } else {
        comm.exchange(after(me), &y, after(me), &mut dy)?;
    }
    let mut gradient = vec![0.0; stage.parameters()];
    let alone = &mut Group::of(comm, &[me])?;
    let dx = stage.backward(kept, dy, &mut gradient, alone)?;
    if !stage.is_first() {
        comm.send(before(me), &dx)?;
    }
    stage.update(update, &gradient);
    // ANCHOR_END: step
    told(loss, comm)
}

/// The rank that has the layers before.
fn before(me: Rank) -> Rank {
    Rank(me.0 - 1)
}

/// The rank that has the layers after.
fn after(me: Rank) -> Rank {
    Rank(me.0 + 1)
}

/// The last rank's number, on all ranks.
fn told(number: f64, comm: &mut dyn Communicator) -> Result<f64> {
    let mut number = [number as f32];
    comm.broadcast(Rank(comm.size() - 1), &mut number)?;
    Ok(f64::from(number[0]))
}

/// Trains this rank's layers. All ranks return the whole network.
///
/// # Errors
/// As [`step`], and [`Stage::of`].
pub fn train(job: &Job, batches: &[Batch], comm: &mut dyn Communicator) -> Result<Trained> {
    let mut stage = Stage::of(&job.model()?, Of::new(comm.rank().0, comm.size()), Of::new(0, 1))?;
    let mut update = Update::new(job.rule, stage.parameters());
    let steps = batches.iter().map(|batch| step(&mut stage, &mut update, batch, comm));
    let losses = steps.collect::<Result<_>>()?;
    let mut model = Mlp::zeros(&job.sizes)?;
    stage.write(&mut model, Of::new(0, 1));
    let mut parameters = model.parameters();
    comm.all_reduce(&mut parameters)?; // each number is on one rank, and zero on the others
    Ok(Trained { parameters, losses })
}
