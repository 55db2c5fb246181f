use dfdx::prelude::*;
use mixed_precision::amp::deep::Deep;
use training::model::{build, tensors};

#[test]
fn has_the_layers_it_says() {
    let model: Deep<f32, Cpu> = build(&Cpu::seed_from_u64(1)).unwrap();
    let shapes = tensors(&model).unwrap();
    assert_eq!(shapes.len(), 2 * 9);
    assert_eq!(model.num_trainable_params(), 784 * 128 + 7 * 128 * 128 + 8 * 128 + 128 * 10 + 10);
}
