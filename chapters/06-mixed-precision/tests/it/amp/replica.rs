use dfdx::dtypes::{AMP, f16};
use dfdx::prelude::*;
use mixed_precision::amp::replica::{halved, loaded, unscaled};
use training::mlp::Mlp;
use training::model::{self, Network};

#[test]
fn the_copy_is_rounded_and_keeps_its_dropout() {
    let mut model: Mlp<Cpu> = model::build(&Cpu::seed_from_u64(1)).unwrap();
    model.set_dropout(0.125);
    let half = halved(&model).unwrap();
    assert_eq!(half.1.p.to_bits(), 0.125_f32.to_bits());
    let (full, copy) = (model.0.0.weight.as_vec(), half.0.0.weight.as_vec());
    for (w, h) in full.iter().zip(&copy) {
        assert_eq!(h.0, f16::from_f32(*w));
    }
}

#[test]
fn gradients_come_back_without_their_factor() {
    let dev = Cpu::seed_from_u64(2);
    let model: Mlp<Cpu> = model::build(&dev).unwrap();
    let half = halved(&model).unwrap();
    let grads = |factor: f32| {
        let weights = half.2.weight.clone().traced(half.alloc_grads());
        // d(sum w · factor) / dw = factor
        let seed = dev.tensor(AMP(f16::from_f32(factor)));
        (weights * seed.broadcast()).sum::<Rank0, _>().backward()
    };
    let back = unscaled::<Mlp<Cpu>, Cpu>(&half, &grads(3.0), 1024.0).unwrap().unwrap();
    assert!(back.2.weight.as_vec().iter().all(|g| (g - 3.0 / 1024.0).abs() < 1e-12));
    assert!(back.0.0.weight.as_vec().iter().all(|g| g.abs() < 1e-12));
    for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        assert!(unscaled::<Mlp<Cpu>, Cpu>(&half, &grads(bad), 1.0).unwrap().is_none());
    }
    let loaded = loaded(&model, &back).unwrap();
    assert_eq!(loaded.get(&model.2.weight).as_vec(), back.2.weight.as_vec());
    assert_eq!(loaded.get(&model.0.0.bias).as_vec(), [0.0; 128]);
}
