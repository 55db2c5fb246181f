//! The transformer: every patch of the image looks at every other one and takes from it what it needs.

use crate::models::{
    attention::attend,
    dense::{Affine, add_row},
    layers::Number,
    model::{CLASSES, Images, Learned, Logits, Network},
    norm::{Mode, Rows},
};
use dfdx::{
    nn::{modules::LayerNorm1D, tensor_collection::TensorOptions},
    prelude::*,
    tensor_ops::Device,
};
use rand_distr::Uniform;

pub use crate::models::attention::{HEAD, HEADS, PATCHES, WIDTH};

/// Pixels of a patch: 7×7.
pub const PATCH: usize = 49;
/// Hidden units of a block.
pub const WIDE: usize = 128;
/// Values that represent an image.
const PICTURE: usize = PATCHES * WIDTH;

/// The encoder of Vaswani et al. (2017) on patches of an image, as in
/// Dosovitskiy et al. (2020): each patch becomes 64 values.
#[derive(Clone, Debug)]
pub struct Transformer<E: Dtype, D: Device<E>> {
    /// 49 pixels to 64 values.
    pub embed: Affine<PATCH, WIDTH, E, D>,
    /// Added to them: where in the image the patch lies.
    pub position: Tensor<Rank2<PATCHES, WIDTH>, E, D>,
    /// The first block.
    pub block1: Block<E, D>,
    /// The second block.
    pub block2: Block<E, D>,
    /// Normalises the mean of all patches.
    pub norm: LayerNorm1D<WIDTH, E, D>,
    /// That mean, to the ten digits.
    pub dense: Affine<WIDTH, CLASSES, E, D>,
}

/// Attention between the patches, then two dense layers for each patch.
#[derive(Clone, Debug)]
pub struct Block<E: Dtype, D: Device<E>> {
    /// Before the attention.
    pub norm1: LayerNorm1D<WIDTH, E, D>,
    /// Between the patches.
    pub attention: Attention<E, D>,
    /// Before the dense layers.
    pub norm2: LayerNorm1D<WIDTH, E, D>,
    /// To the hidden units.
    pub wide: Affine<WIDTH, WIDE, E, D>,
    /// And back.
    pub narrow: Affine<WIDE, WIDTH, E, D>,
}

/// Attention between the patches.
#[derive(Clone, Debug)]
pub struct Attention<E: Dtype, D: Device<E>> {
    /// What a patch looks for.
    pub query: Affine<WIDTH, WIDTH, E, D>,
    /// What a patch offers.
    pub key: Affine<WIDTH, WIDTH, E, D>,
    /// What it passes on.
    pub value: Affine<WIDTH, WIDTH, E, D>,
    /// Joins the outputs of all heads.
    pub merge: Affine<WIDTH, WIDTH, E, D>,
}

crate::made_of!(Block: norm1, attention, norm2, wide, narrow);

crate::made_of!(Attention: query, key, value, merge);

crate::made_of!(Transformer: embed, position = small(), block1, block2, norm, dense);

/// What begins at random and hardly different from 0.
fn small<S: ConstShape, E: Number, D: Device<E>>() -> TensorOptions<S, E, D> {
    TensorOptions::reset_with(|t| {
        let bound = E::from_f32(0.03).unwrap_or(E::one());
        t.try_fill_with_distr(Uniform::new(-bound, bound))
    })
}

/// What is found for each patch.
type Found<D, T> = Result<Rows<WIDTH, D, T>, <D as HasErr>::Err>;

impl<D: Device<f32>> Attention<f32, D> {
    // ANCHOR: questions
    /// Every patch attends to all patches: a weighted sum of their values.
    fn forward<T: Mode<D>>(&self, patches: Rows<WIDTH, D, T>) -> Found<D, T> {
        let x = patches.retaped::<T>();
        let q = self.query.forward(patches)?;
        let k = self.key.forward(x.retaped::<T>())?;
        let v = self.value.forward(x)?;
        self.merge.forward(attend([q, k, v])?)
    }
    // ANCHOR_END: questions
}

impl<D: Device<f32>> Block<f32, D> {
    /// What attention and dense layers find is added to what was there.
    fn forward<T: Mode<D>>(&self, x: Rows<WIDTH, D, T>) -> Found<D, T> {
        let before = x.retaped::<T>();
        let x = self.attention.forward(normalise_rows(&self.norm1, x)?)?;
        let x = x.try_add(before)?;
        let before = x.retaped::<T>();
        let hidden = self.wide.forward(normalise_rows(&self.norm2, x)?)?.try_relu()?;
        self.narrow.forward(hidden)?.try_add(before)
    }
}

/// Each row with mean 0 and variance 1, then scaled and shifted as learned: layer normalisation (Ba, Kiros and Hinton 2016).
fn normalise_rows<const N: usize, D: Device<f32>, T: Mode<D>>(
    norm: &LayerNorm1D<N, f32, D>,
    rows: Rows<N, D, T>,
) -> Result<Rows<N, D, T>, D::Err> {
    T::whole(rows, |rows| norm.try_forward(rows))
}

impl<D: Device<f32>> Transformer<f32, D> {
    /// Patches to values, two blocks, and the mean of all patches decides.
    fn scores<T: Mode<D>>(&self, images: Images<D, T>) -> Learned<D, T> {
        let batch = images.shape().0;
        let x = self.embed.forward(patches(images)?)?;
        let place = self.position.clone().try_reshape::<Rank1<PICTURE>>()?;
        let x = add_row(x.try_reshape_like(&(batch, Const))?, &place)?;
        let x = x.try_reshape_like(&(batch * PATCHES, Const))?;
        let x = self.block1.forward(x)?;
        let x = self.block2.forward(x)?;
        let x = x.try_reshape_like(&(batch, Const::<PATCHES>, Const))?;
        let mean = x.try_mean::<_, Axis<1>>()?;
        let mean = normalise_rows(&self.norm, mean)?;
        self.dense.forward(mean)
    }
}

/// The 16 patches of each image, one in each row.
fn patches<D: Device<f32>, T: Tape<f32, D>>(
    images: Images<D, T>,
) -> Result<Rows<PATCH, D, T>, D::Err> {
    let batch = images.shape().0;
    let grid = (batch, Const::<4>, Const::<7>, Const::<4>, Const::<7>);
    let images = images.try_reshape_like(&grid)?.try_permute::<_, Axes5<0, 1, 3, 2, 4>>()?;
    images.try_reshape_like(&(batch * PATCHES, Const))
}

impl<D: Device<f32>> Network<D> for Transformer<f32, D> {
    const DRAWS_PER_STEP: u64 = 0;

    fn learn<T: Mode<D>>(&mut self, images: Images<D, T>) -> Learned<D, T> {
        self.scores(images)
    }

    fn predict(&self, images: Images<D>) -> Result<Logits<D>, D::Err> {
        self.scores(images)
    }
}
