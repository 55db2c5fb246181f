//! Attention in tiles: a block of queries meets one block of keys after the other, and no more scores exist at once than
//! one tile of them. The softmax is kept up to date on the way: when a larger score turns up, what was summed so far is
//! scaled down (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"; Dao et al. 2022,
//! "`FlashAttention`", algorithms 1 and 4).
//!
//! For each query only the logarithm of its softmax's sum is kept. The backward pass computes the scores once more: five
//! products in the place of four, and memory that grows with n in the place of n².
//!
//! A tile has a row for each key, so that a vector is one key's scores for many queries, and softmax adds vectors. Its
//! products are the engine's for operands that lie in a cache; of tiles on the diagonal they leave most of the unseen out.

use crate::attention::causal::{Head, scale};
use engine::{
    ops::panel::{Left, Right, product},
    sums::dot,
};
use lab::vectors::{exp, wide};
use std::ops::Range;

/// Queries of a tile.
pub const QUERIES: usize = 64;
/// Keys of a tile.
pub const KEYS: usize = 256;
/// Queries of a vector, and keys that see the same of them on the diagonal.
const LANES: usize = 16;
/// What the sums of scores begin with.
const ZEROS: [f32; QUERIES] = [0.0; QUERIES];

/// Values that [`forward`] and [`backward`] need to work in, for heads of so many values.
pub fn space(size: usize) -> usize {
    2 * QUERIES * (KEYS + size)
}

/// A tile of scores, [keys, [`QUERIES`]]: query i sees the keys up to its own.
#[derive(Clone, Copy)]
struct Tile {
    first_query: usize,
    queries: usize,
    first_key: usize,
    keys: usize,
}

impl Tile {
    /// Rows of the queries in a buffer of rows of `size`, and rows of the keys.
    fn rows(&self, size: usize) -> [Range<usize>; 2] {
        let rows = |first: usize, count: usize| first * size..(first + count) * size;
        [rows(self.first_query, self.queries), rows(self.first_key, self.keys)]
    }

    /// The keys that all queries see, then those on the diagonal, few by few: with the first query that sees one of them.
    fn parts(self) -> impl Iterator<Item = (Range<usize>, usize)> {
        let all = (self.first_query - self.first_key).min(self.keys);
        let diagonal = (all..self.keys).step_by(LANES);
        let few = diagonal.map(move |key| (key..(key + LANES).min(self.keys), key - all));
        [(0..all, 0)].into_iter().filter(|(keys, _)| !keys.is_empty()).chain(few)
    }

    /// The products of rows of keys with queries, which are turned: [size, [`QUERIES`]].
    fn scores(self, to: &mut [f32], rows: &[f32], turned: &[f32], size: usize) {
        for (keys, query) in self.parts() {
            let to = &mut to[keys.start * QUERIES + query..keys.end * QUERIES];
            let rows = Left { values: &rows[keys.start * size..], row: size, term: 1 };
            let (step, cols) = (Some(QUERIES), QUERIES - query);
            let turned = Right { values: &turned[query..], terms: size, step, cols };
            product((to, QUERIES), rows, turned, Some(&ZEROS));
        }
    }

    /// Adds to each query's row the keys' rows, each times the query's weight of it.
    fn mix(self, to: &mut [f32], weights: &[f32], rows: &[f32], size: usize) {
        let all = self.first_query - self.first_key;
        for (part, to) in to.chunks_mut(LANES * size).enumerate() {
            let terms = (all + (part + 1) * LANES).min(self.keys);
            let weights = Left { values: &weights[part * LANES..], row: 1, term: QUERIES };
            let rows = Right { values: rows, terms, step: Some(size), cols: size };
            product((to, size), weights, rows, None);
        }
    }

