//! Data parallel: every rank has the whole network and a part of each batch.
//!
//! All start with the same weights. Each computes the gradient of its own images, one all-reduce makes the sum of all
//! gradients, and each takes the same step. So the replicas stay equal, bit for bit, without ever being compared.

use super::job::{Batch, Job, Trained, Update, not_empty, weighed_loss};
use crate::{Communicator, Rank, Result, part_of};
use backprop::mlp::Mlp;

/// What one rank adds to the gradient of the whole batch, in one flat buffer, and as its last number what it adds to
/// the loss. A rank without an image adds zeros.
///
/// # Errors
/// [`crate::Error::Backprop`] if the network and the batch do not fit.
// ANCHOR: gradient
pub fn gradient(
    model: &Mlp<f32>,
    batch: &Batch, // that of all ranks
    rank: Rank,
    ranks: usize,
) -> Result<Vec<f32>> {
    let whole = batch.len();
    let mine = batch.part(part_of(whole, rank, ranks))?;
    if mine.is_empty() {
        let parameters: usize = model.tensors().map(<[f32]>::len).sum();
        return Ok(vec![0.0; parameters + 1]);
    }
    let pass = model.forward(&mine.x, None)?;
    let (scores, classes) = (&pass.scores, model.classes());
    let (loss, dscores) = weighed_loss(scores, &mine.labels, classes, whole)?;
    let mut flat = model.backward(&pass, &dscores, false)?.flat();
    flat.push(loss as f32);
    Ok(flat)
}
// ANCHOR_END: gradient

/// One step on a batch, of which each rank trains on its part. Returns the mean loss of the whole batch.
///
/// # Errors
/// As [`gradient`], and the communicator's.
// ANCHOR: step
pub fn step(
    model: &mut Mlp<f32>,
    update: &mut Update,
    batch: &Batch,
    comm: &mut dyn Communicator,
) -> Result<f64> {
    not_empty(batch)?;
    let mut flat = gradient(model, batch, comm.rank(), comm.size())?;
    comm.all_reduce(&mut flat)?; // the only line that others hear
    let loss = flat.pop().unwrap_or_default();
    let mut parameters = model.parameters();
    update.step(&mut parameters, &flat);
    model.set_parameters(&parameters)?;
    Ok(f64::from(loss))
}
// ANCHOR_END: step

/// Trains this rank's replica.
///
/// # Errors
/// As [`step`].
pub fn train(job: &Job, batches: &[Batch], comm: &mut dyn Communicator) -> Result<Trained> {
    let mut model = job.model()?;
    let mut update = Update::new(job.rule, model.parameters().len());
    let steps = batches.iter().map(|batch| step(&mut model, &mut update, batch, comm));
    let losses = steps.collect::<Result<_>>()?;
    Ok(Trained { parameters: model.parameters(), losses })
}
