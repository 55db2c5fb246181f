//! Decode once, or once per batch: images kept as bytes, or as the numbers that the network reads.

use crate::{Error, Result};
use lab::data::Split;
use std::sync::OnceLock;

/// Every grey level as a number from 0 to 1, by the same division as [`Split::scaled`].
fn levels() -> &'static [f32; 256] {
    static LEVELS: OnceLock<[f32; 256]> = OnceLock::new();
    LEVELS.get_or_init(|| std::array::from_fn(|grey| grey as f32 / 255.0))
}

/// Bytes as numbers from 0 to 1.
///
/// # Panics
/// If `from` and `to` differ in length.
pub fn scale(from: &[u8], to: &mut [f32]) {
    assert_eq!(from.len(), to.len(), "one number for each byte");
    let levels = levels(); // 256 divisions in all
    for (number, grey) in to.iter_mut().zip(from) {
        *number = levels[usize::from(*grey)];
    }
}

/// Images in memory, in one of two forms.
pub enum Kept {
    /// A byte for each pixel; a batch is scaled when it is needed.
    Bytes(Vec<u8>),
    /// Four bytes for each pixel, ready to be copied.
    Numbers(Vec<f32>),
}

/// Images in memory that can be gathered into batches.
pub struct Memory {
    kept: Kept,
    pixels: usize,
}

impl Memory {
    /// Keeps the bytes.
    pub fn bytes(split: &Split) -> Self {
        Self { kept: Kept::Bytes(split.images.clone()), pixels: split.pixels() }
    }

    /// Scales all of them once and keeps the numbers.
    pub fn numbers(split: &Split) -> Self {
        Self { kept: Kept::Numbers(split.scaled()), pixels: split.pixels() }
    }

    /// How many bytes the images take.
    pub fn size(&self) -> usize {
        match &self.kept {
            Kept::Bytes(bytes) => bytes.len(),
            Kept::Numbers(numbers) => size_of_val(&numbers[..]),
        }
    }

    /// The images `index`, one after the other, as numbers from 0 to 1.
    ///
    /// # Errors
    /// [`Error::Config`] if one is not there.
    // ANCHOR: gather
    pub fn gather(&self, index: &[usize]) -> Result<Vec<f32>> {
        let n = self.pixels;
        let mut batch = vec![0.0; index.len() * n];
        for (row, at) in batch.chunks_exact_mut(n).zip(index) {
            let own = at * n..(at + 1) * n;
            let there = match &self.kept {
                Kept::Bytes(all) => all.get(own).map(|x| scale(x, row)),
                Kept::Numbers(all) => all.get(own).map(|x| row.copy_from_slice(x)),
            };
            there.ok_or_else(|| missing(*at))?;
        }
        Ok(batch)
    }
    // ANCHOR_END: gather
}

fn missing(at: usize) -> Error {
    Error::Config(format!("there is no image {at} in this set"))
}
