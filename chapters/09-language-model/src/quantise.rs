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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;
    use lab::random::{SplitMix64, numbers};

    #[test]
    fn a_weight_moves_by_half_a_scale_at_most() {
        let weights = numbers(1000, 1);
        let scale = scale(weights.iter().copied());
        for weight in weights {
            let back = f32::from(rounded(weight, scale)) * scale;
            assert!((back - weight).abs() <= 0.5001 * scale, "{weight} {back}");
        }
    }

    #[test]
    fn the_edges_are_right() {
        assert_eq!((scale([].into_iter()), scale([0.0, -0.0].into_iter())), (0.0, 0.0));
        assert_eq!(rounded(0.0, 0.0), 0);
        assert_eq!([-254.0, 254.0, 1.0].map(|w| rounded(w, 2.0)), [-127, 127, 1]);
        for wrong in [f32::NAN, f32::INFINITY] {
            assert!(scale([1.0, wrong, 2.0].into_iter()).is_nan());
        }
        // A tiny column has a tiny scale of its own.
        assert_eq!(rounded(1e-30, scale([1e-30, -5e-31].into_iter())), 127);
    }

    /// A model of random weights.
    fn model() -> (Config, Vec<f32>) {
        let config =
            Config { vocabulary: 101, context: 24, width: 48, heads: 4, layers: 2, hidden: 80 };
        let mut random = SplitMix64::new(7);
        let len = Layout::new(&config).len;
        (config, (0..len).map(|_| (0.1 * random.normal()) as f32).collect())
    }

    #[test]
    fn a_model_in_8_bits_is_nearly_the_same_in_a_quarter_of_the_bytes() {
        let (config, parameters) = model();
        let wide = Decoder::new(&config, &parameters).unwrap();
        let narrow = Decoder::in_8_bits(&config, &parameters).unwrap();
        assert!(narrow.bytes() as f64 / (wide.bytes() as f64) < 0.3);
        let tokens: Vec<u32> = (0..24).map(|i| i * 37 % 101).collect();
        let (one, two) = (wide.logits(&tokens).unwrap(), narrow.logits(&tokens).unwrap());
        let square = |x: f32| f64::from(x) * f64::from(x);
        let size: f64 = one.iter().map(|x| square(*x)).sum();
        let off: f64 = one.iter().zip(&two).map(|(a, b)| square(a - b)).sum();
        let error = (off / size).sqrt();
        assert!(error > 1e-4 && error < 0.05, "{error}");
    }

    #[test]
    fn weights_that_are_not_numbers_stay_so() {
        let (config, mut parameters) = model();
        let at = Layout::new(&config).blocks[0].down.start;
        parameters[at] = f32::NAN;
        let decoder = Decoder::in_8_bits(&config, &parameters).unwrap();
        assert!(decoder.logits(&[1, 2]).unwrap().iter().any(|x| x.is_nan()));
    }
}
