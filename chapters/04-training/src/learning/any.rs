//! Any of the six models, chosen when the program runs. They are compiled here, once for each device: who trains one by
//! its name compiles none of them.

use crate::{
    Error, Result,
    config::{Precision, Settings},
    learning::{
        engine::Engine,
        memory,
        step::{Full, Learner},
    },
    models::{conv::Convolve, model::Network, norm::BatchNorm},
};
use dfdx::prelude::Cpu;
#[cfg(feature = "cuda")]
use dfdx::prelude::Cuda;

/// The function of a model's name: `of` for the type of the model on `$D`, and for `$T` behind it.
#[macro_export]
macro_rules! by_model {
    ($model:expr, $D:ty, $of:ident $(, $T:ty)?) => {
        match $model {
            $crate::Model::Linear => $of::<$crate::linear::Linear<$D> $(, $T)?>,
            $crate::Model::Mlp => $of::<$crate::mlp::Mlp<$D> $(, $T)?>,
            $crate::Model::Cnn => $of::<$crate::cnn::Cnn<f32, $D> $(, $T)?>,
            $crate::Model::Resnet => $of::<$crate::resnet::Resnet<f32, $D> $(, $T)?>,
            $crate::Model::Rnn => $of::<$crate::rnn::Rnn<f32, $D> $(, $T)?>,
            $crate::Model::Transformer => $of::<$crate::transformer::Transformer<f32, $D> $(, $T)?>,
        }
    };
}

/// A model on a device with its optimizer, or why there is none.
pub type Made<D> = Result<Box<dyn Learner<Device = D>>>;

/// A device with the operations of every model.
pub trait AllModels: Engine {
    /// The settings' model with the weights that the device's seed gives, and an optimizer that has seen nothing.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory for them.
    fn learner(&self, settings: &Settings) -> Made<Self>;

    /// The same as the caller's `makers` make it.
    ///
    /// # Errors
    /// As [`AllModels::learner`], and what the makers refuse.
    fn learner_by(&self, settings: &Settings, makers: Makers) -> Made<Self>;
}

/// Makes the settings' model on a device that is freshly seeded, with an optimizer that has seen nothing.
pub type Make<D> = fn(&D, &Settings) -> Made<D>;

/// The same for one of chapter 2's devices, driven from a CPU that is freshly seeded.
pub type MakeOn = fn(&Cpu, &Settings, lab::Device) -> Made<Cpu>;

/// Bytes of memory that a step by the settings takes, on so many images.
pub type Bytes = fn(&Settings, usize) -> u64;

/// Who makes what is trained, on each kind of device: this chapter's models, unless the caller knows faster engines or
/// other number formats.
#[derive(Clone, Copy, Debug)]
pub struct Makers {
    /// On the CPU.
    pub cpu: Make<Cpu>,
    /// Bytes of the CPU's memory that a step on so many images takes.
    pub bytes: Bytes,
    /// On a GPU, or what else runs kernels, by an engine that needs no dfdx there.
    pub device: MakeOn,
    /// On a GPU, by dfdx.
    #[cfg(feature = "cuda")]
    pub cuda: Make<Cuda>,
}

impl Makers {
    /// These on the CPU, and this chapter's own elsewhere.
    pub fn on_cpu(cpu: Make<Cpu>, bytes: Bytes) -> Self {
        Self {
            cpu,
            device: nowhere,
            bytes,
            #[cfg(feature = "cuda")]
            cuda: plain,
        }
    }
}

impl Default for Makers {
    fn default() -> Self {
        Self::on_cpu(plain, memory::bytes)
    }
}

/// This chapter has no kernels of its own.
///
/// # Errors
/// Always.
pub fn nowhere(_: &Cpu, _: &Settings, device: lab::Device) -> Made<Cpu> {
    let way = if cfg!(feature = "cuda") { "" } else { ", or build with --features cuda" };
    Err(Error::Config(format!(
        "the operations of chapter 4 have no {device} here; use --engine fast, or --device cpu{way}"
    )))
}

/// This chapter's models, in this chapter's format.
fn plain<D: AllModels>(dev: &D, settings: &Settings) -> Made<D> {
    if settings.precision != Precision::F32 {
        return Err(Error::Config(format!(
            "chapter 4 trains in f32 alone; --precision {} is chapter 6's `mixed_precision::train`",
            settings.precision
        )));
    }
    dev.learner(settings)
}

// Not for all devices at once: a generic function would be compiled where it is called.
impl AllModels for Cpu {
    fn learner(&self, settings: &Settings) -> Made<Self> {
        of_name(self, settings)
    }

    fn learner_by(&self, settings: &Settings, makers: Makers) -> Made<Self> {
        (makers.cpu)(self, settings)
    }
}

#[cfg(feature = "cuda")]
impl AllModels for Cuda {
    fn learner(&self, settings: &Settings) -> Made<Self> {
        of_name(self, settings)
    }

    fn learner_by(&self, settings: &Settings, makers: Makers) -> Made<Self> {
        (makers.cuda)(self, settings)
    }
}

fn of_name<D: Engine + Convolve + BatchNorm>(dev: &D, settings: &Settings) -> Made<D> {
    let boxed = crate::by_model!(settings.model, D, boxed, D);
    boxed(dev, settings)
}

fn boxed<M: Network<D> + 'static, D: Engine>(dev: &D, settings: &Settings) -> Made<D> {
    Ok(Box::new(Full::<M, D>::new(dev, settings)?))
}
