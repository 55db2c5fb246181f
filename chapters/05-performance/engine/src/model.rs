//! Models: lists of operations, and the parameters that they asked for. Their tensors have the names of chapter 4's model of
//! the same kind, so that weights go from one to the other.

use crate::{
    ops::{Op, conv::Conv, dense::Dense, pool::ReluPool},
    params::Params,
};

/// A list of operations.
pub struct Model {
    /// The parameters that they asked for.
    pub params: Params,
    /// The operations, in order.
    pub ops: Vec<Box<dyn Op>>,
    /// Numbers of an image.
    pub inputs: usize,
}

impl Model {
    /// A model for images of so many numbers, whose first weights come from a seed.
    pub fn new(
        seed: u64,
        inputs: usize,
        ops: impl FnOnce(&mut Params) -> Vec<Box<dyn Op>>,
    ) -> Self {
        let mut params = Params::new(seed);
        let ops = ops(&mut params);
        Self { params, ops, inputs }
    }
}

/// 784 pixels, 10 digits.
pub fn linear(seed: u64) -> Model {
    Model::new(seed, 784, |p| vec![Box::new(Dense::new(p, "", 784, 10))])
}

// ANCHOR: models
/// 784 pixels, 128 hidden units, 10 digits.
pub fn mlp(seed: u64, dropout: f64) -> Model {
    Model::new(seed, 784, |p| {
        vec![
            Box::new(Dense::new(p, "0.0", 784, 128).relu_dropout(dropout)),
            Box::new(Dense::new(p, "2", 128, 10)),
        ]
    })
}

/// Two convolutions, each with `ReLU` and a pool, and two dense layers.
pub fn cnn(seed: u64, dropout: f64) -> Model {
    Model::new(seed, 784, |p| {
        vec![
            Box::new(Conv::new(p, "conv1", [28, 28, 1], 16, [5, 2])),
            Box::new(ReluPool::new("pool1", 28, 16)),
            Box::new(Conv::new(p, "conv2", [14, 14, 16], 32, [5, 0])),
            Box::new(ReluPool::new("pool2", 10, 32)),
            Box::new(Dense::new(p, "dense.0", 800, 128).relu_dropout(dropout)),
            Box::new(Dense::new(p, "dense.3", 128, 10)),
        ]
    })
}
// ANCHOR_END: models
