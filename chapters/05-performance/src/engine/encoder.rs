//! A block of the transformer in two operations: attention with all that belongs to it, and the dense layers. Both normalise
//! their rows first, and add what they find to what came in. dfdx would do each in a dozen operations, with copies between
//! them, and its products of 16×16 numbers, one for each head of each image, cost it more than the layers around them. Here a
//! head's numbers are in the first-level cache, and its rows are vectors.

#![allow(clippy::inline_always, reason = "what a vector loop calls is compiled for its CPU")]

use crate::engine::{
    direct::add,
    layer::{self, Behind, Derivatives, Sides, Team},
};
use dfdx::{nn::modules::LayerNorm1D, prelude::*};
use lab::vectors::{exp, wide};
use std::{mem::take, ops::Range};
use training::{
    autocast::{Operands, operands},
    cpu::numbers,
    fused::{Affine, Row, normalise, normalise_backward},
    norm::Rows,
    transformer::{Attention, Block, HEAD, HEADS, PATCHES, WIDE, WIDTH},
};

/// The patches of an image in one head: rows of queries, keys or values, or of a query's score for each key.
type Square = [[f32; HEAD]; PATCHES];
/// One for each head.
type Heads = [Square; HEADS];

/// Values of an image's patches.
const IMAGE: usize = PATCHES * WIDTH;
/// From a score to the exponent: scores of longer queries spread more.
const SCALE: f32 = 0.25; // 1/√16

const _: () = assert!(PATCHES == HEAD && HEAD == 16, "squares, and the root of a head's length");

/// A head's part of an image's rows.
#[inline(always)]
fn part(rows: &[f32], head: usize) -> Square {
    let mut part = [[0.0; HEAD]; PATCHES];
    for (to, row) in part.iter_mut().zip(rows.as_chunks::<WIDTH>().0) {
        to.copy_from_slice(&row[head * HEAD..][..HEAD]);
    }
    part
}

/// Puts a head's part in its place.
#[inline(always)]
fn put(part: &Square, head: usize, rows: &mut [f32]) {
    for (from, row) in part.iter().zip(rows.as_chunks_mut::<WIDTH>().0) {
        row[head * HEAD..][..HEAD].copy_from_slice(from);
    }
}

#[inline(always)]
fn turned(a: &Square) -> Square {
    let mut turned = [[0.0; HEAD]; PATCHES];
    for (i, row) in a.iter().enumerate() {
        for (j, x) in row.iter().enumerate() {
            turned[j][i] = *x;
        }
    }
    turned
}

/// A·B. Each row of the product is one vector of sums.
#[inline(always)]
fn product(a: &Square, b: &Square) -> Square {
    let mut c = [[0.0; HEAD]; PATCHES];
    for (a, c) in a.iter().zip(&mut c) {
        for (a, b) in a.iter().zip(b) {
            for (c, b) in c.iter_mut().zip(b) {
                *c += a * b;
            }
        }
    }
    c
}

/// A·B where a product reads A like this. B is ready.
#[inline(always)]
fn product_read(a: &Square, b: &Square, read: Operands) -> Square {
    if read == Operands::F32 {
        return product(a, b);
    }
    let mut a = *a;
    read.round(a.as_flattened_mut());
    product(&a, b)
}

// ANCHOR: attend
/// Attention between the patches of an image, head by head: of each value
/// as much as its key fits the query.
#[inline(always)]
fn attend([q, k, v]: [&[f32]; 3], weights: &mut Heads, mixed: &mut [f32]) {
    let read = operands();
    for (head, weights) in weights.iter_mut().enumerate() {
        let [q, k, v] = [q, k, v].map(|rows| part(rows, head));
        *weights = product(&q, &turned(&k));
        for row in weights.iter_mut() {
            let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for x in row.iter_mut() {
                *x = exp((*x - highest) * SCALE);
            }
            let sum: f32 = row.iter().sum();
            for x in row.iter_mut() {
                *x /= sum;
            }
        }
        put(&product_read(weights, &v, read), head, mixed);
    }
}
// ANCHOR_END: attend

/// The gradients of queries, keys and values from those of what [`attend`] mixed.
#[inline(always)]
fn attend_backward(
    [q, k, v]: [&[f32]; 3],
    weights: &Heads,
    up: &[f32],
    [dq, dk, dv]: [&mut [f32]; 3],
    read: Operands,
) {
    for (head, weights) in weights.iter().enumerate() {
        let [q, k, v, up] = [q, k, v, up].map(|rows| part(rows, head));
        put(&product_read(&turned(weights), &up, read), head, dv);
        let mut slopes = product(&up, &turned(&v));
        for (slopes, weights) in slopes.iter_mut().zip(weights) {
            // One weight can only grow at the cost of the others.
            let mean: f32 = slopes.iter().zip(weights).map(|(slope, weight)| slope * weight).sum();
            for (slope, weight) in slopes.iter_mut().zip(weights) {
                *slope = weight * (*slope - mean) * SCALE;
            }
        }
        read.round_gradient(slopes.as_flattened_mut());
        put(&product(&slopes, &k), head, dq);
        put(&product(&turned(&slopes), &q), head, dk);
    }
}

