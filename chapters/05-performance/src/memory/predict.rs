//! What a step needs, before it runs: chapter 3's counter, and what dfdx keeps beyond it.
//!
//! Chapter 3's [`Bytes`] are what a step must keep. A library keeps more, in ways that can be read in its source
//! (dfdx 0.13.0: `tensor_ops/utilities/ops.rs`, `tensor/gradients.rs`):
//!
//! - Forward: `ReLU` and dropout keep what they were given *and* make a new result, which the next product keeps. The
//!   counter works in place.
//! - Backward: the gradient of every intermediate result stays until the whole backward pass is over. The counter frees
//!   it after its last use. The gradient of the images is among them, though it is unused.
//!
//! A [`Timeline`] plays a step operation by operation, forward and back, and finds the highest point.

use crate::{Error, Result};
use backprop::{
    count::{Counts, Layer, Model, Row},
    fits::{Bytes, Moves},
};

/// Bytes of an f32.
const F32: u64 = 4;
/// Rows of patches that chapter 4's convolution multiplies at once, and images of one of its tasks (`windows.rs`).
const WINDOW_ROWS: u64 = 192;
const WINDOW_TASK: u64 = 16;

/// One operation of a step, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// Forward: allocated and still there when it is done.
    pub makes: u64,
    /// Forward: freed when it is done, such as an unused input.
    pub drops: u64,
    /// Forward: needed only while it runs.
    pub aside: u64,
    /// Backward: gradients of its inputs, which stay until the pass ends.
    pub gradients: u64,
    /// Backward: what it kept for this moment, freed when it is done.
    pub kept: u64,
    /// Backward: needed only while it runs.
    pub aside_back: u64,
}

// ANCHOR: peak
/// A step, operation by operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Bytes that are there all the time: weights, gradients, Adam's means.
    pub fixed: u64,
    /// In the order of the forward pass.
    pub operations: Vec<Operation>,
}

impl Timeline {
    /// The most bytes at a time.
    pub fn peak(&self) -> u64 {
        let (mut now, mut peak) = (self.fixed, self.fixed);
        for op in &self.operations {
            now += op.makes;
            peak = peak.max(now + op.aside);
            now -= op.drops;
        }
        for op in self.operations.iter().rev() {
            now += op.gradients;
            peak = peak.max(now + op.aside_back);
            now -= op.kept;
        }
        peak
    }
    // ANCHOR_END: peak

    /// The batch itself, which the first layer keeps.
    pub(crate) fn images(&mut self, batch: u64, numbers: u64) {
        self.operations.push(Operation { makes: F32 * batch * numbers, ..Operation::default() });
    }

    /// A dense layer: the product keeps its input; the bias is added in place, but has a gradient buffer of its own.
    pub(crate) fn dense(&mut self, batch: u64, inputs: u64, units: u64) {
        let [x, y] = [inputs, units].map(|numbers| F32 * batch * numbers);
        self.operations.push(Operation { makes: y, gradients: x, kept: x, ..Operation::default() });
        self.operations.push(Operation { gradients: y, ..Operation::default() });
    }

    /// `ReLU` or dropout: keeps its input, and makes a separate result.
    pub(crate) fn each(&mut self, batch: u64, numbers: u64) {
        let y = F32 * batch * numbers;
        self.operations.push(Operation { makes: y, gradients: y, kept: y, ..Operation::default() });
    }

    /// Softmax and cross-entropy of `classes` scores: the powers, the logarithms (in place of the scores) and the
    /// targets are kept; each of the five steps of the way has its gradient.
    pub(crate) fn loss(&mut self, batch: u64, classes: u64) {
        let (scores, rows) = (F32 * batch * classes, F32 * batch);
        self.operations.push(Operation {
            makes: 2 * scores + rows, // powers and targets, the sums' logarithms
            aside: scores,            // the products, until they are summed
            gradients: 5 * scores + 2 * rows,
            kept: 3 * scores + rows,
            ..Operation::default()
        });
    }

