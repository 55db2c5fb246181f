//! The gated recurrent unit: what a network that reads row by row does at each moment. [`step_by_operations`] spells it
//! out; the CPU does it in one pass over the values, and tests check that both are equal.

#![allow(clippy::inline_always, reason = "what a vector loop calls is compiled for its CPU")]

use crate::models::{
    cpu::{accumulate, numbers, taken},
    norm::Rows,
};
use dfdx::{prelude::*, tensor_ops::Device};
use lab::vectors::{exp, wide};
use rayon::prelude::*;

// ANCHOR: step
/// One moment: from what the row and the state say to the next state.
///
/// # Errors
/// The device's own.
pub fn step_by_operations<const H: usize, const G: usize, D, T>(
    input: &Rows<G, D>,
    sums: Rows<G, D, T>,
    state: &Rows<H, D>,
) -> Result<Rows<H, D, T>, D::Err>
where
    D: Device<f32>,
    T: Tape<f32, D> + Merge<T>,
{
    let [row_r, row_z, row_n] = thirds::<H, G, D, T>(input.retaped())?;
    let [state_r, state_z, state_n] = thirds(sums)?;
    // Gates, from 0 (shut) to 1 (open).
    let r = state_r.try_add(row_r)?.try_sigmoid()?;
    let z = state_z.try_add(row_z)?.try_sigmoid()?;
    // The proposal: r says how much of the past counts in it.
    let n = r.try_mul(state_n)?.try_add(row_n)?.try_tanh()?;
    // z says how much of the old state stays: (1 - z) n + z h.
    let change = state.retaped::<T>().try_sub(n.retaped::<T>())?;
    n.try_add(z.try_mul(change)?)
}
// ANCHOR_END: step

/// Three parts of each row, side by side; the first one has the tape.
fn thirds<const H: usize, const G: usize, D: Device<f32>, T: Tape<f32, D>>(
    rows: Rows<G, D, T>,
) -> Result<[Rows<H, D, T>; 3], D::Err> {
    let shape = (rows.shape().0, Const);
    let part = |rows: Rows<G, D, T>, from: usize| {
        rows.try_slice((.., from..from + H))?.try_reshape_like(&shape)
    };
    let (second, third) = (part(rows.retaped(), H)?, part(rows.retaped(), 2 * H)?);
    Ok([part(rows, 0)?, second, third])
}

/// A device with gated recurrent units. Every error is the device's own.
#[allow(clippy::missing_errors_doc)]
pub trait GatedStep: Device<f32> {
    /// Deals the rows out: the first part gets row 0 of each `parts` rows, the second one row 1 and so on. The
    /// tape goes on alongside.
    fn deal_rows<const N: usize, T: Tape<f32, Self>>(
        rows: Rows<N, Self, T>,
        parts: usize,
    ) -> Result<(Vec<Rows<N, Self>>, T), Self::Err>;

    /// The state after one more moment of a gated recurrent unit with `H` units, as
    /// [`step_by_operations`] spells it out. `G` is 3·H: the sums for the gates r and z and for the
    /// proposal n lie side by side, in `input` those of the image and in `sums` those of `state`.
    fn gated_step<const H: usize, const G: usize, T: Tape<f32, Self> + Merge<T>>(
        input: &Rows<G, Self>,
        sums: Rows<G, Self, T>,
        state: &Rows<H, Self>,
    ) -> Result<Rows<H, Self, T>, Self::Err>;
}

impl GatedStep for Cpu {
    fn deal_rows<const N: usize, T: Tape<f32, Self>>(
        rows: Rows<N, Self, T>,
        parts: usize,
    ) -> Result<(Vec<Rows<N, Self>>, T), CpuError> {
        let (rows, mut tape) = rows.try_contiguous()?.split_tape();
        let (dev, each, all) = (rows.device(), rows.shape().0 / parts, numbers(&rows)?);
        let mut dealt = Vec::with_capacity(parts);
        for part in 0..parts {
            let mut own = Vec::with_capacity(each * N);
            for row in all.chunks_exact(N).skip(part).step_by(parts) {
                own.extend_from_slice(row);
            }
            let own: Rows<N, Self> = dev.try_tensor_from_vec(own, (each, Const))?;
            let (of_rows, of_own) = (rows.ghost(), own.ghost());
            tape.add_backward_op(move |grads| {
                let up = taken(grads.get_or_alloc_mut(&of_own)?);
                let places = grads.get_or_alloc_mut(&of_rows)?.chunks_exact_mut(N);
                let places = places.skip(part).step_by(parts);
                places.zip(up.chunks_exact(N)).for_each(|(sum, up)| accumulate(sum, up));
                **grads.get_or_alloc_mut(&of_own)? = up;
                Ok(())
            });
            dealt.push(own);
        }
        Ok((dealt, tape))
    }

