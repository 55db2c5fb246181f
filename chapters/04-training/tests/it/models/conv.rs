use super::{convolve::convolve, dense::both_equal};
use backprop::check::wide;
use dfdx::prelude::*;
use training::models::conv::{
    Conv2d, Convolve, Filters, Maps, convolve_gather, max_pool_by_choice,
};

type Maps2 = Maps<2, Cpu>;

fn maps(dev: &Cpu, batch: usize, h: usize, w: usize) -> Maps2 {
    dev.sample_normal_like(&(batch, h, w, Const::<2>))
}

/// A convolution as its definition says, in f64.
fn naive<const K: usize, const PAD: usize>(
    conv: &Conv2d<2, 3, K, PAD, f32, Cpu>,
    maps: &Maps2,
) -> Vec<f64> {
    let &(_, h, w, _) = maps.shape();
    let [x, filters, bias] =
        [maps.as_vec(), conv.weight.as_vec(), conv.bias.as_vec()].map(|values| wide(&values));
    let of = |image| convolve(image, [&filters, &bias], [h, w, 2], [K, PAD]);
    x.chunks_exact(h * w * 2).flat_map(of).collect()
}

fn equals_naive<const K: usize, const PAD: usize>(batch: usize, h: usize, w: usize) {
    let dev = Cpu::seed_from_u64((K * 10 + PAD) as u64);
    let mut conv = Conv2d::<2, 3, K, PAD, f32, Cpu>::build(&dev);
    conv.bias = dev.sample_normal();
    let maps = maps(&dev, batch, h, w);
    let wanted = naive(&conv, &maps);
    let got = conv.forward(maps).unwrap().as_vec();
    assert_eq!(got.len(), wanted.len());
    for (got, wanted) in got.iter().zip(&wanted) {
        assert!((f64::from(*got) - wanted).abs() < 1e-5, "{got} is not {wanted}");
    }
}

#[test]
fn is_the_convolution_of_the_definition() {
    equals_naive::<3, 1>(2, 5, 7);
    equals_naive::<3, 0>(1, 4, 3);
    equals_naive::<5, 2>(3, 6, 6);
    equals_naive::<1, 0>(2, 3, 2);
    equals_naive::<3, 2>(1, 1, 1);
}

fn both_ways_are_equal<const K: usize>(batch: usize, h: usize, w: usize, pad: usize) {
    let dev = Cpu::seed_from_u64(4);
    let maps = maps(&dev, batch, h, w);
    let filters: Filters<2, 3, K, Cpu> = dev.sample_normal();
    let bias: Tensor<Rank1<3>, f32, _> = dev.sample_normal();
    for bias in [Some(&bias), None] {
        let both = [
            Cpu::convolve(maps.leaky_trace(), &filters, bias, pad).unwrap(),
            convolve_gather(maps.leaky_trace(), &filters, bias, pad).unwrap(),
        ];
        both_equal(1e-4, both, |grads| {
            let of_bias = bias.map(|bias| grads.get(bias).as_vec());
            let gradients = [grads.get(&maps).as_vec(), grads.get(&filters).as_vec()];
            gradients.into_iter().chain(of_bias).collect()
        });
    }
}

#[test]
fn the_fast_convolution_is_the_plain_one_backward_too() {
    both_ways_are_equal::<3>(2, 6, 4, 1);
    both_ways_are_equal::<5>(1, 8, 6, 2);
    both_ways_are_equal::<3>(3, 4, 4, 0);
    both_ways_are_equal::<1>(1, 2, 2, 0);
    both_ways_are_equal::<3>(37, 5, 5, 1); // more images than a task has, and an odd rest
    both_ways_are_equal::<3>(17, 20, 13, 1); // an image that is a group by itself
}

#[test]
fn the_fast_pool_is_the_plain_one_backward_too() {
    let dev = Cpu::seed_from_u64(4);
    for (batch, h, w) in [(2, 6, 4), (1, 8, 6), (3, 2, 2)] {
        // Whole numbers, of which many are equal, as on the empty paper around a digit.
        let whole = maps(&dev, batch, h, w).as_vec().iter().map(|v| v.round()).collect();
        let maps: Maps2 = dev.tensor_from_vec(whole, (batch, h, w, Const));
        let both = [
            Cpu::max_pool(maps.leaky_trace()).unwrap(),
            max_pool_by_choice(maps.leaky_trace()).unwrap(),
        ];
        assert_eq!(both[0].as_vec(), both[1].as_vec());
        assert_eq!(both[0].shape(), &(batch, h / 2, w / 2, Const));
        both_equal(1e-4, both, |grads| vec![grads.get(&maps).as_vec()]);
    }
}

/// The slope of a loss where it is moved along one number, that lies in a row of them.
fn slope(row: &[f32], at: usize, loss: impl Fn(&[f32]) -> f64) -> f64 {
    let moved = |by: f32| {
        let mut row = row.to_vec();
        row[at] += by;
        loss(&row)
    };
    (moved(1e-2) - moved(-1e-2)) / 2e-2
}

#[test]
fn its_gradient_is_the_slope() {
    let dev = Cpu::seed_from_u64(6);
    let conv = Conv2d::<2, 3, 3, 1, f32, Cpu>::build(&dev);
    let maps = maps(&dev, 2, 4, 4);
    let loss = |conv: &Conv2d<2, 3, 3, 1, f32, Cpu>, x: &Maps2| -> f64 {
        naive(conv, x).iter().map(|v| v * v).sum()
    };
    let out = conv.forward(maps.leaky_trace()).unwrap();
    let grads = out.square().sum().backward();
    let near = |found: f32, wanted: f64| {
        assert!((f64::from(found) - wanted).abs() < 1e-2 * wanted.abs().max(1.0));
    };
    let (weight, dx) = (grads.get(&conv.weight).as_vec(), grads.get(&maps).as_vec());
    for at in [0, 7, 20, 53] {
        let moved = |values: &[f32]| {
            let mut conv = conv.clone();
            conv.weight.copy_from(values);
            loss(&conv, &maps)
        };
        near(weight[at], slope(&conv.weight.as_vec(), at, moved));
    }
    for at in [0, 11, 40, 63] {
        let moved =
            |values: &[f32]| loss(&conv, &dev.tensor_from_vec(values.to_vec(), *maps.shape()));
        near(dx[at], slope(&maps.as_vec(), at, moved));
    }
}
