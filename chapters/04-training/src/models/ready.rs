//! Gradients that are ready before the backward pass has ended.
//!
//! The last layer's gradient is there first, and whoever sums it with others may begin. A model says where: at a point of
//! its forward pass, [`ready`] names a layer that comes behind it. Back at that point, nothing more is added to the layer's
//! gradients. Who takes the step may [`listen`]; as with `autocast`, the model does not know.

use crate::{Error, Result, models::half_product::Half};
use dfdx::prelude::*;
use std::{any::Any, cell::RefCell};

/// Numbers in a device's memory: their address, and how many there are.
pub type Place = (u64, usize);

/// A device whose numbers another library can use where they lie.
pub trait Addressable: Half {
    /// The address of a tensor's numbers in the device's memory. The memory of a CPU is the host's.
    fn address(numbers: &mut <Self as Storage<f32>>::Vec) -> u64;

    /// Does `work` with an event of CUDA behind all that the device was given so far, for other streams to wait for. A CPU
    /// has none: its calls return when they are done.
    ///
    /// # Errors
    /// The device's own.
    fn behind_event<R>(&self, work: impl FnOnce(Option<u64>) -> R) -> Result<R, Self::Err>;
}

impl Addressable for Cpu {
    fn address(numbers: &mut <Self as Storage<f32>>::Vec) -> u64 {
        numbers.as_mut_ptr() as u64
    }

    fn behind_event<R>(&self, work: impl FnOnce(Option<u64>) -> R) -> Result<R, CpuError> {
        Ok(work(None))
    }
}

#[cfg(feature = "cuda")]
impl Addressable for Cuda {
    fn address(numbers: &mut <Self as Storage<f32>>::Vec) -> u64 {
        *cudarc::driver::DevicePtrMut::device_ptr_mut(numbers)
    }

    fn behind_event<R>(&self, work: impl FnOnce(Option<u64>) -> R) -> Result<R, CudaError> {
        use cudarc::driver::{result::event, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING};
        let made = event::create(CU_EVENT_DISABLE_TIMING)?;
        // SAFETY: a living event. dfdx computes in the default stream, which is null.
        let done = unsafe { event::record(made, std::ptr::null_mut()) };
        let done = done.map(|()| work(Some(made as u64)));
        // SAFETY: once. Streams that were told to wait for it still do.
        unsafe { event::destroy(made) }?;
        Ok(done?)
    }
}

/// Gets the places of gradients that are ready, and the event behind them: see [`Addressable::behind_event`].
pub type Listener = Box<dyn FnMut(&[Place], Option<u64>)>;

/// What a listener has heard, and what it will be told next.
struct Heard<D: Addressable> {
    listener: Listener,
    told: Vec<u64>,
    next: Vec<Place>,
    /// Zero, or NaN if a number that was told is not finite; it stays on the device.
    zero: Option<Tensor<Rank0, f32, D>>,
}

