use crate::models::dense::{both_equal, close};
use dfdx::prelude::*;
use training::models::conv::Maps;
use training::models::norm::{Norm, Rows, by_batch, normalise};

fn norm(dev: &Cpu) -> Norm<3, f32, Cpu> {
    let mut norm = Norm::<3, f32, Cpu>::build(dev);
    norm.scale = dev.tensor([1.5, -0.5, 2.0]);
    norm.bias = dev.tensor([0.1, 0.2, -0.3]);
    norm
}

#[test]
fn the_fast_one_is_dfdxs_forward_and_backward() {
    let dev = Cpu::seed_from_u64(1);
    for rows in [2, 7, 1024, 2051] {
        let x: Rows<3, Cpu> = dev.sample_normal_like(&(rows, Const)) * 3.0 + 5.0;
        let mut fast = norm(&dev);
        let mut slow = fast.clone();
        let both =
            [by_batch(x.leaky_trace(), &mut fast).unwrap(), slow.forward_mut(x.leaky_trace())];
        close(1e-4, &both[0].as_vec(), &both[1].as_vec());
        both_equal(1e-3, both, |grads| {
            let x = grads.get(&x).as_vec();
            vec![x, grads.get(&fast.scale).as_vec(), grads.get(&fast.bias).as_vec()]
        });
        close(1e-5, &fast.running_mean.as_vec(), &slow.running_mean.as_vec());
        close(1e-4, &fast.running_var.as_vec(), &slow.running_var.as_vec());
    }
}

#[test]
fn every_channel_gets_mean_zero_and_deviation_one() {
    let dev = Cpu::seed_from_u64(2);
    // A large mean must not eat the digits of the deviation.
    let x: Rows<3, Cpu> = dev.sample_normal_like(&(5000, Const)) * 0.01 + 1000.0;
    let mut norm = Norm::<3, f32, Cpu>::build(&dev);
    norm.epsilon = 0.0;
    let y = by_batch(x, &mut norm).unwrap().as_vec();
    for c in 0..3 {
        let values = y.iter().skip(c).step_by(3).map(|v| f64::from(*v));
        let mean = values.clone().sum::<f64>() / 5000.0;
        let var = values.map(|v| (v - mean).powi(2)).sum::<f64>() / 5000.0;
        assert!(mean.abs() < 0.01 && (var - 1.0).abs() < 0.01, "{mean}, {var}");
    }
}

#[test]
fn the_tape_says_whether_it_learns() {
    let dev = Cpu::seed_from_u64(3);
    let maps: Maps<3, Cpu> = dev.sample_normal_like(&(2, 3, 3, Const));
    let mut norm = norm(&dev);
    let before = norm.running_mean.as_vec();
    let still = normalise(maps.clone(), &mut norm).unwrap();
    assert_eq!(norm.running_mean.as_vec(), before);
    let learning = normalise(maps.leaky_trace(), &mut norm).unwrap();
    assert_ne!(norm.running_mean.as_vec(), before);
    assert_ne!(still.as_vec(), learning.as_vec());
    assert_eq!(still.shape(), maps.shape());
}
