//! Convolution on stable Rust: cut the images into patches, and it is a matrix product.
//!
//! Images have their channels last: (batch, height, width, channels), so that a row of a patch lies in
//! one piece in memory. [`convolve_gather`] and [`max_pool_by_choice`] use operations that dfdx has on every
//! device; the CPU has faster ones of its own in [`windows`](crate::models::windows), and tests check that they are equal.

use crate::models::layers::Number;
use dfdx::{nn::tensor_collection::TensorOptions, prelude::*, tensor_ops::Device};
use rand_distr::Uniform;

/// Images with `C` channels: (batch, height, width, C).
pub type Maps<const C: usize, D, T = NoneTape> = Tensor<(usize, usize, usize, Const<C>), f32, D, T>;
/// One patch in each row: (batch · height · width, K · K · channels).
pub type Patches<D, T = NoneTape> = Tensor<(usize, usize), f32, D, T>;

/// `CO` filters of K×K pixels over `CI` channels; one filter in each column.
pub type Filters<const CI: usize, const CO: usize, const K: usize, D, E = f32> =
    Tensor<Rank4<K, K, CI, CO>, E, D>;

/// `CO` filters of `K`×`K` pixels over `CI` channels, with a border of `PAD` zeros.
#[derive(Clone, Debug)]
pub struct Conv2d<
    const CI: usize,
    const CO: usize,
    const K: usize,
    const PAD: usize,
    E: Dtype,
    D: Device<E>,
> {
    /// One filter in each column.
    pub weight: Filters<CI, CO, K, D, E>,
    /// A number for each filter.
    pub bias: Tensor<Rank1<CO>, E, D>,
}

impl<const CI: usize, const CO: usize, const K: usize, const PAD: usize, D: Convolve>
    Conv2d<CI, CO, K, PAD, f32, D>
{
    /// (batch, h, w, CI) becomes (batch, h + 2·PAD − K + 1, w + 2·PAD − K + 1, CO).
    ///
    /// # Errors
    /// The device's own.
    pub fn forward<T: Tape<f32, D> + Merge<T>>(
        &self,
        maps: Maps<CI, D, T>,
    ) -> Result<Maps<CO, D, T>, D::Err> {
        D::convolve(maps, &self.weight, Some(&self.bias), PAD)
    }
}

/// A device with convolutions. Every error is the device's own.
#[allow(clippy::missing_errors_doc)]
pub trait Convolve: Device<f32> {
    /// The sums of every patch with every filter, and a number added for each filter if there are any.
    fn convolve<const CI: usize, const CO: usize, const K: usize, T>(
        maps: Maps<CI, Self, T>,
        filters: &Filters<CI, CO, K, Self>,
        bias: Option<&Tensor<Rank1<CO>, f32, Self>>,
        pad: usize,
    ) -> Result<Maps<CO, Self, T>, Self::Err>
    where
        T: Tape<f32, Self> + Merge<T>;

    /// The largest of each 2×2 pixels of each channel. Height and width must be even.
    fn max_pool<const C: usize, T: Tape<f32, Self>>(
        maps: Maps<C, Self, T>,
    ) -> Result<Maps<C, Self, T>, Self::Err>;
}

#[cfg(feature = "cuda")]
impl Convolve for Cuda {
    fn convolve<const CI: usize, const CO: usize, const K: usize, T>(
        maps: Maps<CI, Self, T>,
        filters: &Filters<CI, CO, K, Self>,
        bias: Option<&Tensor<Rank1<CO>, f32, Self>>,
        pad: usize,
    ) -> Result<Maps<CO, Self, T>, CudaError>
    where
        T: Tape<f32, Self> + Merge<T>,
    {
        convolve_gather(maps, filters, bias, pad)
    }

    fn max_pool<const C: usize, T: Tape<f32, Self>>(
        maps: Maps<C, Self, T>,
    ) -> Result<Maps<C, Self, T>, CudaError> {
        max_pool_by_choice(maps)
    }
}

/// A convolution is a matrix product: every patch with every filter.
///
/// # Errors
/// The device's own.
// ANCHOR: convolve
pub fn convolve_gather<const CI: usize, const CO: usize, const K: usize, D, T>(
    maps: Maps<CI, D, T>,
    filters: &Filters<CI, CO, K, D>,
    bias: Option<&Tensor<Rank1<CO>, f32, D>>,
    pad: usize,
) -> Result<Maps<CO, D, T>, D::Err>
where
    D: Device<f32>,
    T: Tape<f32, D> + Merge<T>,
{
    let &(batch, h, w, _) = maps.shape();
    let (h, w) = (h + 2 * pad + 1 - K, w + 2 * pad + 1 - K);
    let patches = patches_by_gather(maps, K, pad)?;
    let columns = (K * K * CI, Const::<CO>);
    let filters = filters.retaped::<T>().try_reshape_like(&columns)?;
    let mut sums = patches.try_matmul(filters)?;
    if let Some(bias) = bias {
        let bias = bias.retaped::<T>().try_broadcast_like(sums.shape())?;
        sums = sums.try_add(bias)?;
    }
    sums.try_reshape_like(&(batch, h, w, Const))
}
// ANCHOR_END: convolve

