//! Two networks, each in dfdx's layers and in faster operations: chapter 4's 784-128-10, and the deeper
//! 784-512-128-10. The faster ones are networks as chapter 4 understands them: `training::train_network` trains
//! them with checkpoints, schedules and all.

use crate::engine::{
    encoder,
    layer::Behind,
    maps::convolve_relu_pool,
    normed::normed,
    rows::{Dense, Inputs, dense, drawn},
};
use dfdx::{
    nn::{
        modules::{Dropout, Linear, ReLU},
        tensor_collection::{ModuleVisitor, TensorCollection},
    },
    prelude::*,
    tensor_ops::Device,
};
use training::{
    cnn::Cnn,
    conv::Maps,
    fused::{Affine, FusedRows as _, linear},
    layers::Number,
    model::{Images, Learned, Logits, Network},
    norm::{Mode, Rows},
    resnet::{Block, Resnet},
    transformer::Transformer,
};

/// How the fast networks compute a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ways {
    /// Chapter 1's product; all else is dfdx's.
    Product,
    /// The first layer computes no gradient of the data.
    NoDataGradient,
    /// Product, bias, `ReLU` and dropout are one operation.
    #[default]
    Fused,
}

/// A hidden layer in one of the ways.
fn hidden<const I: usize, const O: usize, T: Mode<Cpu>>(
    rows: Rows<I, Cpu, T>,
    layer: &Dense<I, O>,
    inputs: Inputs,
    share: f64,
    ways: Ways,
) -> Result<Rows<O, Cpu, T>, CpuError> {
    if ways == Ways::Fused {
        let mask = drawn(rows.device(), share)?;
        return dense(rows, layer, inputs, Behind::Relu(mask));
    }
    let units = match ways {
        Ways::Product => Cpu::dense(rows, &layer.weight, &layer.bias)?,
        _ => dense(rows, layer, inputs, Behind::Nothing)?,
    };
    units.try_relu()?.try_dropout(share)
}

/// The same without a tape, for predictions.
fn relu<const I: usize, const O: usize>(
    rows: Rows<I, Cpu>,
    layer: &Dense<I, O>,
) -> Result<Rows<O, Cpu>, CpuError> {
    layer.forward(rows)?.try_relu()
}

/// Chapter 4's network out of faster operations.
#[derive(Clone, Debug)]
pub struct FastMlp<E: Dtype, D: Device<E>> {
    /// 784 pixels, 128 hidden units.
    pub one: Affine<784, 128, E, D>,
    /// 128 hidden units, 10 digits.
    pub two: Affine<128, 10, E, D>,
    /// The fraction of units that is left out.
    pub share: f64,
    /// How it computes.
    pub ways: Ways,
}

training::made_of!(FastMlp: one, two; share = 0.2, ways = Ways::default());

impl Network<Cpu> for FastMlp<f32, Cpu> {
    const DRAWS_PER_STEP: u64 = 1;

    fn learn<T: Mode<Cpu>>(&mut self, images: Images<Cpu, T>) -> Learned<Cpu, T> {
        let units = hidden(images, &self.one, Inputs::Data, self.share, self.ways)?;
        dense(units, &self.two, Inputs::Units, Behind::Nothing)
    }

    fn predict(&self, images: Images<Cpu>) -> Result<Logits<Cpu>, CpuError> {
        self.two.forward(relu(images, &self.one)?)
    }

    fn set_dropout(&mut self, share: f32) {
        self.share = f64::from(share);
    }
}

/// The deeper network out of faster operations.
#[derive(Clone, Debug)]
pub struct FastDeep<E: Dtype, D: Device<E>> {
    /// 784 pixels, 512 hidden units.
    pub one: Affine<784, 512, E, D>,
    /// 512 hidden units, 128 more.
    pub two: Affine<512, 128, E, D>,
    /// 128 hidden units, 10 digits.
    pub three: Affine<128, 10, E, D>,
    /// The fraction of units that is left out.
    pub share: f64,
    /// How it computes.
    pub ways: Ways,
}

training::made_of!(FastDeep: one, two, three; share = 0.2, ways = Ways::default());

impl Network<Cpu> for FastDeep<f32, Cpu> {
    const DRAWS_PER_STEP: u64 = 2;

    fn learn<T: Mode<Cpu>>(&mut self, images: Images<Cpu, T>) -> Learned<Cpu, T> {
        let units = hidden(images, &self.one, Inputs::Data, self.share, self.ways)?;
        let units = hidden(units, &self.two, Inputs::Units, self.share, self.ways)?;
        dense(units, &self.three, Inputs::Units, Behind::Nothing)
    }

    fn predict(&self, images: Images<Cpu>) -> Result<Logits<Cpu>, CpuError> {
        self.three.forward(relu(relu(images, &self.one)?, &self.two)?)
    }

    fn set_dropout(&mut self, share: f32) {
        self.share = f64::from(share);
    }
}

/// Chapter 4's convolutional network, each convolution with its `ReLU` and its pool in one operation.
#[derive(Clone, Debug)]
pub struct FastCnn<E: Dtype, D: Device<E>> {
    /// The network with its own operations.
    pub plain: Cnn<E, D>,
}

training::made_of!(FastCnn: plain);

