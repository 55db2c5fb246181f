//! How to begin: weights that keep the signal's size from layer to layer.

use crate::{Result, dense::Dense, random::SplitMix64, real::Real};

/// A layer with normal weights of variance 2 / inputs and no bias (He and others 2015, "Delving deep into
/// rectifiers", section 2.2). A sum of `inputs` terms has `inputs` times the variance of one term, and `ReLU`
/// takes half of it away: with this variance the next layer's inputs are as large as this one's.
///
/// # Errors
/// [`crate::Error::Config`] without inputs or outputs.
// ANCHOR: he
pub fn he<T: Real>(
    inputs: usize,
    outputs: usize,
    random: &mut SplitMix64, // with its seed
) -> Result<Dense<T>> {
    let mut layer = Dense::zeros(inputs, outputs)?;
    let deviation = (2.0 / inputs as f64).sqrt();
    for weight in &mut layer.weights {
        *weight = T::of(deviation * random.normal());
    }
    Ok(layer)
}
// ANCHOR_END: he
