use backprop::check::error_f32;
use dfdx::prelude::*;
use performance::engine::normed::{joined, normed, spread};
use performance::engine::rows::Inputs;
use training::conv::{Convolve as _, Maps};
use training::{norm::normalise, resnet::Layer};

type Grads = Gradients<f32, Cpu>;

fn equal<const CI: usize, const CO: usize, const K: usize>(
    (batch, h, w): (usize, usize, usize),
    with_side: bool,
    pooled: bool,
) {
    let dev = Cpu::seed_from_u64((batch * 10 + K) as u64);
    let maps: Maps<CI, Cpu> = dev.sample_normal_like(&(batch, h, w, Const));
    let around: Maps<CO, Cpu> = dev.sample_normal_like(&(batch, h, w, Const));
    let layer = || {
        let mut layer = Layer::<CI, CO, K, f32, Cpu>::build(&Cpu::seed_from_u64(1));
        layer.norm.scale = Cpu::seed_from_u64(2).sample_normal();
        layer.norm.bias = Cpu::seed_from_u64(3).sample_normal();
        layer
    };
    let (mut one, mut two) = (layer(), layer());
    let plain = Cpu::convolve(maps.leaky_trace(), &one.weight, None, K / 2).unwrap();
    let mut plain = normalise(plain, &mut one.norm).unwrap();
    if with_side {
        plain = plain + around.clone();
    }
    plain = plain.relu();
    if pooled {
        plain = Cpu::max_pool(plain).unwrap();
    }
    let weight: Maps<CO, Cpu> = dev.sample_normal_like(plain.shape());
    let values = plain.as_vec();
    let plain: Grads = (plain * weight.clone()).sum().backward();
    for inputs in [Inputs::Units, Inputs::Data] {
        two.norm = layer().norm;
        let side = with_side.then_some(&around);
        let fused = normed(maps.leaky_trace(), &mut two, side, pooled, inputs).unwrap();
        assert!(error_f32(&fused.as_vec(), &values) < 1e-5);
        let noted = |layer: &Layer<CI, CO, K, f32, Cpu>| {
            [layer.norm.running_mean.as_vec(), layer.norm.running_var.as_vec()].concat()
        };
        assert!(error_f32(&noted(&two), &noted(&one)) < 1e-5);
        let fused: Grads = (fused * weight.clone()).sum().backward();
        let close = |found: Vec<f32>, wanted: Vec<f32>, what: &str| {
            let error = error_f32(&found, &wanted);
            assert!(error < 2e-5, "{what}, {CI}→{CO}, {K}×{K}, {batch} of {h}×{w}: {error}");
        };
        close(fused.get(&two.weight).as_vec(), plain.get(&one.weight).as_vec(), "filters");
        let (found, wanted) = (fused.get(&two.norm.scale), plain.get(&one.norm.scale));
        close(found.as_vec(), wanted.as_vec(), "scale");
        let (found, wanted) = (fused.get(&two.norm.bias), plain.get(&one.norm.bias));
        close(found.as_vec(), wanted.as_vec(), "bias");
        if with_side {
            close(fused.get(&around).as_vec(), plain.get(&around).as_vec(), "around");
        }
        if inputs == Inputs::Units {
            close(fused.get(&maps).as_vec(), plain.get(&maps).as_vec(), "images");
        }
    }
}

#[test]
fn is_the_operations_that_it_stands_for_backward_too() {
    equal::<1, 24, 3>((3, 28, 28), false, true);
    equal::<24, 24, 3>((9, 14, 14), true, true);
    equal::<24, 48, 1>((2, 7, 7), false, false);
    equal::<48, 48, 3>((17, 7, 7), true, false);
    equal::<2, 3, 5>((1, 4, 6), true, false);
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let dev = Cpu::seed_from_u64(1);
    let mut layer = Layer::<1, 2, 3, f32, Cpu>::build(&dev);
    let maps: Maps<1, Cpu> = dev.zeros_like(&(1, 5, 4, Const));
    let around: Maps<2, Cpu> = dev.zeros_like(&(1, 4, 4, Const));
    assert!(normed(maps.clone(), &mut layer, None, true, Inputs::Units).is_err());
    assert!(normed(maps, &mut layer, Some(&around), false, Inputs::Units).is_err());
}

#[test]
fn a_large_mean_leaves_the_variance_its_digits() {
    let images: Vec<_> = (0..5)
        .map(|image| {
            let z: Vec<f32> = (0..49).map(|at| 1000.0 + 0.01 * (image * 49 + at) as f32).collect();
            spread::<1>(&z)
        })
        .collect();
    let [mean, var] = joined(&images, 49);
    // Of 0 to n − 1 the variance is (n² − 1)/12.
    let wanted = (245.0 * 245.0 - 1.0) / 12.0 * 1e-4;
    assert!((mean[0] - 1001.22).abs() < 1e-3 && (var[0] / wanted - 1.0).abs() < 1e-2, "{var:?}");
}
