use dfdx::prelude::*;
use training::learning::flat::{pack, unpack};
use training::models::model::{build, parameters};
use training::models::resnet::Resnet;

#[test]
fn a_row_holds_gradients_and_kept_means_and_goes_back() {
    let dev = Cpu::seed_from_u64(1);
    let mut model: Resnet<f32, Cpu> = build(&dev).unwrap();
    let numbers = parameters(&model).unwrap();
    let mut grads = model.alloc_grads();
    let mut row = vec![7.0];
    pack(&model, &grads, &mut row).unwrap();
    assert_eq!(row.len(), 1 + numbers.len());
    // Gradients are zero, kept means 0 and variances 1.
    let kept = numbers.len() - model.num_trainable_params();
    let sum: f32 = row[1..].iter().sum();
    assert!((sum - 0.5 * kept as f32).abs() < 1e-6, "{sum}");

    let new: Vec<f32> = (0..numbers.len()).map(|i| i as f32).collect();
    unpack(&mut model, &mut grads, &new).unwrap();
    let mut again = Vec::new();
    pack(&model, &grads, &mut again).unwrap();
    assert_eq!(again, new);
    let after = parameters(&model).unwrap();
    let changed = numbers.iter().zip(&after).filter(|(old, new)| (*old - *new).abs() > 0.0).count();
    assert_eq!(changed, kept, "only what is kept is written into the model");
}
