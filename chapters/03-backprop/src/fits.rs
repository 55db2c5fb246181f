//! Will it fit? The bytes that training takes on a card, and the largest batch for which they suffice.

use crate::{Error, Result, count::Counts};
use serde::Serialize;

lab::named! {
    /// How the parameters move, as far as memory is concerned.
    pub enum Moves("optimizer") {
        /// Plain gradient descent remembers nothing.
        Sgd = "sgd",
        /// Momentum remembers one number for each parameter.
        Momentum = "momentum",
        /// Adam remembers two.
        Adam = "adam",
    }
}

impl Moves {
    /// Numbers for each parameter.
    pub fn numbers(self) -> u64 {
        match self {
            Self::Sgd => 0,
            Self::Momentum => 1,
            Self::Adam => 2,
        }
    }
}

/// Bytes of an f32.
const F32: u64 = 4;

/// The bytes of a training step in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// The parameters.
    pub weights: u64,
    /// Their gradients.
    pub gradients: u64,
    /// What the optimizer remembers.
    pub optimizer: u64,
    /// What the forward pass keeps for the backward pass, for the whole batch.
    pub activations: u64,
    /// What the backward pass keeps at a time: the derivatives of one layer's output and of its input, for the whole
    /// batch, and one image unrolled for a convolution, with its derivatives.
    pub scratch: u64,
}

impl Bytes {
    /// Of a step on `batch` images.
    pub fn of(counts: &Counts, batch: u64, moves: Moves) -> Self {
        let times = |numbers: u64, copies: u64| {
            let values = numbers.saturating_mul(copies);
            values.saturating_mul(F32)
        };
        Self {
            weights: times(counts.parameters, 1),
            gradients: times(counts.parameters, 1),
            optimizer: times(counts.parameters, moves.numbers()),
            activations: times(counts.kept, batch),
            scratch: times(counts.largest, batch.saturating_mul(2))
                .saturating_add(times(counts.unrolled, 2)),
        }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        let Self { weights, gradients, optimizer, activations, scratch } = *self;
        [weights, gradients, optimizer, activations, scratch]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// The largest batch whose step fits into `card` bytes; 0 if not even one image does.
pub fn largest_batch(counts: &Counts, card: u64, moves: Moves) -> u64 {
    let fixed = Bytes::of(counts, 0, moves).total();
    let each = Bytes::of(counts, 1, moves).total().saturating_sub(fixed).max(1);
    card.saturating_sub(fixed) / each
}

/// Bytes from what a user writes: `24GiB`, `24 GB`, `512MiB`, `1000`.
///
/// # Errors
/// [`Error::Config`] for anything else.
pub fn bytes(text: &str) -> Result<u64> {
    let at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1u64,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" | "g" => 1 << 30,
        "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => 0,
    };
    let value = number.trim().parse::<f64>().ok().map(|number| number * scale as f64);
    match value {
        Some(value) if (1.0..1e18).contains(&value) => Ok(value as u64),
        _ => Err(Error::Config(format!("`{text}` is no amount of memory; write it like 24GiB"))),
    }
}
