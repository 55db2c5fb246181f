//! Causal attention of all heads of all sequences, each a task of its own.
//!
//! A task copies its head's queries, keys and values out of the rows, turns queries and keys to their positions on the way,
//! and attends in tiles ([`crate::attention::tiled`]): what it works on lies together and fits a second-level cache.

use crate::{
    Error, Result,
    attention::{causal::Head, tiled},
    blocks::{self, Block, Grid},
    layers::rotary::Rotary,
};
use std::sync::Mutex;

/// The shape of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Tokens of a sequence.
    pub tokens: usize,
    /// Heads of a row.
    pub heads: usize,
    /// Values of a head.
    pub size: usize,
}

impl Shape {
    /// Values of a row of results; a row of queries, keys and values has three times as many.
    fn width(&self) -> usize {
        self.heads * self.size
    }

    /// A task's sequence and head.
    fn of(&self, task: usize) -> (usize, usize) {
        (task / self.heads, task % self.heads)
    }

    /// Copies column `col` of a sequence's rows of `width` values to `to`, [tokens, size].
    fn gather(&self, to: &mut [f32], rows: &[f32], width: usize, (sequence, col): (usize, usize)) {
        let rows = rows[sequence * self.tokens * width..].chunks_exact(width);
        for (to, row) in to.chunks_exact_mut(self.size).zip(rows) {
            to.copy_from_slice(&row[col..col + self.size]);
        }
    }

    /// Values of a head: [tokens, size].
    fn values(&self) -> usize {
        self.tokens * self.size
    }
}

/// The results, [rows, heads·size], and the logarithms for the backward pass, [sequences, heads, tokens], from rows of
/// queries, keys and values.
///
/// # Errors
/// [`Error::Product`] if the lengths do not fit the shape.
pub fn forward(
    out: &mut [f32],
    log: &mut [f32],
    qkv: &[f32],
    (rotary, shape): (&Rotary, Shape),
    threads: usize,
) -> Result<()> {
    let Shape { tokens, heads, size } = shape;
    let (values, width) = (shape.values(), shape.width());
    let grids = [Grid::blocks(out, tokens, size, heads), Grid::pieces(log, tokens)];
    each(threads, grids, 4 * values + tiled::FORWARD_SPACE, |task, [mut to, mut log], space| {
        // ANCHOR: forward
        let (sequence, head) = shape.of(task);
        let [q, k, v, out, space] = cut(space, [values; 4]);
        for (part, to) in [&mut *q, &mut *k, &mut *v].into_iter().enumerate() {
            shape.gather(to, qkv, 3 * width, (sequence, part * width + head * size));
        }
        // ANCHOR_END: forward
        for (position, row) in q.chunks_exact_mut(size).chain(k.chunks_exact_mut(size)).enumerate()
        {
            rotary.forward(row, position % tokens);
        }
        // ANCHOR: forward
        tiled::forward(out, log.values(), Head { q, k, v, size }, space)?;
        for (i, row) in out.chunks_exact(size).enumerate() {
            to.row(i, 0).copy_from_slice(row);
        }
        Ok(())
        // ANCHOR_END: forward
    })
}

/// The rows of queries, keys and values become their own derivatives, from those of the results. `out` and `log` are what
/// [`forward`] left.
///
/// # Errors
/// [`Error::Product`] if the lengths do not fit the shape.
pub fn backward(
    qkv: &mut [f32],
    (dout, out, log): (&[f32], &[f32], &[f32]),
    (rotary, shape): (&Rotary, Shape),
    threads: usize,
) -> Result<()> {
    let Shape { tokens, heads, size } = shape;
    let (values, width) = (shape.values(), shape.width());
    let space = 8 * values + tiled::backward_space(tokens);
    let grids = [Grid::triples(qkv, tokens, size, heads)];
    each(threads, grids, space, |task, [mut qkv], space| {
        let (sequence, head) = shape.of(task);
        let [q, k, v, o, dq, dk, dv, space] = cut(space, [values; 7]);
        let (d_o, space) = space.split_at_mut(values);
        for (part, to) in [&mut *q, &mut *k, &mut *v].into_iter().enumerate() {
            for (position, to) in to.chunks_exact_mut(size).enumerate() {
                to.copy_from_slice(qkv.row(position, part));
                if part < 2 {
                    rotary.forward(to, position);
                }
            }
        }
        shape.gather(o, out, width, (sequence, head * size));
        shape.gather(d_o, dout, width, (sequence, head * size));
        let log = &log[task * tokens..(task + 1) * tokens];
        let d = [&mut *dq, &mut *dk, &mut *dv];
        tiled::backward(d, (d_o, o, log), Head { q, k, v, size }, space)?;
        for (part, from) in [dq, dk, dv].into_iter().enumerate() {
            for (position, from) in from.chunks_exact_mut(size).enumerate() {
                if part < 2 {
                    rotary.backward(from, position);
                }
                qkv.row(position, part).copy_from_slice(from);
            }
        }
        Ok(())
    })
}

/// The space in parts of these lengths, and the rest.
fn cut<const N: usize, const M: usize>(space: &mut [f32], lengths: [usize; N]) -> [&mut [f32]; M] {
    assert_eq!(M, N + 1, "as many parts as lengths, and the rest");
    let mut rest = space;
    std::array::from_fn(|i| {
        let all = std::mem::take(&mut rest);
        let (part, behind) = all.split_at_mut(lengths.get(i).copied().unwrap_or(all.len()));
        rest = behind;
        part
    })
}

/// [`blocks::each`] with space for each thread, and an error if there was one.
fn each<const N: usize>(
    threads: usize,
    grids: [Grid; N],
    space: usize,
    work: impl Fn(usize, [Block; N], &mut [f32]) -> Result<()> + Sync,
) -> Result<()> {
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    blocks::each(threads, grids, |task, blocks| {
        if let Err(error) = blocks::scratch(space, |space| work(task, blocks, space)) {
            failed.lock().map(|mut failed| *failed = Some(error)).ok();
        }
    });
    failed.into_inner().ok().flatten().map_or(Ok(()), Err)
}
