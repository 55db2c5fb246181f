//! A gated recurrent unit (Cho et al. 2014, as cuDNN computes it), which reads the rows of an image one after the other and
//! remembers: its result is the last state. What the rows say to the gates does not depend on the state: one product for all.
//! Then a block of images goes through all moments in one kernel, with its states in the cache. Weights' gradients are one
//! product each, too.

use crate::{
    device::Launch,
    ops::{
        Backward, Op,
        dense::{Dense, column_sums},
        panel::{self, Left, Right},
    },
    params::Params,
    record::Recorder,
    state,
    tensor::Tensor,
};
use lab::vectors::exp;

/// `gru.cl`.
const GRU: &str = include_str!("../../kernels/gru.cl");
/// Sequences of a block of its kernels, which share each weight that is fetched.
const SEQUENCES: usize = 4;

/// A unit that begins with a state of zeros.
pub struct Gru {
    moments: usize,
    units: usize,
    input: Dense,
    recurrent: Dense,
}

impl Gru {
    /// For images of `moments` rows of `inputs` numbers; it remembers `units` numbers. Its two dense layers have three sums
    /// for each of these: for the gates r and z, and for the proposal n.
    pub fn new(
        params: &mut Params,
        name: &str,
        [moments, inputs]: [usize; 2],
        units: usize,
    ) -> Self {
        let mut dense = |layer: &str, inputs: usize| {
            Dense::straight(params, &format!("{name}.{layer}"), inputs, 3 * units).near()
        };
        Self { moments, units, input: dense("input", inputs), recurrent: dense("recurrent", units) }
    }
}

impl Op for Gru {
    fn name(&self) -> &'static str {
        "gru"
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let Self { moments, units, .. } = *self;
        let (rows, numbers) = (cx.pass.rows, cx.pass.numbers);
        let launch = move |entry, operands: &[usize]| {
            let threads = (3 * units).next_multiple_of(32).min(192);
            let grid = [rows.div_ceil(SEQUENCES), 1];
            let launch = Launch::new(GRU, entry, grid, [threads, 1]).of(operands);
            let macros = [("UNITS", units), ("SEQUENCES", SEQUENCES), ("THREADS", threads)];
            launch.with(&[rows, moments]).compiled(&macros)
        };
        let (own, b) = (self.recurrent.weight, self.recurrent.bias);
        let x = cx.images_of(x, [moments, self.input.weight.rows]);
        let (seen, input) = self.input.record(cx, x);
        let w = cx.ahead(|cx| cx.rounded(own, false));
        // The state before each moment, and the last one.
        let (before, last) = (cx.tensor(rows * moments, units), cx.tensor(rows, units));
        let (gates, read) = (cx.tensor(rows * moments, 4 * units), cx.tensor(rows, units));
        let reads = [seen.by_rows(), panel::packed(cx, w).whole(), b.whole()];
        let writes = [before, last, gates, read].map(Tensor::by_rows);
        cx.rows("moments", rows, reads, writes, move |_, [seen, weights, bias], to| {
            let [before, state, gates, read] = to;
            state.fill(0.0);
            for (moment, gates) in gates.chunks_exact_mut(4 * state.len()).enumerate() {
                let rows = before[moment * units..].chunks_mut(moments * units);
                for (before, state) in rows.zip(state.chunks_exact(units)) {
                    before[..units].copy_from_slice(state);
                }
                read.copy_from_slice(state);
                numbers.round(read, 1.0);
                let states = Left { values: read, row: units, term: 1 };
                let weights = Right::packed(weights, units);
                panel::product((gates, 4 * units), states, weights, Some(bias));
                let seen = seen[moment * 3 * units..].chunks(moments * 3 * units);
                open(seen, state, gates, units);
            }
        })
        .costs(moments * rows * units * (6 * units + 20))
        .launches(launch("moments", &[0, 1, 2, 3, 4, 5]));
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let [dseen, dsaid] = [0; 2].map(|_| cx.tensor(rows * moments, 3 * units));
            let (up, factor) = (cx.tensor(rows, units), state::tensor());
            let weights = panel::packed(cx, w.t());
            let [gates, before, dy] = [gates, before, dy].map(Tensor::by_rows);
            let reads = [gates, before, dy, weights.whole(), factor.whole()];
            let writes = [dseen, dsaid, up].map(Tensor::by_rows);
            cx.rows("moments", rows, reads, writes, move |_, from, [dseen, dsaid, up]| {
                let ([gates, before, dy, weights, factor], wide) = (from, 3 * units);
                up.copy_from_slice(dy);
                for (moment, gates) in gates.chunks_exact(4 * up.len()).enumerate().rev() {
                    let before = before[moment * units..].chunks(moments * units);
                    let dseen = dseen[moment * wide..].chunks_mut(moments * wide);
                    let dsaid = &mut dsaid[moment * wide..];
                    let said = dsaid.chunks_mut(moments * wide).map(|row| &mut row[..wide]);
                    close(gates.chunks_exact(4 * units).zip(before), dseen.zip(said), up, units);
                    let said = dsaid.chunks_mut(moments * wide).map(|row| &mut row[..wide]);
                    said.for_each(|said| numbers.round(said, factor[state::SCALE]));
                    let said = Left { values: dsaid, row: moments * wide, term: 1 };
                    panel::product((up, units), said, Right::packed(weights, wide), None);
                }
            })
            .costs(moments * rows * units * (6 * units + 20))
            .launches(launch("moments_backward", &[0, 1, 2, 3, 5, 6]));
            column_sums(cx, dsaid, 0, b);
            let read = cx.rounded(before.tensor, false);
            panel::gradient(cx, own, read, dsaid, 0);
            input(cx, dseen)
        };
        (last, Box::new(backward))
    }
}

