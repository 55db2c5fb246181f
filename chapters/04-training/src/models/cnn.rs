//! The convolutional network: filters that look at small patches, the same ones everywhere in the image.

use crate::models::{
    conv::{Conv2d, Convolve},
    model::{Images, Learned, Logits, Network},
    norm::Mode,
};
use dfdx::{prelude::*, tensor_ops::Device};

// ANCHOR: model
/// Two convolutions, each followed by ReLU and a pool, then two dense layers:
/// the network of LeCun et al. (1998), wider and with today's activations.
#[derive(Clone, Debug)]
pub struct Cnn<E: Dtype, D: Device<E>> {
    /// 28×28 pixels, 16 filters, pooled to 14×14.
    pub conv1: Conv2d<1, 16, 5, 2, E, D>,
    /// 14×14 to 10×10, 32 filters, pooled to 5×5.
    pub conv2: Conv2d<16, 32, 5, 0, E, D>,
    /// What the filters found, to the ten digits.
    pub dense: Dense<E, D>,
}
// ANCHOR_END: model

/// The dense layers: 800, 128 and 10 units.
pub type Dense<E, D> =
    (modules::Linear<800, 128, E, D>, ReLU, Dropout, modules::Linear<128, 10, E, D>);

/// What the filters have found: (batch, 800).
type Features<D, T> = Tensor<(usize, Const<800>), f32, D, T>;

crate::made_of!(Cnn: conv1, conv2, dense);

impl<D: Convolve> Cnn<f32, D> {
    /// The image's features: (batch, 800).
    fn features<T: Tape<f32, D> + Merge<T>>(
        &self,
        images: Images<D, T>,
    ) -> Result<Features<D, T>, D::Err> {
        let batch = images.shape().0;
        let x = images.try_reshape_like(&(batch, 28, 28, Const::<1>))?;
        let x = D::max_pool(self.conv1.forward(x)?.try_relu()?)?;
        let x = D::max_pool(self.conv2.forward(x)?.try_relu()?)?;
        x.try_reshape_like(&(batch, Const))
    }
}

impl<D: Convolve> Network<D> for Cnn<f32, D> {
    const DRAWS_PER_STEP: u64 = 1;

    fn learn<T: Mode<D>>(&mut self, images: Images<D, T>) -> Learned<D, T> {
        let features = self.features(images)?;
        let (wide, _, dropout, narrow) = &self.dense;
        let hidden = wide.try_forward(features)?.try_relu()?;
        narrow.try_forward(hidden.try_dropout(dropout.p)?)
    }

    fn predict(&self, images: Images<D>) -> Result<Logits<D>, D::Err> {
        self.dense.try_forward(self.features(images)?)
    }

    fn set_dropout(&mut self, share: f32) {
        self.dense.2.p = share;
    }
}
