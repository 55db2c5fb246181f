//! A deeper perceptron: each layer makes the gradients smaller on their way back.

use crate::amp::replica::{H, HalfEngine, HalfImages, HalfLogits, HalfModel, HalfTape};
use dfdx::{
    nn::modules::{Linear, ReLU, Repeated},
    prelude::*,
    tensor_ops::Device,
};
use training::{
    engine::Engine,
    model::{CLASSES, Images, Learned, Logits, Network, PIXELS},
    norm::Mode,
};

// ANCHOR: model
/// 784 pixels, eight layers of 128 hidden units, ten digits.
pub type Layers<E, D> = (
    (Linear<PIXELS, 128, E, D>, ReLU),
    Repeated<(Linear<128, 128, E, D>, ReLU), 7>,
    Linear<128, CLASSES, E, D>,
);
// ANCHOR_END: model

/// A perceptron with eight hidden layers.
#[derive(Clone, Debug)]
pub struct Deep<E: Dtype, D: Device<E>> {
    /// Its layers.
    pub layers: Layers<E, D>,
}

training::made_of!(Deep: layers);

impl<D: Engine> Network<D> for Deep<f32, D> {
    const DRAWS_PER_STEP: u64 = 0;

    fn learn<T: Mode<D>>(&mut self, images: Images<D, T>) -> Learned<D, T> {
        self.layers.try_forward(images)
    }

    fn predict(&self, images: Images<D>) -> Result<Logits<D>, D::Err> {
        self.layers.try_forward(images)
    }
}

impl<D: HalfEngine> HalfModel<D> for Deep<H, D> {
    fn learn(
        &mut self,
        images: HalfImages<D, HalfTape<D>>,
    ) -> Result<HalfLogits<D, HalfTape<D>>, D::Err> {
        self.layers.try_forward_mut(images)
    }
}
