//! The gated recurrent unit: what a network that reads row by row does at each moment. [`step_by_operations`] spells it
//! out; the CPU does it in one pass over the values, and tests check that both are equal.

use crate::models::{
    cpu::{accumulate, numbers, taken},
    norm::Rows,
};
use dfdx::{prelude::*, tensor_ops::Device};
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
        let rows = next.par_chunks_exact_mut(H).zip(gates.par_chunks_exact_mut(G));
        let given = x.par_chunks_exact(G).zip(s.par_chunks_exact(G));
        rows.zip(given).for_each(|((h, gates), (x, s))| {
            for (at, h) in h.iter_mut().enumerate() {
                let [i, j, k] = [at, H + at, 2 * H + at];
                let r = sigmoid(x[i] + s[i]);
                let z = sigmoid(x[j] + s[j]);
                // tanh: a sigmoid from -1 to 1. The library's own takes much longer.
                let n = 2.0 * sigmoid(2.0 * (x[k] + r * s[k])) - 1.0;
                *h = n + z * (*h - n);
                [gates[i], gates[j], gates[k]] = [r, z, n];
            }
        });
        let next = state.device().try_tensor_from_vec(next, *state.shape())?;
        let (of_input, of_sums) = (input.ghost(), sums.ghost());
        let (of_state, of_next) = (state.ghost(), next.ghost());
        tape.add_backward_op(move |grads| {
            let up = taken(grads.get_or_alloc_mut(&of_next)?);
            let mut of_x = taken(grads.get_or_alloc_mut(&of_input)?);
            let mut of_s = taken(grads.get_or_alloc_mut(&of_sums)?);
            let of_h = grads.get_or_alloc_mut(&of_state)?.par_chunks_exact_mut(H);
            let slopes = of_x.par_chunks_exact_mut(G).zip(of_s.par_chunks_exact_mut(G)).zip(of_h);
            let given = gates.par_chunks_exact(G).zip(s.par_chunks_exact(G));
            let given = given.zip(h.par_chunks_exact(H)).zip(up.par_chunks_exact(H));
            slopes.zip(given).for_each(|(((of_x, of_s), of_h), (((gates, s), h), up))| {
                for at in 0..H {
                    let [i, j, k] = [at, H + at, 2 * H + at];
                    let [r, z, n] = [gates[i], gates[j], gates[k]];
                    let of_n = up[at] * (1.0 - z) * (1.0 - n * n);
                    let of_r = of_n * s[k] * r * (1.0 - r);
                    let of_z = up[at] * (h[at] - n) * z * (1.0 - z);
                    of_h[at] += up[at] * z;
                    for (place, x, s) in [(i, of_r, of_r), (j, of_z, of_z), (k, of_n, of_n * r)] {
                        of_x[place] += x;
                        of_s[place] += s;
                    }
                }
            });
            **grads.get_or_alloc_mut(&of_input)? = of_x;
            **grads.get_or_alloc_mut(&of_sums)? = of_s;
            **grads.get_or_alloc_mut(&of_next)? = up;
            Ok(())
        });
        Ok(next.put_tape(tape))
    }
}

/// A number between 0 and 1: a gate, closed or open.
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
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
#[cfg(any(feature = "cuda", test))]
fn deal_rows_by_slices<const N: usize, D: Device<f32>, T: Tape<f32, D>>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::fused::tests::both_equal;

    #[test]
    fn rows_are_dealt_out_in_turn() {
        let dev = Cpu::seed_from_u64(4);
        let rows: Rows<2, Cpu> = dev.sample_normal_like(&(6, Const));
        let all = rows.as_vec();
        let (parts, _) = Cpu::deal_rows(rows.clone(), 3).unwrap();
        assert_eq!(parts[1].as_vec(), [&all[2..4], &all[8..10]].concat());
        let product = |(parts, tape): (Vec<Rows<2, Cpu>>, OwnedTape<f32, Cpu>)| {
            let [a, b, c] = [0, 1, 2].map(|part: usize| parts[part].clone());
            a.put_tape(tape) * b - c
        };
        both_equal(
            [
                product(Cpu::deal_rows(rows.leaky_trace(), 3).unwrap()),
                product(deal_rows_by_slices(rows.leaky_trace(), 3).unwrap()),
            ],
            |grads| vec![grads.get(&rows).as_vec()],
        );
    }

    #[test]
    fn a_gated_step_is_the_one_of_the_page_backward_too() {
        let dev = Cpu::seed_from_u64(5);
        let (input, sums): (Rows<9, Cpu>, Rows<9, Cpu>) =
            (dev.sample_normal_like(&(4, Const)), dev.sample_normal_like(&(4, Const)));
        let state: Rows<3, Cpu> = dev.sample_normal_like(&(4, Const));
        both_equal(
            [
                Cpu::gated_step(&input, sums.leaky_trace(), &state).unwrap(),
                step_by_operations(&input, sums.leaky_trace(), &state).unwrap(),
            ],
            |grads| {
                let sums = grads.get(&sums).as_vec();
                vec![sums, grads.get(&input).as_vec(), grads.get(&state).as_vec()]
            },
        );
    }
}