/// The next states in place of the last ones, from what rows and states say to the gates. In place of what the states said:
/// the gates r and z, the proposal n, and what the state said to it.
fn open<'a>(
    seen: impl Iterator<Item = &'a [f32]>,
    states: &mut [f32],
    gates: &mut [f32],
    units: usize,
) {
    lab::wide!(|| {
        let rows = states.chunks_exact_mut(units).zip(gates.chunks_exact_mut(4 * units));
        for (seen, (state, gates)) in seen.zip(rows) {
            if units.is_multiple_of(16) {
                open_row::<16>(&seen[..3 * units], state, gates);
            } else {
                open_row::<1>(&seen[..3 * units], state, gates);
            }
        }
    });
}

/// [`open`] in vectors of `N`, which whole rows are of.
#[inline(always)]
fn open_row<const N: usize>(seen: &[f32], state: &mut [f32], gates: &mut [f32]) {
    let (seen, state) = (seen.as_chunks::<N>().0, state.as_chunks_mut::<N>().0);
    let (gates, len) = (gates.as_chunks_mut::<N>().0, state.len());
    for (at, state) in state.iter_mut().enumerate() {
        let [seen_r, seen_z, seen_n] = [0, 1, 2].map(|third| seen[third * len + at]);
        let [said_r, said_z, said_n] = [0, 1, 2].map(|third| gates[third * len + at]);
        let (old, [mut r, mut z, mut n]) = (*state, [[0.0; N]; 3]);
        for i in 0..N {
            r[i] = sigmoid(seen_r[i] + said_r[i]);
            z[i] = sigmoid(seen_z[i] + said_z[i]);
            // tanh: a sigmoid from -1 to 1.
            n[i] = 2.0 * sigmoid(2.0 * (seen_n[i] + r[i] * said_n[i])) - 1.0;
            state[i] = n[i] + z[i] * (old[i] - n[i]);
        }
        for (quarter, kept) in [r, z, n, said_n].into_iter().enumerate() {
            gates[quarter * len + at] = kept;
        }
    }
}

/// A number between 0 and 1: a gate, closed or open.
#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// From the gradients of the next states those of what rows and states said. In place of the gradients: what stays of them
/// for the states before.
fn close<'a>(
    given: impl Iterator<Item = (&'a [f32], &'a [f32])>,
    to: impl Iterator<Item = (&'a mut [f32], &'a mut [f32])>,
    ups: &mut [f32],
    units: usize,
) {
    lab::wide!(|| {
        for (up, ((gates, before), to)) in ups.chunks_exact_mut(units).zip(given.zip(to)) {
            if units.is_multiple_of(16) {
                close_row::<16>(gates, &before[..units], up, to);
            } else {
                close_row::<1>(gates, &before[..units], up, to);
            }
        }
    });
}

/// [`close`] in vectors of `N`, which whole rows are of.
#[inline(always)]
fn close_row<const N: usize>(
    gates: &[f32],
    before: &[f32],
    up: &mut [f32],
    (dseen, dsaid): (&mut [f32], &mut [f32]),
) {
    let (gates, before) = (gates.as_chunks::<N>().0, before.as_chunks::<N>().0);
    let (dseen, dsaid) = (dseen.as_chunks_mut::<N>().0, dsaid.as_chunks_mut::<N>().0);
    let len = before.len();
    for (at, (up, before)) in up.as_chunks_mut::<N>().0.iter_mut().zip(before).enumerate() {
        let [r, z, n, said_n] = [0, 1, 2, 3].map(|quarter| gates[quarter * len + at]);
        let (dh, [mut dr, mut dz, mut dn, mut dsaid_n]) = (*up, [[0.0; N]; 4]);
        for i in 0..N {
            dn[i] = dh[i] * (1.0 - z[i]) * (1.0 - n[i] * n[i]);
            dz[i] = dh[i] * (before[i] - n[i]) * z[i] * (1.0 - z[i]);
            dr[i] = dn[i] * said_n[i] * r[i] * (1.0 - r[i]);
            dsaid_n[i] = dn[i] * r[i];
            up[i] = dh[i] * z[i];
        }
        [dseen[at], dseen[len + at], dseen[2 * len + at]] = [dr, dz, dn];
        [dsaid[at], dsaid[len + at], dsaid[2 * len + at]] = [dr, dz, dsaid_n];
    }
}