/// What adds to a parameter's gradient.
type Add = dyn Fn(&mut Gradients<f32, Cpu>, &[f32]) -> Result<(), CpuError>;

/// A parameter's values, and what adds to its gradient.
struct Parameter {
    values: Vec<f32>,
    add: Box<Add>,
}

impl Parameter {
    fn of<S: Shape>(tensor: &Tensor<S, f32, Cpu>) -> Result<Self, CpuError> {
        let ghost = tensor.ghost();
        Ok(Self {
            values: numbers(tensor)?,
            add: Box::new(move |grads, more| {
                add(grads.get_or_alloc_mut(&ghost)?, more);
                Ok(())
            }),
        })
    }
}

/// A dense layer's parameters, ready for plain slices.
struct Dense {
    sides: Sides,
    weight: Parameter,
    bias: Parameter,
}

impl Dense {
    fn of<const I: usize, const O: usize>(
        layer: &Affine<I, O, f32, Cpu>,
    ) -> Result<Self, CpuError> {
        let (weight, bias) = (Parameter::of(&layer.weight)?, Parameter::of(&layer.bias)?);
        Ok(Self { sides: Sides { inputs: I, outputs: O }, weight, bias })
    }

    fn forward(&self, x: &[f32], behind: Behind) -> Result<Vec<f32>, CpuError> {
        let mut y = vec![0.0; x.len() / self.sides.inputs * self.sides.outputs];
        let own = (&self.weight.values[..], &self.bias.values[..]);
        layer::forward(&mut y, x, own, self.sides, behind, team())
            .map_err(|_| CpuError::WrongNumElements)?;
        Ok(y)
    }

    /// Adds to the parameters' gradients, and to those of the inputs.
    fn backward(
        &self,
        grads: &mut Gradients<f32, Cpu>,
        (dy, y): (&mut [f32], &[f32]),
        (x, dx): (&[f32], &mut [f32]),
        behind: Behind,
    ) -> Result<(), CpuError> {
        let [mut dw, mut db] =
            [&self.weight, &self.bias].map(|parameter| vec![0.0; parameter.values.len()]);
        let to = Derivatives { parameters: (&mut dw, &mut db), inputs: Some(dx), add: true };
        layer::backward(to, (dy, y), (x, &self.weight.values), self.sides, behind, team())
            .map_err(|_| CpuError::WrongNumElements)?;
        (self.weight.add)(grads, &dw)?;
        (self.bias.add)(grads, &db)
    }
}

/// The threads of the pool around: a piece of a batch has one.
fn team() -> Team {
    Team { products: rayon::current_num_threads(), passes: 1 }
}

/// Rows that were normalised, and what the backward pass needs.
struct Normalised {
    factors: [f32; WIDTH],
    scale: Parameter,
    shift: Parameter,
    /// With mean 0 and variance 1, and one over each row's standard deviation.
    plain: Vec<f32>,
    spreads: Vec<f32>,
    out: Vec<f32>,
}

impl Normalised {
    fn of(x: &[f32], norm: &LayerNorm1D<WIDTH, f32, Cpu>) -> Result<Self, CpuError> {
        let (gamma, beta): (&Row<WIDTH, Cpu>, &Row<WIDTH, Cpu>) = (&norm.gamma, &norm.beta);
        let (factors, shifts) = (gamma.array(), beta.array());
        let (mut plain, mut out) = (x.to_vec(), vec![0.0; x.len()]);
        let mut spreads = vec![0.0; x.len() / WIDTH];
        wide!(|| normalise(&mut plain, &mut spreads, [&factors, &shifts], &mut out));
        let (scale, shift) = (Parameter::of(gamma)?, Parameter::of(beta)?);
        Ok(Self { factors, scale, shift, plain, spreads, out })
    }

    fn backward(
        &self,
        grads: &mut Gradients<f32, Cpu>,
        up: &[f32],
        dx: &mut [f32],
    ) -> Result<(), CpuError> {
        let [mut of_scale, mut of_shift] = [[0.0; WIDTH]; 2];
        wide!(|| {
            for (up, plain) in
                up.as_chunks::<WIDTH>().0.iter().zip(self.plain.as_chunks::<WIDTH>().0)
            {
                for at in 0..WIDTH {
                    of_scale[at] += up[at] * plain[at];
                    of_shift[at] += up[at];
                }
            }
            normalise_backward(up, &self.plain, &self.spreads, &self.factors, dx);
        });
        (self.scale.add)(grads, &of_scale)?;
        (self.shift.add)(grads, &of_shift)
    }
}

/// The values of an image.
fn image(at: usize) -> Range<usize> {
    at * IMAGE..(at + 1) * IMAGE
}

