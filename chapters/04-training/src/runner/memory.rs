//! Whether there is memory for a step, asked before the first one: on a CPU, who asks for too much in the middle of it is
//! ended by the system without a message.

use crate::{Error, Result, config::Model};
use lab::{Unit, limits};
use std::fs;

/// Bytes that a CPU needs for each image of a step at its highest point: activations, their gradients, and what an
/// operation needs next to them. Measured; chapter 5 says where they come from.
pub fn bytes_of_a_picture(model: Model) -> u64 {
    match model {
        Model::Linear => 6_570,
        Model::Mlp => 9_080,
        Model::Cnn => 197_300,
        Model::Resnet => 554_100,
        Model::Rnn => 165_000,
        Model::Transformer => 179_300,
    }
}

/// Refuses a step of so many images that there is no memory for it, whether the machine has too little or the process
/// has a limit.
///
/// # Errors
/// [`Error::Config`] that names the option.
pub fn check(model: Model, images: usize) -> Result<()> {
    let bytes = bytes_of_a_picture(model).saturating_mul(images as u64);
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
