//! The residual network: what a block computes is added to what it was given. He et al. 2016.

use crate::models::{
    conv::{Convolve, Filters, Maps, he},
    model::{Images, Learned, Logits, Network},
    norm::{BatchNorm, Mode, Norm, normalise},
};
use dfdx::{prelude::*, tensor_ops::Device};

/// Filters, then a batch normalisation, whose bias makes one of the filters' own needless.
#[derive(Clone, Debug)]
pub struct Layer<const CI: usize, const CO: usize, const K: usize, E: Dtype, D: Device<E>> {
    /// `CO` filters of K×K pixels over `CI` channels.
    pub weight: Filters<CI, CO, K, D, E>,
    /// The normalisation of their outputs.
    pub norm: Norm<CO, E, D>,
}

/// What a layer finds.
type Found<const C: usize, D, T> = Result<Maps<C, D, T>, <D as HasErr>::Err>;

// ANCHOR: block
/// Two layers of `C` channels, and a way around them that changes nothing.
#[derive(Clone, Debug)]
pub struct Block<const C: usize, E: Dtype, D: Device<E>> {
    /// The first layer.
    pub first: Layer<C, C, 3, E, D>,
    /// The second.
    pub second: Layer<C, C, 3, E, D>,
}

impl<const C: usize, D: Convolve + BatchNorm> Block<C, f32, D> {
    fn forward<T: Mode<D>>(&mut self, x: Maps<C, D, T>) -> Found<C, D, T> {
        let around = x.retaped::<T>();
        let y = self.first.forward(x)?.try_relu()?;
        self.second.forward(y)?.try_add(around)?.try_relu()
    }
}
// ANCHOR_END: block

/// Two blocks. The layer before each makes its channels, and the pool before it halves
/// height and width.
#[derive(Clone, Debug)]
pub struct Resnet<E: Dtype, D: Device<E>> {
    /// 28×28 pixels, 24 channels, then pooled to 14×14.
    pub stem: Layer<1, 24, 3, E, D>,
    /// 14×14 pixels, then pooled to 7×7.
    pub wide: Block<24, E, D>,
    /// 7×7 pixels, each by itself: from 24 channels to 48.
    pub grow: Layer<24, 48, 1, E, D>,
    /// 7×7 pixels, then their mean.
    pub deep: Block<48, E, D>,
    /// From 48 means to the ten digits.
    pub dense: modules::Linear<48, 10, E, D>,
}

impl<D: Convolve + BatchNorm> Resnet<f32, D> {
    fn forward<T: Mode<D>>(&mut self, images: Images<D, T>) -> Result<Logits<D, T>, D::Err> {
        let batch = images.shape().0;
        let x = images.try_reshape_like(&(batch, 28, 28, Const::<1>))?;
        let x = D::max_pool(self.stem.forward(x)?.try_relu()?)?;
        let x = D::max_pool(self.wide.forward(x)?)?;
        let x = self.grow.forward(x)?.try_relu()?;
        let x = self.deep.forward(x)?;
        let means = x.try_mean::<(usize, Const<48>), Axes2<1, 2>>()?;
        self.dense.try_forward(means)
    }
}

impl<const CI: usize, const CO: usize, const K: usize, D: Convolve + BatchNorm>
    Layer<CI, CO, K, f32, D>
{
    fn forward<T: Mode<D>>(&mut self, x: Maps<CI, D, T>) -> Found<CO, D, T> {
        normalise(D::convolve(x, &self.weight, None, K / 2)?, &mut self.norm)
    }
}

impl<D: Convolve + BatchNorm> Network<D> for Resnet<f32, D> {
    const DRAWS_PER_STEP: u64 = 0;

    fn learn<T: Mode<D>>(&mut self, images: Images<D, T>) -> Learned<D, T> {
        self.forward(images)
    }

    fn predict(&self, images: Images<D>) -> Result<Logits<D>, D::Err> {
        // The clone shares the parameters' memory. Without a tape nothing is changed in it.
        self.clone().forward(images)
    }
}

crate::made_of!(Layer<const CI, const CO, const K>: weight = he(), norm);

crate::made_of!(Block<const C>: first, second);

crate::made_of!(Resnet: stem, wide, grow, deep, dense);
