//! Master weights: f32 weights that gather the updates, and bf16 copies that the products read.

use half::bf16;

/// Weights that are trained, and what the products read.
#[derive(Clone, Debug)]
pub struct Weights {
    /// The f32 weights.
    pub master: Vec<f32>,
    /// The same, rounded to bf16.
    pub copy: Vec<bf16>,
}

impl Weights {
    /// Weights with these values.
    pub fn new(master: Vec<f32>) -> Self {
        let copy = master.iter().map(|w| bf16::from_f32(*w)).collect();
        Self { master, copy }
    }

    /// One step of plain descent: each weight loses `lr` times its gradient. Afterwards each copy is the bf16
    /// that is nearest to its weight.
    pub fn update(&mut self, gradient: &[f32], lr: f32) {
        // EXERCISE: begin
        let weights = self.master.iter_mut().zip(&mut self.copy);
        for ((master, copy), g) in weights.zip(gradient) {
            *master -= lr * g;
            *copy = bf16::from_f32(*master);
        }
        // EXERCISE: instead
        // for (copy, g) in self.copy.iter_mut().zip(gradient) {
        //     *copy = bf16::from_f32(copy.to_f32() - lr * g);
        // }
        // EXERCISE: end
    }
}