    /// Chapter 4's convolution on the CPU: keeps a copy of its input and of its filters, and cuts patches for a few
    /// images at a time in each of `threads` threads.
    fn conv(&mut self, batch: u64, threads: u64, input: u64, row: &Row) {
        let [x, y, w] = [batch * input, batch * numbers(row), row.parameters].map(|n| F32 * n);
        let places = row.output.iter().skip(1).product::<usize>().max(1) as u64;
        let group = WINDOW_ROWS.div_ceil(places).min(WINDOW_TASK);
        // A small batch is one thread's task: the others cut nothing.
        let patches = |task: u64| F32 * group * row.unrolled * threads.min(batch.div_ceil(task));
        self.operations.push(Operation {
            makes: y + x + w,
            drops: x,
            aside: patches(group),
            gradients: x,
            kept: x + w,
            aside_back: 2 * patches(WINDOW_TASK) + batch.div_ceil(WINDOW_TASK) * w,
        });
    }

    /// Chapter 4's pool on the CPU: keeps where each largest number was.
    fn pool(&mut self, batch: u64, input: u64, row: &Row) {
        let [x, y] = [input, numbers(row)].map(|n| F32 * batch * n);
        self.operations.push(Operation {
            makes: 2 * y,
            drops: x,
            aside: x,
            gradients: x,
            kept: y,
            ..Operation::default()
        });
    }
}

/// Numbers of a layer's output.
fn numbers(row: &Row) -> u64 {
    row.output.iter().product::<usize>() as u64
}

/// A timeline of a step, or the error why there is none.
pub type Walk = Result<Timeline>;

/// A step of a described model in dfdx on the CPU, with chapter 4's convolution, `threads` threads and `moves` as its
/// optimizer.
///
/// # Errors
/// [`Error::Config`] if the model can't be, or if the batch is empty.
pub fn timeline(model: &Model, batch: u64, moves: Moves, threads: u64) -> Walk {
    let counts = counted(model, batch)?;
    let fixed = Bytes::of(&counts, 0, moves).total();
    let mut step = Timeline { fixed, operations: Vec::new() };
    let mut inputs = counts.input;
    step.images(batch, inputs);
    for (layer, row) in model.layers.iter().zip(&counts.rows) {
        match layer {
            Layer::Dense { units } => step.dense(batch, inputs, *units as u64),
            Layer::Relu | Layer::Dropout { .. } => step.each(batch, inputs),
            Layer::Conv { .. } => step.conv(batch, threads, inputs, row),
            Layer::Pool { .. } => step.pool(batch, inputs, row),
            Layer::Flatten => {} // another shape for the same numbers
        }
        inputs = numbers(row);
    }
    step.loss(batch, inputs);
    Ok(step)
}

/// Chapter 3's count of a model, for a batch that is not empty.
fn counted(model: &Model, batch: u64) -> Result<Counts> {
    if batch == 0 {
        return Err(Error::Config("a batch needs at least one image".to_owned()));
    }
    model.count().map_err(|e| Error::Config(e.to_string()))
}

/// What a step must keep by chapter 3's counter: no copies, and no gradient longer than it is needed.
///
/// # Errors
/// [`Error::Config`] if the model can't be.
pub fn least(model: &Model, batch: u64, moves: Moves) -> Result<Bytes> {
    let counts = counted(model, batch)?;
    Ok(Bytes::of(&counts, batch, moves))
}

/// Chapter 4's convolutional network, described.
pub fn cnn() -> Model {
    let conv = |channels, padding| Layer::Conv { channels, size: 5, stride: 1, padding };
    Model {
        name: "cnn".to_owned(),
        input: vec![1, 28, 28],
        layers: vec![
            conv(16, 2),
            Layer::Relu,
            Layer::Pool { size: 2 },
            conv(32, 0),
            Layer::Relu,
            Layer::Pool { size: 2 },
            Layer::Flatten,
            Layer::Dense { units: 128 },
            Layer::Relu,
            Layer::Dropout { rate: 0.2 },
            Layer::Dense { units: 10 },
        ],
    }
}

/// Chapter 4's network of two dense layers, described.
///
/// # Errors
/// None: the name is known.
pub fn mlp() -> Result<Model> {
    Model::named("mlp").map_err(|e| Error::Config(e.to_string()))
}
