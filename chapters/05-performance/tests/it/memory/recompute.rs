use dfdx::{nn::modules::Linear, prelude::*};
use performance::memory::{
    recompute::{Deep, Rows, Segment, Stack, best_segments, pieces, recompute, seeded_dropout},
    step::{batch, noise},
};
use training::engine::Resident;

fn bits(layers: usize, dropout: f32, segments: usize, seed: u64) -> (u32, Vec<Vec<u32>>) {
    let mut deep = Deep::<24>::new(&Cpu::seed_from_u64(5), layers, dropout).unwrap();
    let data = Resident::new(&Cpu::default(), &noise(9, 1)).unwrap();
    let (x, y) = batch(&data, &[0, 3, 8, 1, 1]).unwrap();
    let (loss, grads) = deep.gradients(x, y, segments, seed).unwrap();
    assert!(grads.iter().flatten().any(|g| *g != 0.0));
    let grads = grads.into_iter().map(|g| g.into_iter().map(f32::to_bits).collect());
    (loss.to_bits(), grads.collect())
}

#[test]
fn gradients_are_the_same_bit_for_bit() {
    for (layers, dropout) in [(7, 0.0), (7, 0.3), (1, 0.0), (16, 0.1)] {
        let whole = bits(layers, dropout, 0, 11);
        for segments in [1, 2, 3, 7, 16].into_iter().filter(|k| *k <= layers) {
            assert!(bits(layers, dropout, segments, 11) == whole, "{layers} in {segments}");
        }
    }
}

#[test]
fn another_seed_drops_others() {
    assert!(bits(3, 0.5, 2, 1) != bits(3, 0.5, 2, 2));
    assert!(bits(3, 0.0, 2, 1) == bits(3, 0.0, 2, 2));
}

#[test]
fn an_input_that_others_use_too_keeps_its_whole_gradient() {
    // y = f(x) + x, as in a residual block.
    let dev = Cpu::seed_from_u64(4);
    let layer = Linear::<6, 6, f32, Cpu>::build(&dev);
    let stack = Stack { layers: vec![layer], dropout: 0.0, seed: 0, first: 0 };
    let x: Rows<6> = dev.sample_normal_like(&(3, Const));
    let of_x = |again: bool| {
        let traced = x.leaky_trace();
        let y = if again { recompute(&stack, traced) } else { stack.run(traced) }.unwrap();
        (y + x.clone()).square().sum().backward().get(&x).as_vec()
    };
    assert_eq!(of_x(true), of_x(false));
}

#[test]
fn dropout_drops_its_share() {
    let dev = Cpu::default();
    let x: Rows<1000> = dev.ones_like(&(10, Const));
    let y = seeded_dropout(x, 0.25, 7).unwrap().as_vec();
    let dropped = y.iter().filter(|v| **v == 0.0).count();
    assert!((2300..2700).contains(&dropped), "{dropped}");
    assert!(y.iter().all(|v| *v == 0.0 || (v - 1.0 / 0.75).abs() < 1e-6));
}

#[test]
fn what_cannot_be_is_refused() {
    let dev = Cpu::default();
    assert!(Deep::<4>::new(&dev, 2, 1.0).is_err() && Deep::<4>::new(&dev, 2, f32::NAN).is_err());
    let mut deep = Deep::<4>::new(&dev, 2, 0.0).unwrap();
    let data = Resident::new(&dev, &noise(2, 1)).unwrap();
    let (x, y) = batch(&data, &[0]).unwrap();
    let error = deep.gradients(x, y, 3, 0).unwrap_err().to_string();
    assert!(error.contains("2 layers") && error.contains("3 segments"), "{error}");
}

#[test]
fn pieces_are_as_equal_as_can_be() {
    assert_eq!(pieces(7, 3).collect::<Vec<_>>(), [(0, 2), (2, 4), (4, 7)]);
    assert_eq!(pieces(2, 1).collect::<Vec<_>>(), [(0, 2)]);
    assert!((best_segments(16, 3.0) - 48f64.sqrt()).abs() < 1e-12);
}
