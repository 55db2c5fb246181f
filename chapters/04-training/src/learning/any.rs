//! Any of the six models, chosen when the program runs. They are compiled here, once for each device: who trains one by
//! its name compiles none of them.

use crate::{
    Result,
    config::{EngineKind, Model, Settings},
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

    /// The same by the engine that the settings ask for. On a CPU `fast` makes the fast one.
    ///
    /// # Errors
    /// As [`AllModels::learner`].
    fn learner_by(
        &self,
        settings: &Settings,
        _fast: Make,
    ) -> Result<Box<dyn Learner<Device = Self>>> {
        self.learner(settings)
    }
}

/// Makes the settings' model on a CPU that is freshly seeded, with an optimizer that has seen nothing.
pub type Make = fn(&Cpu, &Settings) -> Result<Box<dyn Learner<Device = Cpu>>>;

// Not for all devices at once: a generic function would be compiled where it is called.
impl AllModels for Cpu {
    fn learner(&self, settings: &Settings) -> Result<Box<dyn Learner<Device = Self>>> {
        of_name(self, settings)
    }

    fn learner_by(
        &self,
        settings: &Settings,
        fast: Make,
    ) -> Result<Box<dyn Learner<Device = Self>>> {
        match settings.engine {
            EngineKind::Plain => self.learner(settings),
            EngineKind::Fast => fast(self, settings),
        }
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
