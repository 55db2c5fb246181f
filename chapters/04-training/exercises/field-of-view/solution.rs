//! The sizes of a chain of convolutions.

/// A convolution or a pooling.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// Side of the filter.
    pub k: usize,
    /// Pixels from one position of the filter to the next.
    pub stride: usize,
    /// Zeros that are put around the image, on each side.
    pub pad: usize,
}

/// The side of the output for a square input; `None` if the filter does not fit.
pub fn side(layer: Layer, input: usize) -> Option<usize> {
    // EXERCISE: begin
    let room = (input + 2 * layer.pad).checked_sub(layer.k)?;
    Some(room / layer.stride + 1)
    // EXERCISE: instead
    // (input + 2 * layer.pad + 1).checked_sub(layer.k)
    // EXERCISE: end
}

/// The side of the square of input pixels that a unit behind all layers depends on, borders included.
pub fn field(layers: &[Layer]) -> usize {
    // EXERCISE: begin
    let (mut field, mut distance) = (1, 1);
    for layer in layers {
        field += (layer.k - 1) * distance;
        distance *= layer.stride;
    }
    field
    // EXERCISE: instead
    // 1 + layers.iter().map(|layer| layer.k - 1).sum::<usize>()
    // EXERCISE: end
}
