//! Products whose sums are made in f16: an ablation. Tensor cores can add in f16 as well as in f32, and training libraries
//! take f32. It runs on the CPU, where f32 arithmetic imitates it, and rounds after every term.

use crate::amp::replica::{H, HalfImages, HalfLogits, HalfMlp, HalfTape};
use dfdx::{
    dtypes::{AMP, f16},
    prelude::*,
};

/// A number in f32, rounded to the nearest of f16's, as long as it is not too large.
pub fn round(x: f32) -> f32 {
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

/// The same numbers in f32.
pub fn wide(numbers: &[H]) -> Vec<f32> {
    numbers.iter().map(|h| h.0.to_f32()).collect()
}

/// The nearest numbers in f16.
pub fn narrow(numbers: &[f32]) -> Vec<H> {
    numbers.iter().map(|x| AMP(f16::from_f32(*x))).collect()
}

/// A matrix of r rows and c columns, turned.
pub fn turned([r, c]: [usize; 2], a: &[f32]) -> Vec<f32> {
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