    /// Adds to each key's row the queries' rows, each times the query's weight of it.
    fn mix_back(self, to: &mut [f32], weights: &[f32], rows: &[f32], size: usize) {
        for (keys, query) in self.parts() {
            let to = &mut to[keys.start * size..keys.end * size];
            let from = keys.start * QUERIES + query;
            let weights = Left { values: &weights[from..], row: QUERIES, term: 1 };
            let (rows, terms) = (&rows[query * size..], self.queries - query);
            let rows = Right { values: rows, terms, step: Some(size), cols: size };
            product((to, size), weights, rows, None);
        }
    }

    /// How many of a key's first queries come before it.
    fn before(&self, key: usize) -> usize {
        (self.first_key + key).saturating_sub(self.first_query)
    }
}

/// The tiles of a block of queries: all keys up to its last query's.
fn tiles(first_query: usize, tokens: usize) -> impl Iterator<Item = Tile> {
    let queries = QUERIES.min(tokens - first_query);
    let end = first_query + queries;
    (0..end).step_by(KEYS).map(move |first_key| {
        let keys = KEYS.min(end - first_key);
        Tile { first_query, queries, first_key, keys }
    })
}

/// Rows of queries as columns; columns without a query are zeros.
fn turn(to: &mut [f32], rows: &[f32], size: usize) {
    to.fill(0.0);
    for (query, row) in rows.chunks_exact(size).enumerate() {
        to[query..].iter_mut().step_by(QUERIES).zip(row).for_each(|(to, x)| *to = *x);
    }
}

/// A number for each query of a vector.
type Lanes = [f32; LANES];

/// The scores of some queries, one key's after the other's, become powers of e; `max` and `sum` are brought up to date.
/// Returns what everything summed before must be multiplied with.
#[inline(always)]
fn online(scores: &mut [Lanes], scale: f32, max: &mut Lanes, sum: &mut Lanes) -> Lanes {
    const STEP: usize = QUERIES / LANES;
    let (mut most, mut powers, mut factor) = (*max, [0.0; LANES], [0.0; LANES]);
    // ANCHOR: online
    for row in scores.iter().step_by(STEP) {
        for i in 0..LANES {
            let score = row[i] * scale;
            most[i] = if score > most[i] { score } else { most[i] };
        }
    }
    for row in scores.iter_mut().step_by(STEP) {
        for i in 0..LANES {
            row[i] = exp(row[i] * scale - most[i]);
            powers[i] += row[i];
        }
    }
    for i in 0..LANES {
        factor[i] = exp(max[i] - most[i]);
        (max[i], sum[i]) = (most[i], sum[i] * factor[i] + powers[i]);
    }
    // ANCHOR_END: online
    factor
}

/// The results `out` [tokens, head] and, for the backward pass, the logarithm of each query's sum. `room` has [`space`]
/// values.
///
/// # Panics
/// If the lengths do not fit each other.
pub fn forward(out: &mut [f32], log: &mut [f32], head: Head, room: &mut [f32]) {
    let (tokens, size, scale) = (head.tokens(), head.size, scale(head.size));
    let (scores, rest) = room.split_at_mut(QUERIES * KEYS);
    let turned = &mut rest[..QUERIES * size];
    out.fill(0.0);
    for first in (0..tokens).step_by(QUERIES) {
        let [mut max, mut sum, mut factor] =
            [f32::NEG_INFINITY, 0.0, 0.0].map(|value| [value; QUERIES]);
        let queries = first..tokens.min(first + QUERIES);
        let rows = queries.start * size..queries.end * size;
        turn(turned, &head.q[rows.clone()], size);
        let (out, log) = (&mut out[rows], &mut log[queries]);
        for tile in tiles(first, tokens) {
            let [_, keys] = tile.rows(size);
            tile.scores(scores, &head.k[keys.clone()], turned, size);
            let scores = &mut scores[..tile.keys * QUERIES];
            wide!(|| {
                for (key, row) in scores.chunks_exact_mut(QUERIES).enumerate() {
                    row[..tile.before(key)].fill(f32::NEG_INFINITY); // what comes later is not seen
                }
                let (max, sum) = (max.as_chunks_mut().0, sum.as_chunks_mut().0);
                let columns = max.iter_mut().zip(sum).zip(factor.as_chunks_mut().0);
                for (at, ((max, sum), factor)) in columns.enumerate() {
                    *factor = online(&mut scores.as_chunks_mut().0[at..], scale, max, sum);
                }
                // ANCHOR: forward
                for (out, factor) in out.chunks_exact_mut(size).zip(&factor) {
                    for o in out.iter_mut() {
                        *o *= factor;
                    }
                }
                // ANCHOR_END: forward
            });
            tile.mix(out, scores, &head.v[keys], size);
        }
        for (i, (out, log)) in out.chunks_exact_mut(size).zip(log).enumerate() {
            // ANCHOR: divide
            for o in out.iter_mut() {
                *o /= sum[i];
            }
            *log = max[i] + sum[i].ln();
            // ANCHOR_END: divide
        }
    }
}

