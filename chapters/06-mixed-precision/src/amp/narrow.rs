//! Products whose sums are made in f16: an ablation. Tensor cores can add in f16 as well as in f32, and training libraries
//! take f32. It runs on the CPU, where f32 arithmetic imitates it, and rounds after every term.

use crate::amp::replica::{H, HalfImages, HalfLogits, HalfMlp, HalfTape};
use dfdx::{
    dtypes::{AMP, f16},
    prelude::*,
};

/// A number in f32, rounded to the nearest of f16's, as long as it is not too large.
fn round(x: f32) -> f32 {
    // Dekker 1971: x·(2¹³+1) is so much larger than x that the difference
    // keeps the upper 24 - 13 = 11 bits, as many as f16 has.
    let large = x * 8193.0;
    let normal = large - (large - x);
    // Subnormals are whole multiples of 2⁻²⁴, which is an ulp of 0.75.
    let subnormal = (x + 0.75) - 0.75;
    if x.abs() < 6.103_515_6e-5 { subnormal } else { normal }
}

// ANCHOR: product
/// C = A·B, rows by rows (m×k and k×n), each sum made in f16.
pub fn product([m, k, n]: [usize; 3], a: &[f32], b: &[f32]) -> Vec<f32> {
    let mut c = vec![0.0; m * n];
    for i in 0..m {
        let c = &mut c[i * n..(i + 1) * n];
        for p in 0..k {
            let (a, b) = (a[i * k + p], &b[p * n..(p + 1) * n]);
            for (c, b) in c.iter_mut().zip(b) {
                *c = round(*c + a * b); // rounded after every addition
            }
        }
    }
    c
}
// ANCHOR_END: product

fn wide(numbers: &[H]) -> Vec<f32> {
    numbers.iter().map(|h| h.0.to_f32()).collect()
}

fn narrow(numbers: &[f32]) -> Vec<H> {
    numbers.iter().map(|x| AMP(f16::from_f32(*x))).collect()
}

/// A matrix of r rows and c columns, turned.
fn turned([r, c]: [usize; 2], a: &[f32]) -> Vec<f32> {
    (0..r * c).map(|at| a[at % r * c + at / r]).collect()
}

/// Rows in f16 on the CPU, with a tape.
type Rows<const W: usize> = Tensor<(usize, Const<W>), H, Cpu, HalfTape<Cpu>>;

/// Adds `sums` to a gradient.
fn add(to: &mut [H], sums: &[f32]) {
    for (to, sum) in to.iter_mut().zip(sums) {
        to.0 = f16::from_f32(to.0.to_f32() + sum);
    }
}

/// A dense layer whose products, forward and backward, are made by [`product`].
fn dense<const I: usize, const O: usize>(
    rows: Rows<I>,
    layer: &modules::Linear<I, O, H, Cpu>,
) -> Result<Rows<O>, CpuError> {
    let (rows, mut tape) = rows.split_tape();
    let (batch, weight) = (rows.shape().0, layer.weight.clone());
    let (x, w) = (wide(&rows.as_vec()), wide(&weight.as_vec()));
    let y = product([batch, I, O], &x, &turned([O, I], &w));
    let out = rows.device().try_tensor_from_vec(narrow(&y), (batch, Const))?;
    let (of_rows, of_weight, of_out) = (rows.ghost(), weight.ghost(), out.ghost());
    tape.add_backward_op(move |grads| {
        let up = wide(grads.get_or_alloc_mut(&of_out)?);
        let dx = product([batch, O, I], &up, &w);
        add(grads.get_or_alloc_mut(&of_rows)?, &dx);
        let dw = product([O, batch, I], &turned([batch, O], &up), &x);
        add(grads.get_or_alloc_mut(&of_weight)?, &dw);
        Ok(())
    });
    let bias = layer.bias.retaped::<HalfTape<Cpu>>().try_broadcast_like(&(batch, Const::<O>))?;
    out.put_tape(tape).try_add(bias)
}

/// The forward pass of chapter 4's perceptron, its products with sums in f16.
///
/// # Errors
/// The device's own.
pub fn mlp(
    half: &mut HalfMlp<Cpu>,
    images: HalfImages<Cpu, HalfTape<Cpu>>,
) -> Result<HalfLogits<Cpu, HalfTape<Cpu>>, CpuError> {
    let hidden = dense(images, &half.0.0)?.try_relu()?;
    dense(half.1.try_forward_mut(hidden)?, &half.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amp::replica::{HalfModel, halved};
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
}
