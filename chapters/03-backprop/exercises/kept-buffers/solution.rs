//! A layer that keeps its buffers from step to step.

/// A dense layer with ReLU, and what its steps fill.
#[derive(Debug, Default)]
pub struct Layer {
    /// Values of an input.
    pub inputs: usize,
    /// Values of an output.
    pub outputs: usize,
    /// The weights, inputs×outputs.
    pub weights: Vec<f32>,
    /// The outputs of the last batch, a row for each input.
    pub y: Vec<f32>,
    /// The loss's derivatives with respect to the weights, inputs×outputs.
    pub gradient: Vec<f32>,
}

impl Layer {
    /// ReLU(X·W) for a batch of any length.
    pub fn forward(&mut self, x: &[f32]) {
        // EXERCISE: begin
        self.y.clear();
        self.y.resize(x.len() / self.inputs * self.outputs, 0.0);
        for (x, y) in x.chunks(self.inputs).zip(self.y.chunks_mut(self.outputs)) {
            for (x, weights) in x.iter().zip(self.weights.chunks(self.outputs)) {
                y.iter_mut().zip(weights).for_each(|(y, w)| *y += x * w);
            }
            for y in y {
                *y = y.max(0.0);
            }
        }
        // EXERCISE: instead
        // let mut y = vec![0.0; x.len() / self.inputs * self.outputs];
        // for (x, y) in x.chunks(self.inputs).zip(y.chunks_mut(self.outputs)) {
        //     for (x, weights) in x.iter().zip(self.weights.chunks(self.outputs)) {
        //         y.iter_mut().zip(weights).for_each(|(y, w)| *y += x * w);
        //     }
        // }
        // self.y = y.into_iter().map(|y| y.max(0.0)).collect();
        // EXERCISE: end
    }

    /// The gradient of the weights, from the batch of the last forward pass and the derivatives with
    /// respect to its outputs.
    pub fn backward(&mut self, x: &[f32], dy: &[f32]) {
        // EXERCISE: begin
        self.gradient.clear();
        self.gradient.resize(self.inputs * self.outputs, 0.0);
        let rows = self.y.chunks(self.outputs).zip(dy.chunks(self.outputs));
        for (x, (y, dy)) in x.chunks(self.inputs).zip(rows) {
            for (x, gradient) in x.iter().zip(self.gradient.chunks_mut(self.outputs)) {
                for (g, (y, dy)) in gradient.iter_mut().zip(y.iter().zip(dy)) {
                    if *y > 0.0 {
                        *g += x * dy;
                    }
                }
            }
        }
        // EXERCISE: instead
        // let mask: Vec<f32> = self.y.iter().map(|y| if *y > 0.0 { 1.0 } else { 0.0 }).collect();
        // let dy: Vec<f32> = dy.iter().zip(&mask).map(|(dy, mask)| dy * mask).collect();
        // self.gradient = vec![0.0; self.inputs * self.outputs];
        // for (x, dy) in x.chunks(self.inputs).zip(dy.chunks(self.outputs)) {
        //     for (x, gradient) in x.iter().zip(self.gradient.chunks_mut(self.outputs)) {
        //         gradient.iter_mut().zip(dy).for_each(|(g, dy)| *g += x * dy);
        //     }
        // }
        // EXERCISE: end
    }
}
