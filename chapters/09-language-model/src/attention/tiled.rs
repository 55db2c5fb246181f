//! Attention in tiles: a block of queries meets one block of keys after the other, and no more scores exist at once than
//! one tile of them. The softmax is kept up to date on the way: when a larger score turns up, what was summed so far is
//! scaled down (Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"; Dao et al. 2022,
//! "`FlashAttention`", algorithms 1 and 4).
//!
//! For each query only the logarithm of its softmax's sum is kept. The backward pass computes the scores once more: five
//! products in the place of four, and memory that grows with n in the place of n².

#![allow(clippy::inline_always, reason = "what a vector loop calls is compiled for its CPU")]

use crate::{
    Result,
    attention::causal::{Head, scale},
    product::{adding, matrix, product},
};
use engine::sums::{dot, largest, replace_and_sum};
use lab::vectors::{exp, wide};
use matmul::{MatRef, Options};

/// Queries of a tile.
pub const QUERIES: usize = 64;
/// Keys of a tile.
pub const KEYS: usize = 256;
/// Values from one row of a tile to the next. Rows a power of two apart would share few sets of the cache.
const STRIDE: usize = KEYS + 16;

/// Values that [`forward`] needs to work in.
pub const FORWARD_SPACE: usize = QUERIES * (STRIDE + 2);

/// A tile of scores: some queries and some keys. Query i sees the keys up to its own.
#[derive(Clone, Copy)]
struct Tile {
    first_query: usize,
    queries: usize,
    first_key: usize,
    keys: usize,
}

impl Tile {
    /// How many of the tile's keys its query `i` sees.
    #[inline(always)]
    fn seen(&self, i: usize) -> usize {
        (self.first_query + i + 1).saturating_sub(self.first_key).min(self.keys)
    }

    /// Rows of the queries in a buffer of rows of `size`, and rows of the keys.
    fn rows(&self, size: usize) -> [std::ops::Range<usize>; 2] {
        let rows = |first: usize, count: usize| first * size..(first + count) * size;
        [rows(self.first_query, self.queries), rows(self.first_key, self.keys)]
    }

