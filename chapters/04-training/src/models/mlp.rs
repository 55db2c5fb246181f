//! The multi-layer perceptron: the article's Keras example on dfdx.

use crate::models::{
    model::{Images, Learned, Logits, Network},
    norm::Mode,
};
use dfdx::{
    nn::modules::{Dropout, Linear, ReLU},
    prelude::*,
    tensor_ops::Device,
};

// ANCHOR: model
/// 784 pixels, 128 hidden units, 10 digits: a tuple is a sequence of layers.
pub type Mlp<D> = (
    (Linear<784, 128, f32, D>, ReLU), // Dense(128, activation="relu")
    Dropout,                          // Dropout(0.2): the rate is a setting
    Linear<128, 10, f32, D>,          // Dense(10); the softmax is in the loss
);
// ANCHOR_END: model

impl<D: Device<f32>> Network<D> for Mlp<D> {
    const DRAWS_PER_STEP: u64 = 1;

    fn learn<T: Mode<D>>(&mut self, images: Images<D, T>) -> Learned<D, T> {
        let ((wide, _), dropout, narrow) = self;
        let hidden = wide.try_forward(images)?.try_relu()?.try_dropout(dropout.p)?;
        narrow.try_forward(hidden)
    }

    fn predict(&self, images: Images<D>) -> Result<Logits<D>, D::Err> {
        self.try_forward(images)
    }

    fn set_dropout(&mut self, share: f32) {
        self.1.p = share;
    }
}