/// The derivatives of queries, keys and values (`d`, each [tokens, head], overwritten), from those of the results. `out` and
/// `log` are what [`forward`] left; `room` has [`space`] values.
///
/// With P the weights: dV = Pᵀ·dO, dP = dO·Vᵀ, dS = P·(dP − D) with Dᵢ = Σ dOᵢ·Oᵢ, dQ = dS·K and dK = dSᵀ·Q, both scaled.
///
/// # Panics
/// If the lengths do not fit each other.
pub fn backward(
    d: [&mut [f32]; 3],
    (dout, out, log): (&[f32], &[f32], &[f32]),
    head: Head,
    room: &mut [f32],
) {
    let (tokens, size, scale) = (head.tokens(), head.size, scale(head.size));
    let (p, rest) = room.split_at_mut(QUERIES * KEYS);
    let (ds, rest) = rest.split_at_mut(QUERIES * KEYS);
    let (turned_q, turned_d) = rest[..2 * QUERIES * size].split_at_mut(QUERIES * size);
    let [dq, dk, dv] = d.map(|d| {
        d.fill(0.0);
        d
    });
    for first in (0..tokens).step_by(QUERIES) {
        let queries = first..tokens.min(first + QUERIES);
        let rows = queries.start * size..queries.end * size;
        let (q, dout, dq) = (&head.q[rows.clone()], &dout[rows.clone()], &mut dq[rows.clone()]);
        turn(turned_q, q, size);
        turn(turned_d, dout, size);
        let [mut logs, mut along] = [ZEROS; 2];
        logs[..queries.len()].copy_from_slice(&log[queries]);
        wide!(|| {
            let rows = dout.chunks_exact(size).zip(out[rows.clone()].chunks_exact(size));
            along.iter_mut().zip(rows).for_each(|(along, (dout, out))| *along = dot(dout, out));
        });
        for tile in tiles(first, tokens) {
            let [_, keys] = tile.rows(size);
            let (k, v) = (&head.k[keys.clone()], &head.v[keys.clone()]);
            tile.scores(p, k, turned_q, size);
            tile.scores(ds, v, turned_d, size);
            wide!(|| {
                let rows = p.chunks_exact_mut(QUERIES).zip(ds.chunks_exact_mut(QUERIES));
                for (key, (p, ds)) in rows.take(tile.keys).enumerate() {
                    // ANCHOR: backward
                    for i in 0..QUERIES {
                        p[i] = exp(p[i] * scale - logs[i]);
                        ds[i] = p[i] * (ds[i] - along[i]) * scale;
                    }
                    // ANCHOR_END: backward
                    p[..tile.before(key)].fill(0.0);
                    ds[..tile.before(key)].fill(0.0);
                }
            });
            // ANCHOR: products
            tile.mix_back(&mut dv[keys.clone()], p, dout, size);
            tile.mix_back(&mut dk[keys], ds, q, size);
            tile.mix(dq, ds, k, size);
            // ANCHOR_END: products
        }
    }
}
