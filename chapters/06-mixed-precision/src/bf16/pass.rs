//! What happens between the products: bias, `ReLU`, its derivative, sums of columns, and the rounding to what the next
//! product reads. All of it moves many bytes for few operations, so each is one pass over memory, on all cores.

use super::number::Number;
use lab::vectors::wide;
use matmul::team::share;

/// Rows whose sums are added up apart, so that the result has the same bits for any number of threads.
const GROUP: usize = 16;

/// Values that are worth a thread: about 10 µs of work.
const WORTH: usize = 1 << 15;

/// The length of each thread's part of `len` values, in whole units.
pub(crate) fn part(len: usize, unit: usize, threads: usize) -> usize {
    let threads = threads.min(len / WORTH + 1).max(1);
    len.div_ceil(unit).div_ceil(threads).max(1) * unit
}

/// Rounds rows of `from` that lie anywhere, one after the other, into `to`.
pub fn gather<'a, E: Number>(
    to: &mut [E],
    width: usize,
    row: impl Fn(usize) -> &'a [f32] + Sync,
    threads: usize,
) {
    let size = part(to.len(), width, threads);
    share(to.chunks_mut(size).enumerate(), |(at, to)| {
        for (i, to) in to.chunks_exact_mut(width).enumerate() {
            E::convert(row(*at * (size / width) + i), to);
        }
    });
}

/// A hidden layer's outputs from its sums: adds the bias, cuts off below zero, and keeps what the next product
/// reads. For numbers that are not copied the product's own epilogue has done it.
// ANCHOR: hidden
pub fn hidden<E: Number>(
    sums: &[f32], // rows of the bias' length
    bias: &[f32],
    kept: &mut [E],
    threads: usize,
) {
    let size = part(sums.len(), bias.len(), threads);
    let parts = sums.chunks(size).zip(kept.chunks_mut(size));
    share(parts, |(sums, kept)| {
        let rows = sums.chunks_exact(bias.len());
        for (row, kept) in rows.zip(kept.chunks_exact_mut(bias.len())) {
            wide!(|| {
                for ((x, b), kept) in row.iter().zip(bias).zip(kept) {
                    let y = x + b;
                    *kept = E::of(if y < 0.0 { 0.0 } else { y });
                }
            });
        }
    });
}
// ANCHOR_END: hidden

/// What [`backward`] is given for some rows.
type Rows<'a, E> = ((&'a mut [f32], &'a [E]), &'a mut [f32], &'a mut [E]);

/// The derivatives of a hidden layer's sums, from those of its outputs: zero where `ReLU` gave zero. Where numbers are
/// copied they go to `kept`, and else they stay in `dx`. Returns the sum of each column, the derivatives of
/// the bias.
pub fn backward<E: Number>(
    dx: &mut [f32],
    output: &[E],
    kept: &mut [E],
    width: usize,
    threads: usize,
) -> Vec<f32> {
    let groups = dx.len().div_ceil(GROUP * width);
    let mut partial = vec![0.0; groups * width];
    let size = part(dx.len(), GROUP * width, threads);
    let mut copies = kept.chunks_mut(size);
    let parts = dx.chunks_mut(size).zip(output.chunks(size));
    let parts = parts.zip(partial.chunks_mut((size / GROUP).max(1)));
    let parts = parts.map(|(rows, sums)| (rows, sums, copies.next().unwrap_or_default()));
    share(parts, |((dx, output), sums, kept): &mut Rows<E>| {
        let mut copies = kept.chunks_mut(width);
        let rows = dx.chunks_exact_mut(width).zip(output.chunks_exact(width));
        for (i, (dx, output)) in rows.enumerate() {
            let sums = &mut sums[i / GROUP * width..][..width];
            match copies.next() {
                Some(kept) => through_relu_to(kept, dx, output, sums),
                None => through_relu(dx, output, sums),
            }
        }
    });
    column_sums(&partial, width)
}

/// One row of [`backward`], in place.
fn through_relu<E: Number>(dx: &mut [f32], output: &[E], sums: &mut [f32]) {
    wide!(|| {
        for ((dx, output), sum) in dx.iter_mut().zip(output).zip(sums) {
            *dx = if output.value() > 0.0 { *dx } else { 0.0 };
            *sum += *dx;
        }
    });
}

/// One row of [`backward`], rounded into another.
fn through_relu_to<E: Number>(kept: &mut [E], dx: &[f32], output: &[E], sums: &mut [f32]) {
    wide!(|| {
        for (((kept, dx), output), sum) in kept.iter_mut().zip(dx).zip(output).zip(sums) {
            let dx = if output.value() > 0.0 { *dx } else { 0.0 };
            *kept = E::of(dx);
            *sum += dx;
        }
    });
}

/// The sum of each column of rows of `width` values.
pub fn column_sums(rows: &[f32], width: usize) -> Vec<f32> {
    let mut sums = vec![0.0; width];
    for row in rows.chunks_exact(width) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    sums
}