    fn gated_step<const H: usize, const G: usize, T: Tape<f32, Self> + Merge<T>>(
        input: &Rows<G, Self>,
        sums: Rows<G, Self, T>,
        state: &Rows<H, Self>,
    ) -> Result<Rows<H, Self, T>, CpuError> {
        const { assert!(G == 3 * H, "two gates and a proposal for each unit") };
        let (sums, mut tape) = sums.try_contiguous()?.split_tape();
        let (x, s, h) = (numbers(input)?, numbers(&sums)?, numbers(state)?);
        let (mut gates, mut next) = (vec![0.0; x.len()], h.clone());
        let rows = next.par_chunks_mut(ROWS * H).zip(gates.par_chunks_mut(ROWS * G));
        let given = x.par_chunks(ROWS * G).zip(s.par_chunks(ROWS * G));
        rows.zip(given).for_each(|((h, gates), (x, s))| {
            wide!(|| {
                let rows = h.chunks_exact_mut(H).zip(gates.chunks_exact_mut(G));
                let given = x.chunks_exact(G).zip(s.chunks_exact(G));
                rows.zip(given).for_each(|((h, gates), (x, s))| open::<H>(h, gates, x, s));
            });
        });
        let next = state.device().try_tensor_from_vec(next, *state.shape())?;
        let (of_input, of_sums) = (input.ghost(), sums.ghost());
        let (of_state, of_next) = (state.ghost(), next.ghost());
        tape.add_backward_op(move |grads| {
            let up = taken(grads.get_or_alloc_mut(&of_next)?);
            let mut of_x = taken(grads.get_or_alloc_mut(&of_input)?);
            let mut of_s = taken(grads.get_or_alloc_mut(&of_sums)?);
            let of_h = grads.get_or_alloc_mut(&of_state)?.par_chunks_mut(ROWS * H);
            let slopes = of_x.par_chunks_mut(ROWS * G).zip(of_s.par_chunks_mut(ROWS * G)).zip(of_h);
            let given = gates.par_chunks(ROWS * G).zip(s.par_chunks(ROWS * G));
            let given = given.zip(h.par_chunks(ROWS * H)).zip(up.par_chunks(ROWS * H));
            slopes.zip(given).for_each(|(((of_x, of_s), of_h), (((gates, s), h), up))| {
                wide!(|| {
                    let slopes = of_x.chunks_exact_mut(G).zip(of_s.chunks_exact_mut(G));
                    let slopes = slopes.zip(of_h.chunks_exact_mut(H));
                    let given = gates.chunks_exact(G).zip(s.chunks_exact(G));
                    let given = given.zip(h.chunks_exact(H).zip(up.chunks_exact(H)));
                    slopes.zip(given).for_each(|(((of_x, of_s), of_h), ((gates, s), (h, up)))| {
                        close::<H>([of_x, of_s, of_h], gates, s, [h, up]);
                    });
                });
            });
            **grads.get_or_alloc_mut(&of_input)? = of_x;
            **grads.get_or_alloc_mut(&of_sums)? = of_s;
            **grads.get_or_alloc_mut(&of_next)? = up;
            Ok(())
        });
        Ok(next.put_tape(tape))
    }
}

/// Rows of one task.
const ROWS: usize = 16;

/// A row's three parts of `H` numbers each.
#[inline(always)]
fn parts<const H: usize>(row: &[f32]) -> [&[f32; H]; 3] {
    let parts = row.as_chunks::<H>().0;
    [&parts[0], &parts[1], &parts[2]]
}