    /// The tile's values as a matrix.
    fn view<'a>(&self, values: &'a [f32]) -> Result<MatRef<'a, f32>> {
        Ok(MatRef::strided(values, self.queries, self.keys, STRIDE, 1)?)
    }

    /// The product of rows of queries and rows of keys.
    fn scores(&self, to: &mut [f32], q: &[f32], k: &[f32], size: usize) -> Result<()> {
        let to = matmul::MatMut::strided(to, self.queries, self.keys, STRIDE, 1)?;
        Ok(matmul::sgemm(to, matrix(q, size)?, matrix(k, size)?.t(), Options::default())?)
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

/// The scores of a row become powers of e; `max` and `sum` are brought up to date. Returns what everything summed before
/// must be multiplied with.
#[inline(always)]
fn online(row: &mut [f32], seen: usize, scale: f32, max: &mut f32, sum: &mut f32) -> f32 {
    // ANCHOR: online
    let (seen, hidden) = row.split_at_mut(seen);
    let most = largest(seen) * scale;
    let new = if most > *max { most } else { *max };
    let factor = exp(*max - new);
    let powers = replace_and_sum(seen, |score| exp(score * scale - new));
    hidden.fill(0.0);
    (*max, *sum) = (new, *sum * factor + powers);
    factor
    // ANCHOR_END: online
}

/// The results `out` [tokens, head] and, for the backward pass, the logarithm of each query's sum. `space` has
/// [`FORWARD_SPACE`] values.
///
/// # Errors
/// [`crate::Error::Product`] if the lengths do not fit each other.
pub fn forward(out: &mut [f32], log: &mut [f32], head: Head, space: &mut [f32]) -> Result<()> {
    let (tokens, size, scale) = (head.tokens(), head.size, scale(head.size));
    let (scores, rest) = space.split_at_mut(QUERIES * STRIDE);
    let (max, sum) = rest.split_at_mut(QUERIES);
    for first in (0..tokens).step_by(QUERIES) {
        max.fill(f32::NEG_INFINITY);
        sum.fill(0.0);
        for tile in tiles(first, tokens) {
            let [queries, keys] = tile.rows(size);
            let out = &mut out[queries.clone()];
            tile.scores(scores, &head.q[queries], &head.k[keys.clone()], size)?;
            wide!(|| {
                let rows = scores.chunks_exact_mut(STRIDE).zip(out.chunks_exact_mut(size));
                for (i, (row, out)) in rows.enumerate() {
                    // ANCHOR: forward
                    let row = &mut row[..tile.keys];
                    let factor = online(row, tile.seen(i), scale, &mut max[i], &mut sum[i]);
                    if tile.first_key > 0 {
                        for o in out.iter_mut() {
                            *o *= factor;
                        }
                    }
                    // ANCHOR_END: forward
                }
            });
            let values = matrix(&head.v[keys], size)?;
            product(out, tile.view(scores)?, values, adding(tile.first_key > 0, 1))?;
        }
        let queries = QUERIES.min(tokens - first);
        let rows = out[first * size..].chunks_exact_mut(size).zip(&mut log[first..]);
        for (i, (out, log)) in rows.take(queries).enumerate() {
            // ANCHOR: divide
            for o in out.iter_mut() {
                *o /= sum[i];
            }
            *log = max[i] + sum[i].ln();
            // ANCHOR_END: divide
        }
    }
    Ok(())
}

/// Values that [`backward`] needs to work in, for so many tokens.
pub fn backward_space(tokens: usize) -> usize {
    2 * QUERIES * STRIDE + tokens
}

/// The derivatives of queries, keys and values (`d`, each [tokens, head], overwritten), from those of the results. `out` and
/// `log` are what [`forward`] left; `space` has [`backward_space`] values.
///
/// With P the weights: dV = Pᵀ·dO, dP = dO·Vᵀ, dS = P·(dP − D) with Dᵢ = Σ dOᵢ·Oᵢ, dQ = dS·K and dK = dSᵀ·Q, both scaled.
///
/// # Errors
/// [`crate::Error::Product`] if the lengths do not fit each other.
pub fn backward(
    d: [&mut [f32]; 3],
    (dout, out, log): (&[f32], &[f32], &[f32]),
    head: Head,
    space: &mut [f32],
) -> Result<()> {
    let (tokens, size, scale) = (head.tokens(), head.size, scale(head.size));
    let [dq, dk, dv] = d;
    let (p, rest) = space.split_at_mut(QUERIES * STRIDE);
    let (ds, along) = rest.split_at_mut(QUERIES * STRIDE);
    wide!(|| {
        let rows = dout.chunks_exact(size).zip(out.chunks_exact(size));
        along.iter_mut().zip(rows).for_each(|(along, (dout, out))| *along = dot(dout, out));
    });
    dk.fill(0.0);
    dv.fill(0.0);
    for first in (0..tokens).step_by(QUERIES) {
        for tile in tiles(first, tokens) {
            let [queries, keys] = tile.rows(size);
            let (q, dout) = (&head.q[queries.clone()], &dout[queries.clone()]);
            let (k, v) = (&head.k[keys.clone()], &head.v[keys.clone()]);
            tile.scores(p, q, k, size)?;
            tile.scores(ds, dout, v, size)?;
            wide!(|| {
                let rows = p.chunks_exact_mut(STRIDE).zip(ds.chunks_exact_mut(STRIDE));
                for (i, (p, ds)) in rows.take(tile.queries).enumerate() {
                    let (log, along) = (log[first + i], along[first + i]);
                    let (seen, hidden) = p[..tile.keys].split_at_mut(tile.seen(i));
                    // ANCHOR: backward
                    for (p, ds) in seen.iter_mut().zip(&mut *ds) {
                        *p = exp(*p * scale - log);
                        *ds = *p * (*ds - along) * scale;
                    }
                    // ANCHOR_END: backward
                    ds[seen.len()..tile.keys].fill(0.0);
                    hidden.fill(0.0);
                }
            });
            // ANCHOR: products
            let (p, ds) = (tile.view(p)?, tile.view(ds)?);
            let add = adding(true, 1);
            product(&mut dv[keys.clone()], p.t(), matrix(dout, size)?, add)?;
            product(&mut dk[keys], ds.t(), matrix(q, size)?, add)?;
            let dq = &mut dq[queries];
            product(dq, ds, matrix(k, size)?, adding(tile.first_key > 0, 1))?;
            // ANCHOR_END: products
        }
    }
    Ok(())
}
