//! The linear model: one layer, a score for each digit. The second article's TensorFlow example.

use crate::models::{
    fused::{self, FusedRows},
    model::{Images, Learned, Logits, Network},
    norm::Mode,
};
use dfdx::prelude::*;

/// 784 pixels, 10 digits: each score is a weighted sum of the pixels.
pub type Linear<D> = modules::Linear<784, 10, f32, D>;

impl<D: FusedRows> Network<D> for Linear<D> {
    const DRAWS_PER_STEP: u64 = 0;

    fn learn<T: Mode<D>>(&mut self, images: Images<D, T>) -> Learned<D, T> {
        fused::linear(self, images)
    }

    fn predict(&self, images: Images<D>) -> Result<Logits<D>, D::Err> {
        self.try_forward(images)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::model::build;

    #[test]
    fn a_score_is_a_weighted_sum() {
        let dev = Cpu::seed_from_u64(1);
        let model: Linear<Cpu> = build(&dev).unwrap();
        let pixels: Vec<f32> = (0..784).map(|i| (i % 7) as f32 / 7.0).collect();
        let scores = model.predict(dev.tensor_from_vec(pixels.clone(), (1, Const))).unwrap();
        let (weight, bias) = (model.weight.as_vec(), model.bias.as_vec());
        for (class, score) in scores.as_vec().into_iter().enumerate() {
            let sum: f64 = weight[class * 784..(class + 1) * 784]
                .iter()
                .zip(&pixels)
                .map(|(w, x)| f64::from(*w) * f64::from(*x))
                .sum();
            let wanted = sum + f64::from(bias[class]);
            assert!((f64::from(score) - wanted).abs() < 1e-5, "{score} is not {wanted}");
        }
    }
}
