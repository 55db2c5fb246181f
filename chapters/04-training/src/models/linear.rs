//! The linear model: one layer, a score for each digit. The second article's TensorFlow example.

use crate::models::{
    model::{Images, Learned, Logits, Network},
    norm::Mode,
};
use dfdx::{prelude::*, tensor_ops::Device};

/// 784 pixels, 10 digits: each score is a weighted sum of the pixels.
pub type Linear<D> = modules::Linear<784, 10, f32, D>;

impl<D: Device<f32>> Network<D> for Linear<D> {
    const DRAWS_PER_STEP: u64 = 0;

    fn learn<T: Mode<D>>(&mut self, images: Images<D, T>) -> Learned<D, T> {
        self.try_forward(images)
    }

    fn predict(&self, images: Images<D>) -> Result<Logits<D>, D::Err> {
        self.try_forward(images)
    }
}
