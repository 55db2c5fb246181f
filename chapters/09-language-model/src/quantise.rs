//! Weights in 8 bits: a quarter of the bytes that a step of decoding reads.
//!
//! Each output of a matrix has a scale of its own, its largest weight over 127, and each weight is rounded to a multiple of it:
//! symmetric, without an offset. The product turns a weight back into f32 when it is in a register, multiplies and adds in f32
//! and applies the scale once to the sum. Activations, norms and the cache stay in f32. (Dettmers and others 2022, section 2,
//! have the scales by rows and columns, and what large models need beyond them.)

use crate::{
    Config, Result,
    generate::{Decoder, panels::Matrix},
};

/// The largest absolute value of a weight in 8 bits; −128 is not used, so that the range is symmetric.
const LARGEST: f32 = 127.0;

/// The scale of one output's weights: half of it is the most that a weight moves. NaN if a weight is not finite.
// ANCHOR: scale
pub fn scale(weights: impl Iterator<Item = f32>) -> f32 {
    let larger = |most: f32, weight: f32| {
        // A comparison would lose a NaN.
        if weight.is_finite() { most.max(weight.abs()) } else { f32::INFINITY }
    };
    let most = weights.fold(0.0, larger);
    if most.is_finite() { most / LARGEST } else { f32::NAN }
}
// ANCHOR_END: scale

/// A weight as the nearest multiple of the scale.
pub fn rounded(weight: f32, scale: f32) -> i8 {
    if scale == 0.0 { 0 } else { (weight / scale).round().clamp(-LARGEST, LARGEST) as i8 }
}

impl Decoder {
    /// The model with these parameters, its matrices in 8 bits.
    ///
    /// # Errors
    /// As [`Decoder::new`].
    pub fn in_8_bits(config: &Config, parameters: &[f32]) -> Result<Self> {
        Self::with(config, parameters, |inputs, outputs, at| {
            let scales: Vec<f32> =
                (0..outputs).map(|j| scale((0..inputs).map(|i| at(i, j)))).collect();
            let of = scales.clone();
            Matrix::in_8_bits(inputs, scales, |i, j| rounded(at(i, j), of[j]))
        })
    }
}