/// Attention between the patches, with its normalisation and the way around.
fn attention<T: Tape<f32, Cpu>>(
    rows: Rows<WIDTH, Cpu, T>,
    norm: &LayerNorm1D<WIDTH, f32, Cpu>,
    of: &Attention<f32, Cpu>,
) -> Result<Rows<WIDTH, Cpu, T>, CpuError> {
    let (rows, mut tape) = rows.split_tape();
    let mut y = numbers(&rows)?;
    let seen = Normalised::of(&y, norm)?;
    let layers = [Dense::of(&of.query)?, Dense::of(&of.key)?, Dense::of(&of.value)?];
    let merge = Dense::of(&of.merge)?;
    let mut made = Vec::with_capacity(3);
    let read = operands();
    for layer in &layers {
        let mut rows = layer.forward(&seen.out, Behind::Nothing)?;
        read.round(&mut rows);
        made.push(rows);
    }
    let mut mixed = vec![0.0; y.len()];
    let mut weights = vec![[[[0.0; HEAD]; PATCHES]; HEADS]; y.len() / IMAGE];
    for (at, (weights, mixed)) in weights.iter_mut().zip(mixed.chunks_exact_mut(IMAGE)).enumerate()
    {
        let parts = [0, 1, 2].map(|which| &made[which][image(at)]);
        wide!(|| attend(parts, weights, mixed));
    }
    add(&mut y, &merge.forward(&mixed, Behind::Nothing)?);
    let y = rows.device().try_tensor_from_vec(y, *rows.shape())?;
    let (of_rows, of_y) = (rows.ghost(), y.ghost());
    tape.add_backward_op(move |grads| {
        let mut up = take(&mut **grads.get_or_alloc_mut(&of_y)?);
        let mut dx = take(&mut **grads.get_or_alloc_mut(&of_rows)?);
        let mut slopes = vec![0.0; up.len()];
        merge.backward(grads, (&mut up, &[]), (&mixed, &mut slopes), Behind::Nothing)?;
        read.round_gradient(&mut slopes);
        let mut of_made = [(); 3].map(|()| vec![0.0; up.len()]);
        for (at, weights) in weights.iter().enumerate() {
            let parts = [0, 1, 2].map(|which| &made[which][image(at)]);
            let to = of_made.each_mut().map(|of| &mut of[image(at)]);
            wide!(|| attend_backward(parts, weights, &slopes[image(at)], to, read));
        }
        slopes.fill(0.0);
        for (layer, of) in layers.iter().zip(&mut of_made) {
            layer.backward(grads, (of, &[]), (&seen.out, &mut slopes), Behind::Nothing)?;
        }
        seen.backward(grads, &slopes, &mut dx)?;
        add(&mut dx, &up);
        **grads.get_or_alloc_mut(&of_rows)? = dx;
        **grads.get_or_alloc_mut(&of_y)? = up;
        Ok(())
    });
    Ok(y.put_tape(tape))
}

/// The dense layers, with their normalisation and the way around.
fn layers<T: Tape<f32, Cpu>>(
    rows: Rows<WIDTH, Cpu, T>,
    norm: &LayerNorm1D<WIDTH, f32, Cpu>,
    wide: &Affine<WIDTH, WIDE, f32, Cpu>,
    narrow: &Affine<WIDE, WIDTH, f32, Cpu>,
) -> Result<Rows<WIDTH, Cpu, T>, CpuError> {
    let (rows, mut tape) = rows.split_tape();
    let mut y = numbers(&rows)?;
    let seen = Normalised::of(&y, norm)?;
    let (wide, narrow) = (Dense::of(wide)?, Dense::of(narrow)?);
    let hidden = wide.forward(&seen.out, Behind::RELU)?;
    add(&mut y, &narrow.forward(&hidden, Behind::Nothing)?);
    let y = rows.device().try_tensor_from_vec(y, *rows.shape())?;
    let (of_rows, of_y) = (rows.ghost(), y.ghost());
    tape.add_backward_op(move |grads| {
        let mut up = take(&mut **grads.get_or_alloc_mut(&of_y)?);
        let mut dx = take(&mut **grads.get_or_alloc_mut(&of_rows)?);
        let (mut of_hidden, mut slopes) = (vec![0.0; hidden.len()], vec![0.0; up.len()]);
        narrow.backward(grads, (&mut up, &[]), (&hidden, &mut of_hidden), Behind::Nothing)?;
        let to = (&mut of_hidden[..], &hidden[..]);
        wide.backward(grads, to, (&seen.out, &mut slopes), Behind::RELU)?;
        seen.backward(grads, &slopes, &mut dx)?;
        add(&mut dx, &up);
        **grads.get_or_alloc_mut(&of_rows)? = dx;
        **grads.get_or_alloc_mut(&of_y)? = up;
        Ok(())
    });
    Ok(y.put_tape(tape))
}

/// What [`Block::forward`] computes.
///
/// # Errors
/// The device's own; [`CpuError::WrongNumElements`] if the rows are not those of whole images.
pub fn block<T: Tape<f32, Cpu>>(
    of: &Block<f32, Cpu>,
    rows: Rows<WIDTH, Cpu, T>,
) -> Result<Rows<WIDTH, Cpu, T>, CpuError> {
    if !rows.shape().0.is_multiple_of(PATCHES) {
        return Err(CpuError::WrongNumElements);
    }
    layers(attention(rows, &of.norm1, &of.attention)?, &of.norm2, &of.wide, &of.narrow)
}
