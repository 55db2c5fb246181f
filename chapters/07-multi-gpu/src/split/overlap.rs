//! Communication behind computation: gradients are reduced in buckets while the backward pass still runs.
//!
//! The backward pass knows the last layer's gradient first. A thread of its own, with the rank's communicator, sums it
//! up over the ranks while the layers before are still computed (Li and others 2020, "`PyTorch` Distributed", section
//! 3.2).

use super::{
    job::{Batch, Job, Trained, Update, not_empty, weighed_loss},
    wire::Cost,
};
use crate::{Communicator, Error, Rank, Result, part_of};
use backprop::{activation::relu_backward, dense::Dense, mlp::Mlp};
use std::{
    sync::mpsc::{Receiver, Sender, channel},
    thread::{self, JoinHandle},
    time::Instant,
};

/// A thread that sums up buckets over the ranks, one after the other.
#[derive(Debug)]
pub struct CommThread {
    rank: Rank,
    ranks: usize,
    to: Option<Sender<Vec<f32>>>,
    from: Receiver<Result<Vec<f32>>>,
    thread: Option<JoinHandle<()>>,
}

impl CommThread {
    /// A thread that speaks for this rank.
    ///
    /// # Errors
    /// [`Error::Config`] if the machine has no thread for it.
    // ANCHOR: line
    pub fn open<C: Communicator + 'static>(mut comm: C) -> Result<Self> {
        let (rank, ranks) = (comm.rank(), comm.size());
        let (to, buckets) = channel::<Vec<f32>>();
        let (sums, from) = channel();
        let work = move || {
            for mut bucket in buckets {
                let sum = comm.all_reduce(&mut bucket).map(|()| bucket);
                let failed = sum.is_err();
                if sums.send(sum).is_err() || failed {
                    return; // the other end is gone
                }
            }
        };
        let thread = thread::Builder::new().spawn(work);
        let thread = thread.map_err(|error| no_thread(&error))?;
        Ok(Self { rank, ranks, to: Some(to), from, thread: Some(thread) })
    }
    // ANCHOR_END: line

    /// Hands over a bucket, and does not wait.
    pub fn send(&self, bucket: Vec<f32>) {
        // If the thread has ended, `sum` returns why.
        let _ = self.to.as_ref().map(|to| to.send(bucket));
    }

    /// Waits for the next bucket's sum. The communicator never waits forever, so neither does this.
    ///
    /// # Errors
    /// The communicator's.
    pub fn sum(&self) -> Result<Vec<f32>> {
        let ended =
            Error::Lost { rank: self.rank, why: "its communication thread has ended".into() };
        self.from.recv().unwrap_or(Err(ended))
    }
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::Config(format!("there is no thread to communicate with: {error}; run fewer ranks"))
}