crate::made_of!(
    Conv2d<const CI, const CO, const K, const PAD>:
    weight = he(), bias = TensorOptions::reset_to_zeros()
);

/// Filters begin with random numbers of the variance 2 / inputs, which ReLU halves again. He et al. 2015,
/// equation 10.
pub(crate) fn he<const CI: usize, const CO: usize, const K: usize, E: Number, D: Device<E>>()
-> TensorOptions<Rank4<K, K, CI, CO>, E, D> {
    TensorOptions::reset_with(|t| {
        let inputs = E::from_usize(K * K * CI).unwrap_or(E::one());
        let bound = (E::from_f32(6.0).unwrap_or(E::one()) / inputs).sqrt();
        t.try_fill_with_distr(Uniform::new(-bound, bound))
    })
}

/// Which pixel each element of each patch of an `h`×`w` image reads, row by row; `None` is outside.
fn places(h: usize, w: usize, k: usize, pad: usize) -> Vec<Option<usize>> {
    let (out_h, out_w) = (h + 2 * pad + 1 - k, w + 2 * pad + 1 - k);
    let mut places = Vec::with_capacity(out_h * out_w * k * k);
    for (out_y, out_x) in (0..out_h).flat_map(|y| (0..out_w).map(move |x| (y, x))) {
        for (in_y, in_x) in (0..k).flat_map(|y| (0..k).map(move |x| (y, x))) {
            let (y, x) = ((out_y + in_y).wrapping_sub(pad), (out_x + in_x).wrapping_sub(pad));
            places.push((y < h && x < w).then(|| y * w + x));
        }
    }
    places
}

/// The `k`×`k` patch around every pixel, with a border of `pad` zeros, by dfdx's `gather`.
///
/// # Errors
/// The device's own.
pub fn patches_by_gather<const C: usize, D: Device<f32>, T: Tape<f32, D> + Merge<T>>(
    maps: Maps<C, D, T>,
    k: usize,
    pad: usize,
) -> Result<Patches<D, T>, D::Err> {
    let &(batch, h, w, _) = maps.shape();
    let dev = maps.device().clone();
    let places = places(h, w, k, pad);
    let count = places.len();
    let index: Vec<usize> = places.iter().map(|place| place.unwrap_or(0)).collect();
    let index = dev
        .try_tensor_from_vec(index, (count,))?
        .try_broadcast_like::<_, Axis<0>>(&(batch, count))?;
    let maps = maps.try_reshape_like(&(batch, h * w, Const::<C>))?;
    let mut patches: Tensor<(usize, usize, Const<C>), f32, D, T> = maps.try_gather(index)?;
    if pad > 0 {
        // What was read instead of the border counts nothing.
        let inside = places.iter().map(|place| f32::from(u8::from(place.is_some()))).collect();
        let inside = dev
            .try_tensor_from_vec::<(usize,)>(inside, (count,))?
            .try_broadcast_like::<_, Axes2<0, 2>>(patches.shape())?;
        patches = patches.try_mul(inside)?;
    }
    patches.try_reshape_like(&(batch * count / (k * k), k * k * C))
}

/// The largest of each 2×2 pixels of each channel, out of dfdx's operations. Height and width must be even.
///
/// dfdx's own `max` sends the gradient to all that are largest; here, as in PyTorch, it goes to the first of them.
///
/// # Errors
/// The device's own.
pub fn max_pool_by_choice<const C: usize, D: Device<f32>, T: Tape<f32, D>>(
    maps: Maps<C, D, T>,
) -> Result<Maps<C, D, T>, D::Err> {
    let &(batch, h, w, _) = maps.shape();
    let columns = larger(maps.try_reshape_like(&(batch * h * w / 2, 2usize, C))?)?;
    let largest = larger(columns.try_reshape_like(&(batch * h / 2, 2usize, w / 2 * C))?)?;
    largest.try_reshape_like(&(batch, h / 2, w / 2, Const))
}

/// Numbers in pairs of rows.
type Pairs<D, T> = Tensor<(usize, usize, usize), f32, D, T>;

/// The larger of each two, the first where they are equal: (count, 2, n) becomes (count, 1, n).
fn larger<D: Device<f32>, T: Tape<f32, D>>(pairs: Pairs<D, T>) -> Result<Pairs<D, T>, D::Err> {
    let (pairs, tape) = pairs.split_tape();
    let (second, tape) = pairs.clone().put_tape(tape).try_slice((.., 1..2, ..))?.split_tape();
    let first = pairs.put_tape(tape).try_slice((.., 0..1, ..))?;
    first.retaped::<NoneTape>().try_ge(&second)?.try_choose(first, second)
}
