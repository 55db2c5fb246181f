//! Counting a network before it runs.

/// What a network is made of, as far as this exercise goes.
#[derive(Clone, Copy, Debug)]
pub enum Layer {
    /// A weight for each pair of input and output, and a bias for each output.
    Dense {
        /// Outputs.
        units: u64,
    },
    /// Windows of 3×3 with zeros around the image, so that its size stays; a weight for each value of a window and
    /// each output channel, and a bias for each output channel.
    Conv {
        /// Output channels.
        channels: u64,
    },
    /// Halves rows and columns.
    Pool,
}

/// Parameters and forward operations (a multiplication and an addition count as two; biases are left out) of a
/// network that reads images of channels×rows×columns. The first dense layer reads the whole image as one row.
pub fn count(image: [u64; 3], layers: &[Layer]) -> (u64, u64) {
    let [mut channels, mut rows, mut cols] = image;
    let (mut parameters, mut operations) = (0, 0);
    for layer in layers {
        match *layer {
            Layer::Dense { units } => {
                let inputs = channels * rows * cols;
                parameters += inputs * units + units;
                operations += 2 * inputs * units;
                [channels, rows, cols] = [units, 1, 1];
            }
            // EXERCISE: begin
            Layer::Conv { channels: outputs } => {
                let weights = 9 * channels * outputs;
                parameters += weights + outputs;
                operations += 2 * weights * rows * cols;
                channels = outputs;
            }
            Layer::Pool => (rows, cols) = (rows / 2, cols / 2),
            // EXERCISE: instead
            // Layer::Conv { channels: outputs } => channels = outputs,
            // Layer::Pool => (rows, cols) = (rows, cols),
            // EXERCISE: end
        }
    }
    (parameters, operations)
}
