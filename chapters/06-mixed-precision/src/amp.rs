//! Automatic mixed precision with dfdx: forward and backward in f16, everything that adds up in f32.
//!
//! The modules in the order of the page:
//!
//! 1. [`range`]: how large gradients are, and which of them f16 can represent.
//! 2. [`scaler`]: the factor before the loss, found while training.
//! 3. [`replica`]: a model's copy in f16, and its gradients back in f32.
//! 4. [`step`]: a step of training in mixed precision; [`autocast`]: the same for any model; [`deep`]: one that can't do
//!    without its parts.
//! 5. [`ablations`]: what happens without each of them.

pub mod ablations;
pub mod autocast;
pub mod deep;
pub mod range;
pub mod replica;
pub mod scaler;
pub mod step;

use autocast::Autocast;
use lab::data::DataSet;
use performance::learner::{by_engine, bytes, on_device};
use replica::HalfEngine;
use step::Amp;
use training::{
    Config, EngineKind, Error, Model, Outcome, Precision, Result, Settings, Watcher,
    any::{Made, Make, Makers, nowhere},
    linear::Linear,
    mlp::Mlp,
};

/// The settings' model in the settings' precision. `wide` makes it in f32.
///
/// In f16 dfdx trains dense models as this chapter's page does, on a copy of all weights. All else is for chapter 5's engine,
/// behind [`Autocast`].
///
/// # Errors
/// As `wide`; [`Error::Config`] if dfdx can't.
pub fn learner<D: HalfEngine>(dev: &D, settings: &Settings, wide: Make<D>) -> Made<D> {
    match (settings.precision, settings.engine, settings.model) {
        (Precision::F32, ..) => wide(dev, settings),
        (Precision::Amp, EngineKind::Dfdx, Model::Linear) => {
            Ok(Box::new(Amp::<Linear<D>, D>::new(dev, settings)?))
        }
        (Precision::Amp, EngineKind::Dfdx, Model::Mlp) => {
            Ok(Box::new(Amp::<Mlp<D>, D>::new(dev, settings)?))
        }
        (precision, EngineKind::Dfdx, model) => Err(Error::Config(format!(
            "--engine dfdx trains linear and mlp in --precision amp, and no {model} in {precision}; leave out --engine"
        ))),
        _ => Ok(Box::new(Autocast::new(wide(dev, settings)?, settings.precision))),
    }
}

/// What a run on this device makes of its settings: [`learner`], by the settings' engine.
pub fn makers() -> Makers {
    Makers {
        cpu: |dev, settings| learner(dev, settings, by_engine),
        bytes,
        device: |dev, settings, device| match (settings.engine, settings.precision) {
            (EngineKind::Dfdx, _) => nowhere(dev, settings, device),
            (_, Precision::F32) => on_device(dev, settings, device),
            (_, precision) => Err(Error::Config(format!(
                "--precision {precision} is for this machine's cores so far, not for {device}; use --device cpu, or leave \
                 out --precision"
            ))),
        },
        #[cfg(feature = "cuda")]
        cuda: |dev, settings| learner(dev, settings, training::any::AllModels::learner),
    }
}

/// Finds the data set and trains on it, in the precision of the settings and by their engine.
///
/// # Errors
/// As [`training::train`].
pub fn train(config: &Config, watcher: &mut dyn Watcher) -> Result<Outcome> {
    training::train(&Config { makers: makers(), ..config.clone() }, watcher)
}

/// [`train`], on a data set that is already there.
///
/// # Errors
/// As [`train`].
pub fn train_on(config: &Config, data: &DataSet, watcher: &mut dyn Watcher) -> Result<Outcome> {
    training::train_on(&Config { makers: makers(), ..config.clone() }, data, watcher)
}
