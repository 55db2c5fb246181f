//! Any of the six models, chosen when the program runs. They are compiled here, once for each device: who trains one by
//! its name compiles none of them.

use crate::{
    Result,
    config::{Model, Settings},
    learning::{
        engine::Engine,
        step::{Full, Learner},
    },
    models::{
        attention::Attend, cnn::Cnn, conv::Convolve, gates::GatedStep, linear::Linear, mlp::Mlp,
        model::Network, norm::BatchNorm, resnet::Resnet, rnn::Rnn, transformer::Transformer,
    },
};
use dfdx::prelude::Cpu;
#[cfg(feature = "cuda")]
use dfdx::prelude::Cuda;

/// A device with the operations of every model.
pub trait AllModels: Engine {
    /// The settings' model with the weights that the device's seed gives, and an optimizer that has seen nothing.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if there is no memory for them.
    fn learner(&self, settings: &Settings) -> Result<Box<dyn Learner<Device = Self>>>;
}

// Not for all devices at once: a generic function would be compiled where it is called.
impl AllModels for Cpu {
    fn learner(&self, settings: &Settings) -> Result<Box<dyn Learner<Device = Self>>> {
        of_name(self, settings)
    }
}

#[cfg(feature = "cuda")]
impl AllModels for Cuda {
    fn learner(&self, settings: &Settings) -> Result<Box<dyn Learner<Device = Self>>> {
        of_name(self, settings)
    }
}

fn of_name<D: Engine + Convolve + BatchNorm + GatedStep + Attend>(
    dev: &D,
    settings: &Settings,
) -> Result<Box<dyn Learner<Device = D>>> {
    match settings.model {
        Model::Linear => boxed::<Linear<D>, D>(dev, settings),
        Model::Mlp => boxed::<Mlp<D>, D>(dev, settings),
        Model::Cnn => boxed::<Cnn<f32, D>, D>(dev, settings),
        Model::Resnet => boxed::<Resnet<f32, D>, D>(dev, settings),
        Model::Rnn => boxed::<Rnn<f32, D>, D>(dev, settings),
        Model::Transformer => boxed::<Transformer<f32, D>, D>(dev, settings),
    }
}

fn boxed<M: Network<D> + 'static, D: Engine>(
    dev: &D,
    settings: &Settings,
) -> Result<Box<dyn Learner<Device = D>>> {
    Ok(Box::new(Full::<M, D>::new(dev, settings)?))
}
