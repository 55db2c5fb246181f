//! Whether there is memory for a step, asked before the first one: on a CPU, who asks for too much in the middle of it is
//! ended by the system without a message.

use crate::{
    Error, Result,
    config::{EngineKind, Model, Settings},
};
use lab::{Unit, limits};

/// Bytes that dfdx needs on a CPU for each image of a step at its highest point: activations, their gradients, and what an
/// operation needs next to them. Measured; its source says where they come from.
pub fn bytes_of_a_picture(model: Model) -> u64 {
    match model {
        Model::Linear => 6_570,
        Model::Mlp => 9_080,
        Model::Cnn => 197_300,
        Model::Resnet => 554_100,
        Model::Rnn => 451_500,
        Model::Transformer => 328_900,
    }
}

/// Bytes of a step by dfdx. Chapter 5's engine knows its own, from its plan.
pub fn bytes(settings: &Settings, images: usize) -> u64 {
    bytes_of_a_picture(settings.model).saturating_mul(images as u64)
}

/// Refuses a step of so many images and bytes that there is no memory for, whether the machine has too little or the process
/// has a limit.
///
/// # Errors
/// [`Error::Config`] that names the options.
pub fn check(settings: &Settings, images: usize, bytes: u64) -> Result<()> {
    if limits::is_there(bytes) {
        return Ok(());
    }
    let pieces =
        if settings.engine == EngineKind::Fast { ", and so does --accumulate" } else { "" };
    Err(Error::Config(format!(
        "a step of {images} images takes about {} of memory, and there is less; a smaller --batch needs less memory{pieces}",
        Unit::Bytes.format(bytes as f64)
    )))
}
