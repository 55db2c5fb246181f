//! The gated recurrent unit: what a network that reads row by row does at each moment.

use crate::models::norm::{Mode, Rows};
use dfdx::{prelude::*, tensor_ops::Device};

// ANCHOR: step
/// One moment: from what the row and the state say to the next state.
fn step_by_operations<const H: usize, const G: usize, D, T>(
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

/// The state after one more moment of a gated recurrent unit with `H` units. `G` is 3·H: the sums for the gates r and z and
/// for the proposal n lie side by side, in `input` those of the image and in `sums` those of `state`.
///
/// # Errors
/// The device's own.
pub fn gated_step<const H: usize, const G: usize, D: Device<f32>, T: Mode<D>>(
    input: &Rows<G, D>,
    sums: Rows<G, D, T>,
    state: &Rows<H, D>,
) -> Result<Rows<H, D, T>, D::Err> {
    const { assert!(G == 3 * H, "two gates and a proposal for each unit") };
    T::whole(sums, |sums| step_by_operations(input, sums, state))
}

/// Deals the rows out: the first part gets row 0 of each `parts` rows, the second one row 1 and so on. The tape goes on
/// alongside.
///
/// # Errors
/// The device's own.
pub fn deal_rows<const N: usize, D: Device<f32>, T: Mode<D>>(
    rows: Rows<N, D, T>,
    parts: usize,
) -> Result<(Vec<Rows<N, D>>, T), D::Err> {
    let each = rows.shape().0 / parts;
    let (rows, mut tape) = rows.try_reshape_like(&(each, parts, Const::<N>))?.split_tape();
    let mut dealt = Vec::with_capacity(parts);
    for part in 0..parts {
        let own = T::whole(rows.clone().put_tape(tape), |rows| {
            rows.try_slice((.., part..=part, ..))?.try_reshape_like(&(each, Const))
        })?;
        let (own, rest) = own.split_tape();
        dealt.push(own);
        tape = rest;
    }
    Ok((dealt, tape))
}
