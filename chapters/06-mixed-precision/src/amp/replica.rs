//! A model's copy in f16, and its gradients back in f32.
//!
//! dfdx calls the number type `AMP<f16>`: numbers are stored in f16, and sums are made in f32. `to_dtype` converts a
//! tensor where it lies. On CUDA dfdx compiles that kernel when the program runs, with the toolkit's headers at the place
//! where they were when the program was built: build the program on the machine that runs it.

use dfdx::{
    dtypes::{AMP, f16},
    nn::modules::{Dropout, Linear, ReLU},
    prelude::*,
    tensor_ops::Device,
};
use training::{
    Error,
    engine::Engine,
    model::{CLASSES, Network, PIXELS, add_gradient},
};

/// A number in f16 whose sums are made in f32.
pub type H = AMP<f16>;

/// A device that also computes in f16.
pub trait HalfEngine: Engine + Device<H> {}

impl<D: Engine + Device<H>> HalfEngine for D {}

/// Images in f16: (batch, 784).
pub type HalfImages<D, T = NoneTape> = Tensor<(usize, Const<PIXELS>), H, D, T>;
/// Scores in f16: (batch, 10).
pub type HalfLogits<D, T = NoneTape> = Tensor<(usize, Const<CLASSES>), H, D, T>;
/// The tape of a step in f16.
pub type HalfTape<D> = OwnedTape<H, D>;
/// The copy of a model in f16.
pub type Half<M, D> = <M as TensorCollection<f32, D>>::To<H, D>;

/// A trainable model in f16.
pub trait HalfModel<D: HalfEngine>: TensorCollection<H, D> {
    /// Scores for training images, with every operation on the tape.
    ///
    /// # Errors
    /// The device's own.
    fn learn(
        &mut self,
        images: HalfImages<D, HalfTape<D>>,
    ) -> Result<HalfLogits<D, HalfTape<D>>, D::Err>;
}

impl<D: HalfEngine> HalfModel<D> for Linear<PIXELS, CLASSES, H, D> {
    fn learn(
        &mut self,
        images: HalfImages<D, HalfTape<D>>,
    ) -> Result<HalfLogits<D, HalfTape<D>>, D::Err> {
        self.try_forward_mut(images)
    }
}

/// Chapter 4's perceptron in f16.
type HalfMlp<D> = ((Linear<PIXELS, 128, H, D>, ReLU), Dropout, Linear<128, CLASSES, H, D>);

impl<D: HalfEngine> HalfModel<D> for HalfMlp<D> {
    fn learn(
        &mut self,
        images: HalfImages<D, HalfTape<D>>,
    ) -> Result<HalfLogits<D, HalfTape<D>>, D::Err> {
        self.try_forward_mut(images)
    }
}

/// Copies a model into another number type, with what is not a tensor: dfdx's own `to_dtype` would set the fraction of
/// dropout back to its default.
struct Copied;

impl<D: HalfEngine> TensorVisitor<f32, D> for Copied {
    type Viewer = ViewTensorRef;
    type Err = D::Err;
    type E2 = H;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        _: TensorOptions<S, f32, D>,
        tensor: &Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, H, D>>, D::Err> {
        tensor.clone().try_to_dtype().map(Some)
    }

    fn visit_scalar<N: num_traits::NumCast>(
        &mut self,
        options: ScalarOptions<N>,
        value: &N,
    ) -> Result<Option<N>, D::Err> {
        let same = value.to_f64().and_then(N::from);
        Ok(Some(same.unwrap_or(options.default)))
    }
}

/// The copy of a model in f16, each number rounded to the nearest.
///
/// # Errors
/// [`Error::Device`].
pub fn halved<M: Network<D>, D: HalfEngine>(model: &M) -> Result<Half<M, D>, Error> {
    M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut Copied })
        .map_err(Error::device)?
        .ok_or_else(|| Error::Device("a tensor was not copied".into()))
}

/// Takes gradients out of f16, one tensor after the other.
struct Unscale<'g, D: HalfEngine> {
    grads: &'g Gradients<H, D>,
    scale: f32,
    /// Zero, unless a number was not finite. It stays on the device until all are done.
    sum: Option<Tensor<Rank0, f32, D>>,
}

// ANCHOR: unscale
impl<D: HalfEngine> TensorVisitor<H, D> for Unscale<'_, D> {
    type Viewer = ViewTensorRef;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        _: TensorOptions<S, H, D>,
        weights: &Tensor<S, H, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        let g = self.grads.get(weights).try_to_dtype::<f32>()?;
        // Zero times a number is zero; times infinity or NaN it is NaN. All
        // sums are one on the device: the host waits once, not for each tensor.
        let sum = g.clone().try_mul(0.0)?.try_sum::<Rank0, _>()?;
        self.sum = Some(match self.sum.take() {
            Some(others) => others.try_add(sum)?,
            None => sum,
        });
        g.try_mul(1.0 / self.scale).map(Some)
    }
}
// ANCHOR_END: unscale

/// The gradients of a model in f16, in f32 and without their factor: a model whose numbers they are. `None` if one of
/// them is infinite or not a number.
///
/// # Errors
/// The device's own.
pub fn unscaled<M, D>(
    half: &Half<M, D>,
    grads: &Gradients<H, D>,
    scale: f32,
) -> Result<Option<M>, D::Err>
where
    D: HalfEngine,
    M: Network<D>,
    Half<M, D>: TensorCollection<H, D, To<f32, D> = M>,
{
    let mut unscale = Unscale { grads, scale, sum: None };
    let model = <Half<M, D> as TensorCollection<H, D>>::iter_tensors(&mut RecursiveWalker {
        m: half,
        f: &mut unscale,
    })?;
    // The one number that the CPU waits for.
    let finite = unscale.sum.is_none_or(|sum| sum.as_vec().iter().all(|sum| sum.is_finite()));
    Ok(model.filter(|_| finite))
}

/// Puts the numbers of one model into the gradients of another.
struct Load<D: Storage<f32>>(Option<Gradients<f32, D>>);

impl<D: Engine> TensorVisitor<f32, D> for Load<D> {
    type Viewer = (ViewTensorRef, ViewTensorRef);
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, D>,
        (weights, g): (&Tensor<S, f32, D>, &Tensor<S, f32, D>),
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        if let Some(grads) = self.0.take().filter(|_| options.do_gradient_update) {
            self.0 = Some(add_gradient(grads, weights, g.clone())?);
        }
        Ok(None)
    }
}

/// Gradients of `model` that are the numbers of `g`.
///
/// # Errors
/// The device's own.
pub fn loaded<M: Network<D>, D: Engine>(model: &M, g: &M) -> Result<Gradients<f32, D>, D::Err> {
    let mut load = Load(Some(model.try_alloc_grads()?));
    M::iter_tensors(&mut RecursiveWalker { m: (model, g), f: &mut load })?;
    Ok(load.0.unwrap_or_else(Gradients::leaky))
}