impl FastCnn<f32, Cpu> {
    /// What the filters have found: (batch, 800).
    fn features<T: Mode<Cpu>>(
        &self,
        images: Images<Cpu, T>,
    ) -> Result<Tensor<(usize, Const<800>), f32, Cpu, T>, CpuError> {
        let Cnn { conv1, conv2, .. } = &self.plain;
        let batch = images.shape().0;
        let x = images.try_reshape_like(&(batch, 28, 28, Const::<1>))?;
        let x = convolve_relu_pool(x, &conv1.weight, &conv1.bias, 2, Inputs::Data)?;
        let x = convolve_relu_pool(x, &conv2.weight, &conv2.bias, 0, Inputs::Units)?;
        x.try_reshape_like(&(batch, Const))
    }
}

impl Network<Cpu> for FastCnn<f32, Cpu> {
    const DRAWS_PER_STEP: u64 = 1;

    fn learn<T: Mode<Cpu>>(&mut self, images: Images<Cpu, T>) -> Learned<Cpu, T> {
        let features = self.features(images)?;
        let (wide, _, dropout, narrow) = &self.plain.dense;
        let hidden = linear(wide, features)?.try_relu()?;
        linear(narrow, hidden.try_dropout(dropout.p)?)
    }

    fn predict(&self, images: Images<Cpu>) -> Result<Logits<Cpu>, CpuError> {
        let features = self.features(images)?;
        let (wide, _, _, narrow) = &self.plain.dense;
        linear(narrow, linear(wide, features)?.try_relu()?)
    }

    fn set_dropout(&mut self, share: f32) {
        Network::<Cpu>::set_dropout(&mut self.plain, share);
    }
}

/// Chapter 4's residual network, each layer with its normalisation, `ReLU` and pool in one operation.
#[derive(Clone, Debug)]
pub struct FastResnet<E: Dtype, D: Device<E>> {
    /// The network with its own operations, with which it predicts.
    pub plain: Resnet<E, D>,
}

training::made_of!(FastResnet: plain);

/// A block, and the pool behind it if there is one.
fn block<const C: usize, T: Mode<Cpu>>(
    x: Maps<C, Cpu, T>,
    block: &mut Block<C, f32, Cpu>,
    pooled: bool,
) -> Result<Maps<C, Cpu, T>, CpuError> {
    let around = x.retaped::<NoneTape>();
    let y = normed(x, &mut block.first, None, false, Inputs::Units)?;
    normed(y, &mut block.second, Some(&around), pooled, Inputs::Units)
}

impl Network<Cpu> for FastResnet<f32, Cpu> {
    const DRAWS_PER_STEP: u64 = 0;

    fn learn<T: Mode<Cpu>>(&mut self, images: Images<Cpu, T>) -> Learned<Cpu, T> {
        let Resnet { stem, wide, grow, deep, dense } = &mut self.plain;
        let batch = images.shape().0;
        let x = images.try_reshape_like(&(batch, 28, 28, Const::<1>))?;
        let x = normed(x, stem, None, true, Inputs::Data)?;
        let x = block(x, wide, true)?;
        let x = normed(x, grow, None, false, Inputs::Units)?;
        let means = block(x, deep, false)?.try_mean::<(usize, Const<48>), Axes2<1, 2>>()?;
        linear(dense, means)
    }

    fn predict(&self, images: Images<Cpu>) -> Result<Logits<Cpu>, CpuError> {
        self.plain.predict(images)
    }
}

/// Chapter 4's transformer, each block in two operations.
#[derive(Clone, Debug)]
pub struct FastTransformer<E: Dtype, D: Device<E>> {
    /// The network with its own operations, with which it predicts.
    pub plain: Transformer<E, D>,
}

training::made_of!(FastTransformer: plain);

impl Network<Cpu> for FastTransformer<f32, Cpu> {
    const DRAWS_PER_STEP: u64 = 0;

    fn learn<T: Mode<Cpu>>(&mut self, images: Images<Cpu, T>) -> Learned<Cpu, T> {
        self.plain.scores(images, encoder::block)
    }

    fn predict(&self, images: Images<Cpu>) -> Result<Logits<Cpu>, CpuError> {
        self.plain.predict(images)
    }
}

/// The deeper network in dfdx's own layers.
#[derive(Clone, Debug)]
pub struct StockDeep<E: Dtype, D: Device<E>>(pub StockLayers<E, D>);

/// dfdx's layers of 784-512-128-10.
pub type StockLayers<E, D> = (
    (Linear<784, 512, E, D>, ReLU, Dropout),
    (Linear<512, 128, E, D>, ReLU, Dropout),
    Linear<128, 10, E, D>,
);

impl<E: Number, D: Device<E>> TensorCollection<E, D> for StockDeep<E, D> {
    type To<E2: Dtype, D2: Device<E2>> = StockDeep<E2, D2>;

    fn iter_tensors<V: ModuleVisitor<Self, E, D>>(
        visitor: &mut V,
    ) -> Result<Option<Self::To<V::E2, V::D2>>, V::Err> {
        visitor.visit_fields(Self::module("layers", |s| &s.0, |s| &mut s.0), StockDeep)
    }
}

impl Network<Cpu> for StockDeep<f32, Cpu> {
    const DRAWS_PER_STEP: u64 = 2;

    fn learn<T: Mode<Cpu>>(&mut self, images: Images<Cpu, T>) -> Learned<Cpu, T> {
        let (one, two, three) = &self.0;
        let x = one.0.try_forward(images)?.try_relu()?.try_dropout(one.2.p)?;
        let x = two.0.try_forward(x)?.try_relu()?.try_dropout(two.2.p)?;
        three.try_forward(x)
    }

    fn predict(&self, images: Images<Cpu>) -> Result<Logits<Cpu>, CpuError> {
        self.0.try_forward(images)
    }

    fn set_dropout(&mut self, share: f32) {
        self.0.0.2.p = share;
        self.0.1.2.p = share;
    }
}
