//! Buffers that stay in place. dfdx gives no access to a tensor's buffer: to read it is to copy it, and so is to write
//! it. Its store of gradients does give access to its buffers, because operations must add to them. So numbers that
//! stay from step to step are kept there: parameters, activations, gradients, and Adam's means.

use dfdx::prelude::*;
use std::mem::take;

/// dfdx's store of gradients: one buffer for each tensor that it was asked for.
pub type Store = Gradients<f32, Cpu>;

// ANCHOR: place
/// A buffer in the store. A tensor of one number is its name.
#[derive(Clone)]
pub struct Place {
    name: Tensor<Rank0, f32, Cpu>,
    len: usize,
}

impl Place {
    /// A buffer of `len` numbers, zero at first.
    ///
    /// # Errors
    /// The device's own.
    pub fn new(dev: &Cpu, len: usize) -> Result<Self, CpuError> {
        Ok(Self { name: dev.try_zeros()?, len })
    }
}

// ANCHOR_END: place
// ANCHOR: lend
/// Lends several buffers at once, and takes them back.
///
/// # Errors
/// The device's own, and what `work` fails with.
pub fn lend<const N: usize, T, E: From<Failed>>(
    store: &mut Store,
    places: [&Place; N],
    work: impl FnOnce(&mut [Vec<f32>; N]) -> Result<T, E>,
) -> Result<T, E> {
    let mut numbers = [const { Vec::new() }; N];
    for (place, numbers) in places.iter().zip(&mut numbers) {
        let kept = store.get_or_alloc_mut(&place.name).map_err(Failed)?;
        *numbers = take(&mut **kept);
        numbers.resize(place.len, 0.0); // the first time
    }
    let done = work(&mut numbers);
    for (place, numbers) in places.iter().zip(numbers) {
        **store.get_or_alloc_mut(&place.name).map_err(Failed)? = numbers;
    }
    done
}
// ANCHOR_END: lend

/// The device has failed.
#[derive(Debug)]
pub struct Failed(pub CpuError);

impl From<Failed> for CpuError {
    fn from(Failed(error): Failed) -> Self {
        error
    }
}

impl From<Failed> for backprop::Error {
    fn from(Failed(error): Failed) -> Self {
        crate::engine::failed(error)
    }
}
