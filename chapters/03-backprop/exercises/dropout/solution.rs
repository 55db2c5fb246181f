//! Dropout: forward, backward, and in prediction.

/// A dropout layer.
#[derive(Clone, Debug, Default)]
pub struct Dropout {
    /// The fraction of the units that is dropped: at least 0, and less than 1.
    pub rate: f32,
    /// What the last forward pass has multiplied each unit by.
    pub factors: Vec<f32>,
}

impl Dropout {
    /// The units after dropout, in training. A unit is dropped where its number in `uniform` (0 up to 1) is below
    /// the rate; the others grow so that the mean stays.
    pub fn train(&mut self, x: &[f32], uniform: &[f32]) -> Vec<f32> {
        // EXERCISE: begin
        let kept = 1.0 / (1.0 - self.rate);
        self.factors = uniform.iter().map(|u| if *u < self.rate { 0.0 } else { kept }).collect();
        x.iter().zip(&self.factors).map(|(x, factor)| x * factor).collect()
        // EXERCISE: instead
        // x.iter().zip(uniform).map(|(x, u)| if *u < self.rate { 0.0 } else { *x }).collect()
        // EXERCISE: end
    }

    /// The units after dropout, in prediction.
    pub fn predict(&mut self, x: &[f32]) -> Vec<f32> {
        // EXERCISE: begin
        self.factors = vec![1.0; x.len()];
        x.to_vec()
        // EXERCISE: instead
        // x.iter().map(|x| x * (1.0 - self.rate)).collect()
        // EXERCISE: end
    }

    /// The gradient before dropout, from the one after it.
    pub fn backward(&self, dy: &[f32]) -> Vec<f32> {
        // EXERCISE: begin
        dy.iter().zip(&self.factors).map(|(dy, factor)| dy * factor).collect()
        // EXERCISE: instead
        // let _ = &self.factors; // it forgets what was dropped
        // dy.to_vec()
        // EXERCISE: end
    }
}