/// The same, to be written.
#[inline(always)]
fn parts_mut<const H: usize>(row: &mut [f32]) -> [&mut [f32; H]; 3] {
    let mut parts = row.as_chunks_mut::<H>().0.iter_mut();
    std::array::from_fn(|_| parts.next().expect("a row has three parts"))
}

/// Forward: a row's gates and proposal, and the next state in place of the last.
#[inline(always)]
fn open<const H: usize>(h: &mut [f32], gates: &mut [f32], x: &[f32], s: &[f32]) {
    let ([x_r, x_z, x_n], [s_r, s_z, s_n]) = (parts::<H>(x), parts::<H>(s));
    let [to_r, to_z, to_n] = parts_mut::<H>(gates);
    let h = &mut h.as_chunks_mut::<H>().0[0];
    for at in 0..H {
        let r = sigmoid(x_r[at] + s_r[at]);
        let z = sigmoid(x_z[at] + s_z[at]);
        // tanh: a sigmoid from -1 to 1.
        let n = 2.0 * sigmoid(2.0 * (x_n[at] + r * s_n[at])) - 1.0;
        h[at] = n + z * (h[at] - n);
        [to_r[at], to_z[at], to_n[at]] = [r, z, n];
    }
}

/// Backward: what a row's derivatives `up` give to the row, the sums and the state before, `h`.
#[inline(always)]
fn close<const H: usize>(
    [of_x, of_s, of_h]: [&mut [f32]; 3],
    gates: &[f32],
    s: &[f32],
    [h, up]: [&[f32]; 2],
) {
    let ([r, z, n], [_, _, s_n]) = (parts::<H>(gates), parts::<H>(s));
    let ([x_r, x_z, x_n], [s_r, s_z, of_sn]) = (parts_mut::<H>(of_x), parts_mut::<H>(of_s));
    let of_h = &mut of_h.as_chunks_mut::<H>().0[0];
    let (h, up) = (&h.as_chunks::<H>().0[0], &up.as_chunks::<H>().0[0]);
    for at in 0..H {
        let (r, z, n, up) = (r[at], z[at], n[at], up[at]);
        let of_n = up * (1.0 - z) * (1.0 - n * n);
        let of_r = of_n * s_n[at] * r * (1.0 - r);
        let of_z = up * (h[at] - n) * z * (1.0 - z);
        of_h[at] += up * z;
        x_r[at] += of_r;
        x_z[at] += of_z;
        x_n[at] += of_n;
        s_r[at] += of_r;
        s_z[at] += of_z;
        of_sn[at] += of_n * r;
    }
}

/// A number between 0 and 1: a gate, closed or open.
#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[cfg(feature = "cuda")]
impl GatedStep for Cuda {
    fn deal_rows<const N: usize, T: Tape<f32, Self>>(
        rows: Rows<N, Self, T>,
        parts: usize,
    ) -> Result<(Vec<Rows<N, Self>>, T), CudaError> {
        deal_rows_by_slices(rows, parts)
    }

    fn gated_step<const H: usize, const G: usize, T: Tape<f32, Self> + Merge<T>>(
        input: &Rows<G, Self>,
        sums: Rows<G, Self, T>,
        state: &Rows<H, Self>,
    ) -> Result<Rows<H, Self, T>, CudaError> {
        step_by_operations(input, sums, state)
    }
}

/// [`GatedStep::deal_rows`] out of dfdx's operations.
///
/// # Errors
/// The device's own.
pub fn deal_rows_by_slices<const N: usize, D: Device<f32>, T: Tape<f32, D>>(
    rows: Rows<N, D, T>,
    parts: usize,
) -> Result<(Vec<Rows<N, D>>, T), D::Err> {
    let each = rows.shape().0 / parts;
    let (rows, mut tape) = rows.try_reshape_like(&(each, parts, Const::<N>))?.split_tape();
    let mut dealt = Vec::with_capacity(parts);
    for part in 0..parts {
        let own = rows.clone().put_tape(tape).try_slice((.., part..=part, ..))?;
        let (own, rest) = own.try_reshape_like(&(each, Const))?.split_tape();
        dealt.push(own);
        tape = rest;
    }
    Ok((dealt, tape))
}
