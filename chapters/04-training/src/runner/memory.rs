//! Whether there is memory for a step, asked before the first one: on a CPU, who asks for too much in the middle of it is
//! ended by the system without a message.

use crate::{
    Error, Result,
    config::{EngineKind, Model},
};
use lab::{Unit, limits};
use std::fs;

/// Bytes that a CPU needs for each image of a step at its highest point: activations, their gradients, and what an
/// operation needs next to them. Measured; chapter 5 says where they come from. Its engine needs at most so many: a number
/// format adds rounded copies.
pub fn bytes_of_a_picture(engine: EngineKind, model: Model) -> u64 {
    match (engine, model) {
        (EngineKind::Dfdx, Model::Linear) => 6_570,
        (EngineKind::Dfdx, Model::Mlp) => 9_080,
        (EngineKind::Dfdx, Model::Cnn) => 197_300,
        (EngineKind::Dfdx, Model::Resnet) => 554_100,
        (EngineKind::Dfdx, Model::Rnn) => 451_500,
        (EngineKind::Dfdx, Model::Transformer) => 328_900,
        (EngineKind::Fast, Model::Linear) => 8_800,
        (EngineKind::Fast, Model::Mlp) => 9_500,
        (EngineKind::Fast, Model::Cnn) => 50_000,
        (EngineKind::Fast, Model::Resnet) => 380_000,
        (EngineKind::Fast, Model::Rnn) => 45_000,
        (EngineKind::Fast, Model::Transformer) => 40_000,
    }
}

/// Refuses a step of so many images that there is no memory for it, whether the machine has too little or the process
/// has a limit.
///
/// # Errors
/// [`Error::Config`] that names the option.
pub fn check(engine: EngineKind, model: Model, images: usize) -> Result<()> {
    let bytes = bytes_of_a_picture(engine, model).saturating_mul(images as u64);
    if limits::grants(bytes) && free().is_none_or(|free| bytes <= free) {
        return Ok(());
    }
    Err(Error::Config(format!(
        "a step of {images} images takes about {} of memory, and there is less; a smaller --batch needs less memory",
        Unit::Bytes.format(bytes as f64)
    )))
}

/// Bytes that programs can have before the system must take some from others; unknown beyond Linux.
fn free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let kib = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(1024 * (kib("MemAvailable:")? + kib("SwapFree:").unwrap_or(0)))
}
