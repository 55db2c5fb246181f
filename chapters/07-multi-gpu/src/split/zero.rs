//! `ZeRO`: data parallel without keeping everything everywhere.
//!
//! Rajbhandari, Rasley, Ruwase and He 2020, "`ZeRO`: Memory Optimizations Toward Training Trillion Parameter Models",
//! section 5. Replicas of a network store the same numbers p times. Of these, each rank keeps a p-th and asks the
//! others when it needs more: stage 1 cuts what the optimizer remembers, stage 2 the gradients as well, stage 3 also
//! the parameters.

use super::job::{Batch, Job, Trained, Update, not_empty, weighed_loss};
use crate::{Communicator, Rank, Result, part_of};
use backprop::{
    activation::{relu, relu_backward},
    dense::Dense,
};

/// What is cut over the ranks. Each level cuts all that the ones before it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing: plain data parallel.
    Nothing,
    /// What the optimizer remembers: stage 1.
    Optimizer,
    /// And the gradients: stage 2.
    Gradients,
    /// And the parameters: stage 3.
    Parameters,
}

impl Level {
    /// All, in their order.
    pub const ALL: [Self; 4] = [Self::Nothing, Self::Optimizer, Self::Gradients, Self::Parameters];

    /// The paper's number of it; 0 for plain data parallel.
    pub fn number(self) -> usize {
        self as usize
    }
}

/// Bytes that one rank keeps from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Of parameters.
    pub parameters: usize,
    /// Of gradients.
    pub gradients: usize,
    /// Of what the optimizer remembers.
    pub optimizer: usize,
}

impl Memory {
    /// All of it.
    pub fn total(self) -> usize {
        self.parameters + self.gradients + self.optimizer
    }
}

/// The paper's formulas (figure 1), for Ψ parameters in f32 under Adam: 4Ψ bytes of parameters, 4Ψ of gradients, and 8Ψ of
/// Adam's two means, each cut by p from its level on.
pub fn predicted(level: Level, parameters: usize, ranks: usize) -> f64 {
    let psi = parameters as f64;
    let cut = |from| if level >= from { ranks as f64 } else { 1.0 };
    4.0 * psi / cut(Level::Parameters)
        + 4.0 * psi / cut(Level::Gradients)
        + 8.0 * psi / cut(Level::Optimizer)
}

/// A layer's numbers on one rank: all of them, or the rank's part.
#[derive(Clone, Debug)]
struct Layer {
    inputs: usize,
    outputs: usize,
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    update: Update,
}

impl Layer {
    /// How many parameters the layer has on all ranks together.
    fn len(&self) -> usize {
        (self.inputs + 1) * self.outputs
    }
}

/// One rank of a training whose numbers are cut over the ranks.
#[derive(Clone, Debug)]
pub struct Sharded {
    level: Level,
    rank: Rank,
    ranks: usize,
    layers: Vec<Layer>,
}

impl Sharded {
    /// The rank's numbers before the first step.
    ///
    /// # Errors
    /// [`crate::Error::Backprop`] if the sizes are no network.
    pub fn new(job: &Job, level: Level, rank: Rank, ranks: usize) -> Result<Self> {
        let layers = job.model()?.layers.into_iter().map(|layer| {
            let mut parameters = [layer.weights, layer.bias].concat();
            let part = part_of(parameters.len(), rank, ranks);
            let length = |cut: bool| if cut { part.len() } else { parameters.len() };
            let gradient = vec![0.0; length(level >= Level::Gradients)];
            let update = Update::new(job.rule, length(level >= Level::Optimizer));
            if level >= Level::Parameters {
                parameters = parameters[part].to_vec();
            }
            Layer { inputs: layer.inputs, outputs: layer.outputs, parameters, gradient, update }
        });
        Ok(Self { level, rank, ranks, layers: layers.collect() })
    }

    /// The bytes on this rank: counted, not computed.
    pub fn memory(&self) -> Memory {
        let mut memory = Memory::default();
        for layer in &self.layers {
            memory.parameters += size_of_val(&layer.parameters[..]);
            memory.gradients += size_of_val(&layer.gradient[..]);
            memory.optimizer += layer.update.bytes();
        }
        memory
    }

    /// A layer with all its parameters. In stage 3 they come from the other ranks, and are forgotten after use.
    // ANCHOR: gathered
    fn gathered(
        &self,
        at: usize, // which layer
        comm: &mut dyn Communicator,
    ) -> Result<Dense<f32>> {
        let layer = &self.layers[at];
        let mut weights = layer.parameters.clone();
        if self.level >= Level::Parameters {
            weights = vec![0.0; layer.len()];
            let mine = part_of(layer.len(), self.rank, self.ranks);
            weights[mine].copy_from_slice(&layer.parameters);
            comm.all_gather(&mut weights)?;
        }
        let bias = weights.split_off(layer.inputs * layer.outputs);
        Ok(Dense { inputs: layer.inputs, outputs: layer.outputs, weights, bias })
    }
    // ANCHOR_END: gathered

