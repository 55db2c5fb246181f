use dfdx::prelude::*;
use training::models::mlp::Mlp;
use training::models::model::{build, parameters};

#[test]
fn starts_with_small_weights_around_zero() {
    let model: Mlp<Cpu> = build(&Cpu::seed_from_u64(3)).unwrap();
    let values = parameters(&model).unwrap();
    let first = &values[..784 * 128];
    let mean = first.iter().sum::<f32>() / first.len() as f32;
    assert!(mean.abs() < 1e-3, "{mean}");
    assert!(first.iter().all(|w| w.abs() <= 1.0 / 28.0));
}