thread_local! {
    static LISTENER: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

/// Puts back what was before, after a panic too.
struct Before(Option<Box<dyn Any>>);

impl Drop for Before {
    fn drop(&mut self) {
        LISTENER.set(self.0.take());
    }
}

/// Does `work`, which is steps on a device `D`, and tells `listener` of each gradient once: where the model says that it is
/// ready, or in [`hand_over`]. Other threads know nothing of it.
pub fn listen<D: Addressable, R>(listener: Listener, work: impl FnOnce() -> R) -> R {
    let heard: Heard<D> = Heard { listener, told: Vec::new(), next: Vec::new(), zero: None };
    let _before = Before(LISTENER.replace(Some(Box::new(heard))));
    work()
}

/// Does `work`, of which no listener is told.
pub fn silently<R>(work: impl FnOnce() -> R) -> R {
    let _before = Before(LISTENER.take());
    work()
}

/// Finds a gradient, if it is not told yet, and keeps it for the next time that the listener is told.
type Find<D> =
    Box<dyn FnOnce(&mut Gradients<f32, D>, &mut Heard<D>) -> Result<(), <D as HasErr>::Err>>;

/// One of these for each tensor that is trained.
struct Finders<D: Addressable>(Vec<Find<D>>);

impl<D: Addressable> TensorVisitor<f32, D> for Finders<D> {
    type Viewer = ViewTensorRef;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, D>,
        p: &Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        if !options.do_gradient_update {
            return Ok(None);
        }
        let (ghost, numbers) = (p.ghost(), p.shape().num_elements());
        self.0.push(Box::new(move |grads, heard| {
            let address = D::address(grads.get_or_alloc_mut(&ghost)?);
            if heard.told.contains(&address) {
                return Ok(());
            }
            heard.told.push(address);
            heard.next.push((address, numbers));
            let flat = grads.get(&ghost).try_reshape_like(&(numbers,))?;
            let zero = flat.try_mul(0.0)?.try_sum::<Rank0, _>()?;
            heard.zero = Some(match heard.zero.take() {
                Some(sum) => sum.try_add(zero)?,
                None => zero,
            });
            Ok(())
        }));
        Ok(None)
    }
}

fn finders<D: Addressable, L: TensorCollection<f32, D>>(layer: &L) -> Result<Vec<Find<D>>, D::Err> {
    let mut all = Finders(Vec::new());
    L::iter_tensors(&mut RecursiveWalker { m: layer, f: &mut all })?;
    Ok(all.0)
}

fn tell<D: Addressable>(
    grads: &mut Gradients<f32, D>,
    finders: Vec<Find<D>>,
) -> Result<(), D::Err> {
    heard::<D, _>(|heard| {
        finders.into_iter().try_for_each(|find| find(grads, heard))?;
        let (next, listener) = (std::mem::take(&mut heard.next), &mut heard.listener);
        match &heard.zero {
            Some(zero) if !next.is_empty() => {
                zero.device().behind_event(|event| listener(&next, event))
            }
            _ => Ok(()),
        }
    })
    .unwrap_or(Ok(()))
}

fn heard<D: Addressable, R>(work: impl FnOnce(&mut Heard<D>) -> R) -> Option<R> {
    LISTENER.with_borrow_mut(|heard| heard.as_mut()?.downcast_mut().map(work))
}

// ANCHOR: ready
/// A point of the forward pass behind which `layer` comes. When the backward
/// pass is back here, who listens is told where the layer's gradients lie.
///
/// # Errors
/// The device's own.
pub fn ready<S: Shape, L, D, T>(
    x: Tensor<S, f32, D, T>,
    layer: &L,
) -> Result<Tensor<S, f32, D, T>, D::Err>
where
    L: TensorCollection<f32, D>,
    D: Addressable,
    T: Tape<f32, D>,
{
    if !T::OWNS_TAPE || LISTENER.with_borrow(Option::is_none) {
        return Ok(x);
    }
    let finders = finders(layer)?; // one for each gradient of the layer
    let (x, mut tape) = x.split_tape();
    tape.add_backward_op(move |grads| tell(grads, finders));
    Ok(x.put_tape(tape))
}
// ANCHOR_END: ready

/// After the backward pass, tells who listens of all gradients of `model` that it has not heard of. Returns whether all are
/// finite: one number leaves the device, and what was given to it before is done then.
///
/// # Errors
/// The device's own.
pub fn hand_over<M: TensorCollection<f32, D>, D: Addressable>(
    model: &M,
    grads: &mut Gradients<f32, D>,
) -> Result<bool> {
    tell(grads, finders(model).map_err(Error::device)?).map_err(Error::device)?;
    let zero = heard::<D, _>(|heard| heard.zero.take()).flatten();
    Ok(zero.is_none_or(|zero| zero.as_vec().iter().all(|zero| zero.is_finite())))
}
