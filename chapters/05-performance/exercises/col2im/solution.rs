//! From the gradient of the patches to that of the image.

/// The gradient of an image of side×side from that of its patches: a row of k·k values for each position of the
/// filter, `stride` pixels apart. A pixel in no patch has the gradient 0.
pub fn col2im(patches: &[f32], side: usize, k: usize, stride: usize) -> Vec<f32> {
    let out = (side - k) / stride + 1;
    let mut image = vec![0.0; side * side];
    for (at, patch) in patches.chunks_exact(k * k).enumerate() {
        let (y, x) = (at / out * stride, at % out * stride);
        for (line, values) in patch.chunks_exact(k).enumerate() {
            let row = &mut image[(y + line) * side + x..][..k];
            // EXERCISE: begin
            for (sum, value) in row.iter_mut().zip(values) {
                *sum += value;
            }
            // EXERCISE: instead
            // row.copy_from_slice(values);
            // EXERCISE: end
        }
    }
    image
}
