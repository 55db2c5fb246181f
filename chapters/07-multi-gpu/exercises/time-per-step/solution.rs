//! The time of a data parallel step, with the gradients on their way while others are computed.

/// A layer of a device's part of the batch.
pub struct Layer {
    /// Seconds of its forward pass.
    pub forward: f64,
    /// Seconds of its backward pass.
    pub backward: f64,
    /// Bytes of its gradient.
    pub bytes: f64,
}

/// Seconds of a step over `p` devices, up to the last sum. The layers are in the order of the forward pass.
pub fn step(layers: &[Layer], alpha: f64, beta: f64, p: usize) -> f64 {
    let ring = |bytes: f64| 2.0 * (p as f64 - 1.0) * (alpha + beta * bytes / p as f64);
    let mut device: f64 = layers.iter().map(|layer| layer.forward).sum();
    // EXERCISE: begin
    let mut network = 0.0_f64;
    for layer in layers.iter().rev() {
        device += layer.backward;
        network = network.max(device) + ring(layer.bytes);
    }
    device.max(if p > 1 { network } else { 0.0 })
    // EXERCISE: instead
    // // Everything is computed, then everything is sent.
    // device += layers.iter().map(|layer| layer.backward).sum::<f64>();
    // device + ring(layers.iter().map(|layer| layer.bytes).sum())
    // EXERCISE: end
}
