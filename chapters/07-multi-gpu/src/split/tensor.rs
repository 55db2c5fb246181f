//! Tensor parallel: the products themselves are split.
//!
//! Shoeybi and others 2019, "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism",
//! section 3. Of two layers the first is cut by columns: each rank has some of the hidden units, with all their inputs,
//! and can apply the activation to them. The second is cut by rows: each rank's hidden units give a part of every
//! output's sum, and one all-reduce adds the parts up. On the backward pass it is the same, the other way round.

use crate::{Communicator, Rank, Result, part_of};
use backprop::{
    activation::{relu, relu_backward},
    dense::{Dense, Derivatives},
    mlp::Mlp,
};

/// One layer that every rank of a group has, or this rank's part of two.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A whole layer.
    Whole(Dense<f32>),
    /// Two layers, cut over the ranks of a group.
    Pair(Pair),
}

/// This rank's part of two layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The inputs of the first layer.
    inputs: usize,
    /// The outputs of the second one.
    outputs: usize,
    /// Some columns of the first layer, and as many rows of the second;
    /// none if there are more ranks than hidden units.
    parts: Option<(Dense<f32>, Dense<f32>)>,
}

/// The columns `part` of a layer: some of its outputs.
fn columns(layer: &Dense<f32>, part: &std::ops::Range<usize>) -> Dense<f32> {
    let rows = layer.weights.chunks_exact(layer.outputs);
    Dense {
        inputs: layer.inputs,
        outputs: part.len(),
        weights: rows.flat_map(|row| &row[part.clone()]).copied().collect(),
        bias: layer.bias[part.clone()].to_vec(),
    }
}

/// The rows `part` of a layer: some of its inputs. The bias must be added once, so rank 0 alone has it.
fn rows(layer: &Dense<f32>, part: &std::ops::Range<usize>, with_bias: bool) -> Dense<f32> {
    let width = layer.outputs;
    Dense {
        inputs: part.len(),
        outputs: width,
        weights: layer.weights[part.start * width..part.end * width].to_vec(),
        bias: if with_bias { layer.bias.clone() } else { vec![0.0; width] },
    }
}

impl Pair {
    /// The part of rank `rank` out of `ranks`.
    pub fn of(first: &Dense<f32>, second: &Dense<f32>, rank: Rank, ranks: usize) -> Self {
        let part = part_of(first.outputs, rank, ranks);
        let parts = (!part.is_empty())
            .then(|| (columns(first, &part), rows(second, &part, rank == Rank(0))));
        Self { inputs: first.inputs, outputs: second.outputs, parts }
    }

    /// The outputs of both layers, the same on every rank, and this rank's hidden units, for the backward pass.
    ///
    /// # Errors
    /// [`crate::Error::Backprop`] if `x` does not fit, and the communicator's.
    // ANCHOR: forward
    pub fn forward(
        &self,
        x: &[f32], // the same on every rank
        comm: &mut dyn Communicator,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let mut hidden = Vec::new();
        let mut y = vec![0.0; x.len() / self.inputs * self.outputs];
        if let Some((columns, rows)) = &self.parts {
            hidden = columns.forward(x)?;
            relu(&mut hidden); // of whole sums: no message needed
            y = rows.forward(&hidden)?;
        }
        comm.all_reduce(&mut y)?; // the only one in the forward pass
        Ok((y, hidden))
    }
    // ANCHOR_END: forward

    /// This rank's part of the gradient, and the derivatives of the input if they are asked for.
    ///
    /// # Errors
    /// [`crate::Error::Backprop`] if something does not fit, and the communicator's.
    pub fn backward(
        &self,
        (x, hidden): (&[f32], &[f32]),
        dy: &[f32],
        input: bool,
        comm: &mut dyn Communicator,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        let (mut flat, mut dx) = (Vec::new(), Vec::new());
        if input {
            dx = vec![0.0; x.len()];
        }
        // ANCHOR: backward
        if let Some((columns, rows)) = &self.parts {
            let mut second = rows.backward_weights(hidden, dy)?;
            if comm.rank() != Rank(0) {
                second.bias.fill(0.0); // rank 0's alone
            }
            let mut dhidden = rows.backward_input(dy)?;
            relu_backward(hidden, &mut dhidden);
            flat = joined([columns.backward_weights(x, &dhidden)?, second]);
            if input {
                dx = columns.backward_input(&dhidden)?;
            }
        }
        comm.all_reduce(&mut dx)?; // the only one in the backward pass
        // ANCHOR_END: backward
        Ok((flat, dx))
    }
}

