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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_where_they_are() {
        let (dev, mut store) = (Cpu::default(), Store::leaky());
        let (one, two) = (Place::new(&dev, 3).unwrap(), Place::new(&dev, 5).unwrap());
        let at = lend(&mut store, [&one, &two], |[one, two]| {
            assert_eq!((&one[..], two.len()), (&[0.0; 3][..], 5));
            one.copy_from_slice(&[1.0, 2.0, 3.0]);
            Ok::<_, CpuError>(one.as_ptr())
        });
        let again = lend(&mut store, [&one], |[one]| {
            assert_eq!(one[..], [1.0, 2.0, 3.0]);
            Ok::<_, CpuError>(one.as_ptr())
        });
        assert_eq!(at.unwrap(), again.unwrap());
    }

    #[test]
    fn they_come_back_when_the_work_fails() {
        let (dev, mut store) = (Cpu::default(), Store::leaky());
        let place = Place::new(&dev, 2).unwrap();
        let failed = lend(&mut store, [&place], |[numbers]| {
            numbers[1] = 4.0;
            Err::<(), _>(CpuError::WrongNumElements)
        });
        assert!(failed.is_err());
        lend(&mut store, [&place], |[numbers]| {
            assert_eq!(numbers[..], [0.0, 4.0]);
            Ok::<_, CpuError>(())
        })
        .unwrap();
    }

    #[test]
    fn a_backward_operation_finds_them() {
        let (dev, mut store) = (Cpu::default(), Store::leaky());
        let place = Place::new(&dev, 2).unwrap();
        let fill = |[p]: &mut [Vec<f32>; 1]| {
            p.fill(3.0);
            Ok::<_, CpuError>(())
        };
        lend(&mut store, [&place], fill).unwrap();
        let loss: Tensor<Rank0, f32, Cpu> = dev.zeros();
        let (loss, mut tape) = loss.traced(store).split_tape();
        let own = place.clone();
        tape.add_backward_op(move |store| {
            lend(store, [&own], |[p]| {
                p[0] += 1.0;
                Ok(())
            })
        });
        let mut store = loss.put_tape(tape).backward();
        let found = lend(&mut store, [&place], |[p]| Ok::<_, CpuError>(p.clone())).unwrap();
        assert_eq!(found, [4.0, 3.0]);
    }
}