    /// Takes a layer's gradient, as far as this rank's images go, and keeps the sum of all ranks: from stage 2 on only
    /// its own part of it.
    // ANCHOR: reduced
    fn reduced(
        &mut self,
        at: usize,
        mut gradient: Vec<f32>,
        comm: &mut dyn Communicator,
    ) -> Result<()> {
        let part = part_of(gradient.len(), self.rank, self.ranks);
        if self.level == Level::Nothing {
            comm.all_reduce(&mut gradient)?;
        } else {
            comm.reduce_scatter(&mut gradient)?; // only `part` is summed up
        }
        let kept = &mut self.layers[at].gradient;
        if self.level < Level::Gradients {
            *kept = gradient;
        } else {
            kept.copy_from_slice(&gradient[part]);
        }
        Ok(())
    }
    // ANCHOR_END: reduced

    /// Each rank moves the parameters that its optimizer knows, and tells the others, where they keep them.
    fn update(&mut self, comm: &mut dyn Communicator) -> Result<()> {
        let (level, rank, ranks) = (self.level, self.rank, self.ranks);
        for layer in &mut self.layers {
            let len = layer.len();
            // This rank's part of a buffer that is whole, or all of its own.
            let mine = |held: usize| match level {
                Level::Nothing => 0..len,
                _ if held == len => part_of(len, rank, ranks),
                _ => 0..held,
            };
            let gradient = &layer.gradient[mine(layer.gradient.len())];
            let own = mine(layer.parameters.len());
            layer.update.step(&mut layer.parameters[own], gradient);
            if (Level::Optimizer..Level::Parameters).contains(&level) {
                comm.all_gather(&mut layer.parameters)?;
            }
        }
        Ok(())
    }

    /// One step on a batch, of which this rank trains on its part. Returns the mean loss of the whole batch.
    ///
    /// # Errors
    /// [`crate::Error::Backprop`] if the network and the batch do not fit, and the communicator's.
    pub fn step(&mut self, batch: &Batch, comm: &mut dyn Communicator) -> Result<f64> {
        not_empty(batch)?;
        let mine = batch.part(part_of(batch.len(), self.rank, self.ranks))?;
        let last = self.layers.len() - 1;
        let (mut x, mut inputs) = (mine.x.clone(), Vec::new());
        for at in 0..=last {
            // A rank without images also gathers: the others need its part.
            let layer = self.gathered(at, comm)?;
            let mut y = if mine.is_empty() { Vec::new() } else { layer.forward(&x)? };
            if at < last {
                relu(&mut y);
            }
            inputs.push(x);
            x = y;
        }
        let (mut loss, mut dy) = (0.0, Vec::new());
        if !mine.is_empty() {
            let classes = self.layers[last].outputs;
            (loss, dy) = weighed_loss(&x, &mine.labels, classes, batch.len())?;
        }
        for (at, x) in inputs.iter().enumerate().rev() {
            let mut gradient = vec![0.0; self.layers[at].len()];
            // The first layer's weights are not needed in the backward pass: its inputs are images.
            if at > 0 {
                let layer = self.gathered(at, comm)?;
                if !mine.is_empty() {
                    gradient = flat(&layer, x, &dy)?;
                    dy = layer.backward_input(&dy)?;
                    relu_backward(x, &mut dy);
                }
            } else if !mine.is_empty() {
                let Layer { inputs, outputs, .. } = self.layers[0];
                gradient = flat(&Dense::zeros(inputs, outputs)?, x, &dy)?;
            }
            self.reduced(at, gradient, comm)?;
        }
        self.update(comm)?;
        let mut sum = [loss as f32];
        comm.all_reduce(&mut sum)?;
        Ok(f64::from(sum[0]))
    }

    /// The whole network's parameters, on every rank.
    ///
    /// # Errors
    /// The communicator's.
    pub fn parameters(&self, comm: &mut dyn Communicator) -> Result<Vec<f32>> {
        let mut all = Vec::new();
        for at in 0..self.layers.len() {
            let layer = self.gathered(at, comm)?;
            all.extend(layer.weights);
            all.extend(layer.bias);
        }
        Ok(all)
    }
}

/// The gradient of a layer's parameters, weights before bias.
fn flat(layer: &Dense<f32>, x: &[f32], dy: &[f32]) -> Result<Vec<f32>> {
    let derivatives = layer.backward_weights(x, dy)?;
    Ok([derivatives.weights, derivatives.bias].concat())
}

/// Trains this rank's part. All ranks return the whole network.
///
/// # Errors
/// As [`Sharded::step`].
pub fn train(
    job: &Job,
    batches: &[Batch],
    level: Level,
    comm: &mut dyn Communicator,
) -> Result<Trained> {
    let mut rank = Sharded::new(job, level, comm.rank(), comm.size())?;
    let losses = batches.iter().map(|batch| rank.step(batch, comm)).collect::<Result<_>>()?;
    Ok(Trained { parameters: rank.parameters(comm)?, losses })
}
