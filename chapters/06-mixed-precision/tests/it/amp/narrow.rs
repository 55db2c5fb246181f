use dfdx::{dtypes::f16, prelude::*};
use mixed_precision::amp::narrow::{mlp, narrow, product, round, turned, wide};
use mixed_precision::amp::replica::{HalfImages, HalfMlp, HalfModel, halved};
use training::{mlp::Mlp, model};

#[test]
fn rounds_as_half_does_but_for_ties() {
    let mut ties = 0;
    for at in 0..1_000_000_u32 {
        // Over the exponents from 2⁻³⁰ to 2¹³.
        let x = f32::from_bits(0x3080_0000 + at * 370);
        let (ours, theirs) = (round(x), f16::from_f32(x).to_f32());
        if ours.to_bits() != theirs.to_bits() {
            let next = f64::from(ours) + f64::from(theirs);
            assert!((next - 2.0 * f64::from(x)).abs() < 1e-12, "{x}: {ours}, not {theirs}");
            ties += 1;
        }
        assert!((round(-x) + ours).abs() < 1e-12);
    }
    assert!(ties < 500, "{ties}");
}

#[test]
fn a_sum_of_ones_stops_at_2048() {
    let ones = vec![1.0; 5000];
    assert_eq!(product([1, 5000, 1], &ones, &ones), [2048.0]);
}

#[test]
fn products_of_whole_numbers_are_exact() {
    let a: Vec<f32> = (0..6).map(|x| x as f32).collect();
    let b: Vec<f32> = (0..12).map(|x| x as f32 - 5.0).collect();
    let c = product([2, 3, 4], &a, &b);
    for (at, c) in c.iter().enumerate() {
        let wanted: f32 = (0..3).map(|p| a[at / 4 * 3 + p] * b[p * 4 + at % 4]).sum();
        assert!((c - wanted).abs() < 1e-6);
    }
    assert_eq!(turned([2, 3], &a), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert!(product([0, 3, 4], &[], &b).is_empty());
}

#[test]
fn the_forward_pass_and_its_gradients_are_nearly_those_of_dfdx() {
    let dev = Cpu::seed_from_u64(3);
    let model: Mlp<Cpu> = model::build(&dev).unwrap();
    let mut half = halved(&model).unwrap();
    half.1.p = 0.0;
    let pixels: Vec<f32> = (0..5 * 784).map(|i| (i * 29 % 97) as f32 / 97.0).collect();
    let images: HalfImages<Cpu> = dev.tensor_from_vec(narrow(&pixels), (5, Const));
    let run = |half: &mut HalfMlp<Cpu>, ours: bool| {
        let images = images.clone().traced(half.alloc_grads());
        let scores = if ours { mlp(half, images) } else { half.learn(images) }.unwrap();
        let seen = wide(&scores.as_vec());
        let grads = scores.square().sum::<Rank0, _>().backward();
        let of = [
            wide(&grads.get(&half.0.0.weight).as_vec()),
            wide(&grads.get(&half.0.0.bias).as_vec()),
            wide(&grads.get(&half.2.weight).as_vec()),
            wide(&grads.get(&half.2.bias).as_vec()),
        ];
        (seen, of)
    };
    let (ours, theirs) = (run(&mut half, true), run(&mut half, false));
    let close = |a: &[f32], b: &[f32]| backprop::check::error_f32(a, b) < 0.05;
    assert!(close(&ours.0, &theirs.0) && ours.0 != theirs.0);
    for (ours, theirs) in ours.1.iter().zip(&theirs.1) {
        assert!(close(ours, theirs));
    }
}