impl Drop for CommThread {
    fn drop(&mut self) {
        drop(self.to.take()); // the thread ends after what it has
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// When what happened in a step, in seconds since its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// When the backward pass began.
    pub begin: f64,
    /// When the gradient of each layer was there, from the last layer to the first.
    pub layers: Vec<f64>,
    /// When all buckets were summed up.
    pub reduced: f64,
}

/// One step, with gradients sent as soon as a bucket has `bucket` bytes. Returns the mean loss of the whole batch.
///
/// # Errors
/// [`Error::Backprop`] if the network and the batch do not fit, and the communicator's.
pub fn step(
    model: &mut Mlp<f32>,
    update: &mut Update,
    batch: &Batch,
    (comms, bucket): (&CommThread, usize),
) -> Result<(f64, Times)> {
    not_empty(batch)?;
    let (start, mut times) = (Instant::now(), Times::default());
    let mine = batch.part(part_of(batch.len(), comms.rank, comms.ranks))?;
    // ANCHOR: step
    let (mut sent, mut full) = (0, Vec::new());
    let mut each = |gradient: Vec<f32>| {
        times.layers.push(start.elapsed().as_secs_f64());
        full.extend(gradient);
        if size_of_val(&full[..]) >= bucket {
            comms.send(std::mem::take(&mut full));
            sent += 1;
        }
    };
    let begin = || start.elapsed().as_secs_f64();
    let (loss, begin) = backward(model, &mine, batch.len(), begin, &mut each)?;
    full.push(loss as f32); // the last bucket takes the loss along
    comms.send(full);
    let sums = (0..=sent).map(|_| comms.sum()).collect::<Result<Vec<_>>>()?;
    times = Times { begin, reduced: start.elapsed().as_secs_f64(), ..times };
    // ANCHOR_END: step
    let mut sums = sums.concat();
    let loss = sums.pop().unwrap_or_default();
    apply(model, update, &sums)?;
    Ok((f64::from(loss), times))
}

/// Forward, and backward layer by layer, each of whose gradients is handed to `each`. Returns what these images add to
/// the loss of `whole` images, and when the backward pass began.
fn backward(
    model: &Mlp<f32>,
    mine: &Batch,
    whole: usize,
    begin: impl Fn() -> f64,
    each: &mut impl FnMut(Vec<f32>),
) -> Result<(f64, f64)> {
    if mine.is_empty() {
        let zeros = |layer: &Dense<f32>| vec![0.0; (layer.inputs + 1) * layer.outputs];
        model.layers.iter().rev().map(zeros).for_each(each);
        return Ok((0.0, begin()));
    }
    let pass = model.forward(&mine.x, None)?;
    let (loss, mut dy) = weighed_loss(&pass.scores, &mine.labels, model.classes(), whole)?;
    let begin = begin();
    for (at, layer) in model.layers.iter().enumerate().rev() {
        let x = &pass.inputs[at];
        let gradient = layer.backward_weights(x, &dy)?;
        each([gradient.weights, gradient.bias].concat()); // on its way
        if at > 0 {
            dy = layer.backward_input(&dy)?;
            relu_backward(x, &mut dy);
        }
    }
    Ok((loss, begin))
}

/// A step with a gradient whose layers are in the order of the backward pass.
fn apply(model: &mut Mlp<f32>, update: &mut Update, backwards: &[f32]) -> Result<()> {
    let (mut rest, mut layers) = (backwards, Vec::new());
    for layer in model.layers.iter().rev() {
        let (mine, others) = rest.split_at((layer.inputs + 1) * layer.outputs);
        layers.push(mine);
        rest = others;
    }
    layers.reverse();
    let mut parameters = model.parameters();
    update.step(&mut parameters, &layers.concat());
    Ok(model.set_parameters(&parameters)?)
}

/// When the last bucket is summed up, in seconds since the backward pass began, if layer i's gradient of `layers[i].0`
/// numbers takes `layers[i].1` seconds (from the last layer on), on a wire of this cost.
// ANCHOR: predict
pub fn predict(
    layers: &[(usize, f64)],
    bucket: usize, // bytes
    cost: Cost,
    ranks: usize,
) -> f64 {
    let (mut computed, mut free, mut full) = (0.0, 0.0_f64, 0);
    for (at, (numbers, seconds)) in layers.iter().enumerate() {
        computed += seconds;
        full += numbers;
        if 4 * full >= bucket || at + 1 == layers.len() {
            // Each bucket waits until it is full and the wire is free.
            free = free.max(computed) + cost.all_reduce(full, ranks);
            full = 0;
        }
    }
    free
}
// ANCHOR_END: predict

/// Trains this rank's replica. The communicator moves into the thread that speaks for it.
///
/// # Errors
/// As [`step`].
pub fn train<C: Communicator + 'static>(
    job: &Job,
    batches: &[Batch],
    bucket: usize,
    comm: C,
) -> Result<Trained> {
    let mut model = job.model()?;
    let mut update = Update::new(job.rule, model.parameters().len());
    let comms = CommThread::open(comm)?;
    let steps = batches.iter().map(|batch| step(&mut model, &mut update, batch, (&comms, bucket)));
    let losses = steps.map(|step| Ok(step?.0)).collect::<Result<_>>()?;
    Ok(Trained { parameters: model.parameters(), losses })
}
