use dfdx::prelude::*;
use training::model::Network;
use training::models::{linear::Linear, model::build};

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
