//! A deeper perceptron: each layer makes the gradients smaller on their way back.

use crate::amp::replica::{H, HalfEngine, HalfImages, HalfLogits, HalfModel, HalfTape};
use dfdx::{
    nn::{
        modules::{Linear, ReLU, Repeated},
        tensor_collection::{ModuleVisitor, TensorCollection},
    },
    prelude::*,
    tensor_ops::Device,
};
use training::{
    engine::Engine,
    layers::Number,
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
pub struct Deep<E: Dtype, D: Device<E>>(pub Layers<E, D>);

impl<E: Number, D: Device<E>> TensorCollection<E, D> for Deep<E, D> {
    type To<E2: Dtype, D2: Device<E2>> = Deep<E2, D2>;

    fn iter_tensors<V: ModuleVisitor<Self, E, D>>(
        visitor: &mut V,
    ) -> Result<Option<Self::To<V::E2, V::D2>>, V::Err> {
        visitor.visit_fields(Self::module("layers", |s| &s.0, |s| &mut s.0), Deep)
    }
}

impl<D: Engine> Network<D> for Deep<f32, D> {
    const DRAWS_PER_STEP: u64 = 0;

    fn learn<T: Mode<D>>(&mut self, images: Images<D, T>) -> Learned<D, T> {
        self.0.try_forward(images)
    }

    fn predict(&self, images: Images<D>) -> Result<Logits<D>, D::Err> {
        self.0.try_forward(images)
    }
}

impl<D: HalfEngine> HalfModel<D> for Deep<H, D> {
    fn learn(
        &mut self,
        images: HalfImages<D, HalfTape<D>>,
    ) -> Result<HalfLogits<D, HalfTape<D>>, D::Err> {
        self.0.try_forward_mut(images)
    }
}
