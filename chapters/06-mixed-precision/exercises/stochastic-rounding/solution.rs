//! Weights in bf16 that are trained without masters.

use half::bf16;

/// One of the two bf16 around x, or x itself if it is one. Over all values of `random`, the mean is x.
pub fn round(x: f32, random: u16) -> bf16 {
    // EXERCISE: begin
    if !x.is_finite() {
        return bf16::from_f32(x);
    }
    bf16::from_bits(((x.to_bits() + u32::from(random)) >> 16) as u16)
    // EXERCISE: instead
    // let _ = random;
    // bf16::from_f32(x)
    // EXERCISE: end
}

/// One step of plain descent: each weight loses `lr` times its gradient.
pub fn update(weights: &mut [bf16], gradient: &[f32], lr: f32, mut random: impl FnMut() -> u16) {
    for (weight, g) in weights.iter_mut().zip(gradient) {
        *weight = round(weight.to_f32() - lr * g, random());
    }
}
