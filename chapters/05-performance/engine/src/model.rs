//! Models: lists of operations, and the parameters that they asked for. Their tensors have the names of chapter 4's model of
//! the same kind, so that weights go from one to the other.

use crate::{
    ops::{
        Op, attention::Attention, batch_norm::BatchNorm, conv::Conv, dense::Dense, gru::Gru,
        mean::Mean, norm::Norm, patches::Patches, pool::ReluPool, position::Position, relu::Relu,
        residual::Residual, segment::Segment,
    },
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

    /// The same with its operations in so many segments, as equal as can be, of which nothing is kept but what goes in; 0 keeps
    /// everything.
    #[must_use]
    pub fn recomputed(self, segments: usize) -> Self {
        let (all, mut ops) = (self.ops.len(), self.ops.into_iter());
        let segments = segments.min(all);
        let cut = |at: usize| {
            let own = (at + 1) * all / segments - at * all / segments;
            Box::new(Segment(ops.by_ref().take(own).collect())) as Box<dyn Op>
        };
        let cut: Vec<_> = (0..segments).map(cut).collect();
        Self { ops: cut.into_iter().chain(ops).collect(), ..self }
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
            Box::new(ReluPool::new("pool1", [28, 28, 16])),
            Box::new(Conv::new(p, "conv2", [14, 14, 16], 32, [5, 0])),
            Box::new(ReluPool::new("pool2", [10, 10, 32])),
            Box::new(Dense::new(p, "dense.0", 800, 128).relu_dropout(dropout)),
            Box::new(Dense::new(p, "dense.3", 128, 10)),
        ]
    })
}
// ANCHOR_END: models

/// Two residual blocks, each behind a layer that makes its channels: 24 of 14×14 pixels, then 48 of 7×7.
pub fn resnet(seed: u64) -> Model {
    Model::new(seed, 784, |p| {
        vec![
            Box::new(Conv::bare(p, "stem", [28, 28, 1], 24, 3)),
            Box::new(BatchNorm::new(p, "stem.norm", 24)),
            Box::new(ReluPool::new("stem.pool", [28, 28, 24])),
            block(p, "wide", 14, 24),
            Box::new(ReluPool::new("wide.pool", [14, 14, 24])),
            Box::new(Conv::bare(p, "grow", [7, 7, 24], 48, 1)),
            Box::new(BatchNorm::new(p, "grow.norm", 48).relu()),
            block(p, "deep", 7, 48),
            Box::new(Relu),
            Box::new(Mean(49)),
            Box::new(Dense::new(p, "dense", 48, 10)),
        ]
    })
}

/// Two convolutions and a way around them.
fn block(p: &mut Params, name: &str, side: usize, channels: usize) -> Box<dyn Op> {
    let [first, second] = ["first", "second"].map(|layer| format!("{name}.{layer}"));
    Box::new(Residual(vec![
        Box::new(Conv::bare(p, &first, [side, side, channels], channels, 3)),
        Box::new(BatchNorm::new(p, &format!("{first}.norm"), channels).relu()),
        Box::new(Conv::bare(p, &second, [side, side, channels], channels, 3)),
        Box::new(BatchNorm::new(p, &format!("{second}.norm"), channels)),
    ]))
}

/// A gated recurrent unit reads the image from the top row to the bottom one; a dense layer on its last state.
pub fn rnn(seed: u64) -> Model {
    Model::new(seed, 784, |p| {
        vec![
            Box::new(Gru::new(p, "", [28, 28], 128)),
            Box::new(Dense::straight(p, "dense", 128, 10).near()),
        ]
    })
}

/// Every patch of the image looks at every other one; a dense layer on the mean of all.
pub fn transformer(seed: u64) -> Model {
    Model::new(seed, 784, |p| {
        vec![
            Box::new(Patches { image: 28, patch: 7 }),
            Box::new(Dense::straight(p, "embed", 49, 64).near()),
            Box::new(Position::new(p, "position", [16, 64])),
            Box::new(attention(p, "block1")),
            Box::new(layers(p, "block1")),
            Box::new(attention(p, "block2")),
            Box::new(layers(p, "block2")),
            Box::new(Mean(16)),
            Box::new(Norm::new(p, "norm", 64)),
            Box::new(Dense::straight(p, "dense", 64, 10).near()),
        ]
    })
}

/// Attention between 16 patches of 64 numbers, with 4 heads.
fn attention(p: &mut Params, block: &str) -> Residual {
    Residual(vec![
        Box::new(Norm::new(p, &format!("{block}.norm1"), 64)),
        Box::new(Attention::new(p, &format!("{block}.attention"), [16, 64], 4)),
        Box::new(Dense::straight(p, &format!("{block}.attention.merge"), 64, 64).near()),
    ])
}

/// Two dense layers for each patch.
fn layers(p: &mut Params, block: &str) -> Residual {
    Residual(vec![
        Box::new(Norm::new(p, &format!("{block}.norm2"), 64)),
        Box::new(Dense::straight(p, &format!("{block}.wide"), 64, 128).near().relu()),
        Box::new(Dense::straight(p, &format!("{block}.narrow"), 128, 64).near()),
    ])
}