/// The derivatives of some layers, one after the other.
fn joined<const N: usize>(layers: [Derivatives<f32>; N]) -> Vec<f32> {
    layers.into_iter().flat_map(|layer| [layer.weights, layer.bias]).flatten().collect()
}

impl Block {
    /// The outputs, and what the backward pass needs of the inside.
    ///
    /// # Errors
    /// As [`Pair::forward`].
    pub fn forward(&self, x: &[f32], comm: &mut dyn Communicator) -> Result<(Vec<f32>, Vec<f32>)> {
        match self {
            Self::Whole(layer) => Ok((layer.forward(x)?, Vec::new())),
            Self::Pair(pair) => pair.forward(x, comm),
        }
    }

    /// The gradient of this rank's parameters, and the derivatives of the input if they are asked for.
    ///
    /// # Errors
    /// As [`Pair::backward`].
    pub fn backward(
        &self,
        (x, inside): (&[f32], &[f32]),
        dy: &[f32],
        input: bool,
        comm: &mut dyn Communicator,
    ) -> Result<(Vec<f32>, Vec<f32>)> {
        match self {
            Self::Whole(layer) => {
                let flat = joined([layer.backward_weights(x, dy)?]);
                let dx = if input { layer.backward_input(dy)? } else { Vec::new() };
                Ok((flat, dx))
            }
            Self::Pair(pair) => pair.backward((x, inside), dy, input, comm),
        }
    }

    /// This rank's weights and biases, in the order of the gradient.
    pub fn tensors(&self) -> impl Iterator<Item = &[f32]> {
        let (one, two) = match self {
            Self::Whole(layer) => (Some(layer), None),
            Self::Pair(pair) => pair.parts.as_ref().map(|(a, b)| (a, b)).unzip(),
        };
        one.into_iter().chain(two).flat_map(|layer| [&layer.weights[..], &layer.bias[..]])
    }

    /// [`Block::tensors`], to be changed.
    pub fn tensors_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let (one, two) = match self {
            Self::Whole(layer) => (Some(layer), None),
            Self::Pair(pair) => pair.parts.as_mut().map(|(a, b)| (a, b)).unzip(),
        };
        one.into_iter().chain(two).flat_map(|layer| [&mut layer.weights[..], &mut layer.bias[..]])
    }

    /// How many layers of the network it represents.
    pub fn layers(&self) -> usize {
        match self {
            Self::Whole(_) => 1,
            Self::Pair(_) => 2,
        }
    }

    /// How many columns its outputs have.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Whole(layer) => layer.outputs,
            Self::Pair(pair) => pair.outputs,
        }
    }

    /// How many columns its inputs have.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Whole(layer) => layer.inputs,
            Self::Pair(pair) => pair.inputs,
        }
    }

    /// Writes this rank's numbers to their positions in a network whose layers from `at` it represents. What several
    /// ranks have, rank 0 writes: the sum over the ranks of a group is then the network.
    pub fn write(&self, model: &mut Mlp<f32>, at: usize, rank: Rank, ranks: usize) {
        match self {
            Self::Whole(layer) if rank == Rank(0) => model.layers[at].clone_from(layer),
            Self::Whole(_) => {}
            Self::Pair(pair) => {
                let Some((columns, rows)) = &pair.parts else { return };
                let [first, second] = &mut model.layers[at..at + 2] else { return };
                let part = part_of(first.outputs, rank, ranks);
                let whole = first.weights.chunks_exact_mut(first.outputs);
                for (to, from) in whole.zip(columns.weights.chunks_exact(columns.outputs)) {
                    to[part.clone()].copy_from_slice(from);
                }
                first.bias[part.clone()].copy_from_slice(&columns.bias);
                let width = second.outputs;
                second.weights[part.start * width..part.end * width].copy_from_slice(&rows.weights);
                if rank == Rank(0) {
                    second.bias.copy_from_slice(&rows.bias);
                }
            }
        }
    }
}
