use backprop::check::error_f32;
use dfdx::prelude::*;
use performance::engine::{maps::convolve_relu_pool, rows::Inputs};
use training::conv::{Convolve as _, Filters, Maps};

fn equal<const CI: usize, const CO: usize, const K: usize>(
    (batch, h, w): (usize, usize, usize),
    pad: usize,
) {
    let dev = Cpu::seed_from_u64((batch * 10 + K) as u64);
    let maps: Maps<CI, Cpu> = dev.sample_normal_like(&(batch, h, w, Const));
    let filters: Filters<CI, CO, K, Cpu> = dev.sample_normal();
    let bias: Tensor<Rank1<CO>, f32, _> = dev.sample_normal();
    let plain = Cpu::convolve(maps.leaky_trace(), &filters, Some(&bias), pad).unwrap();
    let plain = Cpu::max_pool(plain.relu()).unwrap();
    let weight: Maps<CO, Cpu> = dev.sample_normal_like(plain.shape());
    let values = plain.as_vec();
    let plain = (plain * weight.clone()).sum().backward();
    for inputs in [Inputs::Units, Inputs::Data] {
        let fused = convolve_relu_pool(maps.leaky_trace(), &filters, &bias, pad, inputs).unwrap();
        assert!(error_f32(&fused.as_vec(), &values) < 1e-5);
        let fused = (fused * weight.clone()).sum().backward();
        let both = |of: &dyn Fn(&Gradients<f32, Cpu>) -> Vec<f32>| {
            let error = error_f32(&of(&fused), &of(&plain));
            assert!(error < 1e-5, "{CI}→{CO}, {K}×{K}, {batch} of {h}×{w}: {error}");
        };
        both(&|grads| grads.get(&filters).as_vec());
        both(&|grads| grads.get(&bias).as_vec());
        if inputs == Inputs::Units {
            both(&|grads| grads.get(&maps).as_vec());
        }
    }
}

#[test]
fn is_the_three_operations_backward_too() {
    equal::<1, 16, 5>((3, 28, 28), 2);
    equal::<16, 32, 5>((17, 14, 14), 0);
    equal::<2, 3, 3>((1, 4, 6), 1);
    equal::<3, 5, 1>((33, 2, 2), 0);
    equal::<2, 8, 3>((5, 20, 14), 1);
}

#[test]
fn an_odd_side_is_refused() {
    let dev = Cpu::seed_from_u64(1);
    let maps: Maps<1, Cpu> = dev.zeros_like(&(1, 5, 4, Const));
    let filters: Filters<1, 2, 1, Cpu> = dev.zeros();
    let bias: Tensor<Rank1<2>, f32, _> = dev.zeros();
    assert!(convolve_relu_pool(maps, &filters, &bias, 0, Inputs::Units).is_err());
}
