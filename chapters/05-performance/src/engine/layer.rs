//! A dense layer on plain slices: forward in one pass over its output, backward without an unused gradient.
//! Both the operations on tensors ([`crate::engine::rows`]) and the network in the store ([`crate::engine::fast`]) are
//! made of these two functions.

use crate::engine::mask::Mask;
use backprop::Result;
use matmul::{Epilogue, MatMut, MatRef, Options, Threads, parallel, team::share};
use std::borrow::Cow;
use training::autocast::{Operands, operands};

/// The sides of a dense layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Numbers that come in.
    pub inputs: usize,
    /// Numbers that go out.
    pub outputs: usize,
}

/// What follows a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Behind {
    /// Nothing: its outputs are scores.
    Nothing,
    /// `ReLU`, and then dropout.
    Relu(Mask),
}

impl Behind {
    /// `ReLU` without dropout: predictions.
    pub const RELU: Self = Self::Relu(Mask::NONE);
}

/// Which threads take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Team {
    /// Threads that share a product.
    pub products: usize,
    /// Threads that share the element-wise passes: masks, copies, the update.
    pub passes: usize,
}

impl Team {
    /// As many as this machine runs at once, in products and passes.
    pub fn all() -> Self {
        Self { products: parallel::available(), passes: parallel::available() }
    }

    /// The machine's threads in products alone.
    pub fn of_products() -> Self {
        Self { passes: 1, ..Self::all() }
    }

    // ANCHOR: paying
    /// All threads where they should pay: where each one's part of the
    /// largest product is long enough to hide the handing out and the
    /// waiting. Passes follow the products; the page measures what that
    /// gives away in small batches.
    pub fn paying(sizes: &[usize], batch: usize) -> Self {
        let weights = sizes.windows(2).map(|pair| pair[0] * pair[1]).max();
        let operations = 2 * batch * weights.unwrap_or(0);
        let threads = parallel::available();
        if operations / threads < PAYING {
            return Self { products: 1, passes: 1 };
        }
        Self { products: threads, passes: threads }
    }
    // ANCHOR_END: paying

    /// The options of a product.
    pub fn options(self) -> Options<'static> {
        Options { threads: Threads::Count(self.products), ..Options::default() }
    }
}

/// Operations of a product that are worth a thread: about 50 µs of work. Chapter 3's ladder loses by threads with 3
/// million for each, and gains with 13 million.
const PAYING: usize = 5_000_000;

/// Numbers that are worth a thread in a pass: about 10 µs of work.
pub(crate) const WORTH: usize = 16_384;

/// Rows of each of at most `threads` parts, if each part is worth a thread.
pub(crate) fn rows_each(rows: usize, width: usize, threads: usize) -> usize {
    let parts = threads.min(rows * width / WORTH).max(1);
    rows.div_ceil(parts).max(1)
}

/// What the products read: all of the numbers, unless the step is in mixed precision.
fn operands_of<'a>(x: &'a [f32], w: &'a [f32]) -> (Operands, Cow<'a, [f32]>, Cow<'a, [f32]>) {
    let read = operands();
    (read, read.operand_of(x), read.operand_of(w))
}

/// y = x·w + b, then `ReLU` and dropout. The bias and `ReLU` are applied
/// while the sums are in registers; the mask while y is in the cache.
///
/// # Errors
/// [`backprop::Error::Product`] if the lengths are not those of the sides.
// ANCHOR: forward
pub fn forward(
    y: &mut [f32],
    x: &[f32],
    (w, b): (&[f32], &[f32]),
    sides: Sides,
    behind: Behind,
    team: Team,
) -> Result<()> {
    let (rows, width) = (x.len() / sides.inputs, sides.outputs);
    let (epilogue, mask) = match behind {
        Behind::Nothing => (Epilogue::Bias(b), None),
        Behind::Relu(mask) => (Epilogue::BiasRelu(b), Some(mask)),
    };
    let options = Options { epilogue, ..team.options() };
    let (read, x, w) = operands_of(x, w);
    let x = MatRef::new(&x, rows, sides.inputs)?;
    let w = MatRef::new(&w, sides.inputs, width)?;
    read.product(MatMut::new(y, rows, width)?, x, w, options)?;
    if let Some(mask) = mask {
        let each = rows_each(rows, width, team.passes) * width;
        let parts = y.chunks_mut(each).enumerate();
        share(parts, |(at, y)| mask.apply(*at * each, y));
    }
    Ok(())
}
// ANCHOR_END: forward

/// Where a layer's derivatives go.
pub struct Derivatives<'a> {
    /// Of the weights and the bias.
    pub parameters: (&'a mut [f32], &'a mut [f32]),
    /// Of the inputs, if they are needed.
    pub inputs: Option<&'a mut [f32]>,
    /// Whether they are added to the buffer, or replace its content.
    pub add: bool,
}

// ANCHOR: through
/// The derivatives before dropout and `ReLU`, in place, and the sums of
/// their columns: the bias' derivatives. An output above zero was neither
/// left out nor cut off, so the output itself is the mask.
pub fn through_relu(dy: &mut [f32], y: &[f32], scale: f32, db: &mut [f32]) {
    let width = db.len().max(1);
    for (dy, y) in dy.chunks_exact_mut(width).zip(y.chunks_exact(width)) {
        for ((dy, y), db) in dy.iter_mut().zip(y).zip(&mut *db) {
            *dy = if *y > 0.0 { *dy * scale } else { 0.0 };
            *db += *dy;
        }
    }
}
// ANCHOR_END: through

/// The derivatives of a layer, from those of its output `dy`, which are
/// changed on the way.
///
/// # Errors
/// [`backprop::Error::Product`] if the lengths are not those of the sides.
pub fn backward(
    to: Derivatives,
    (dy, y): (&mut [f32], &[f32]),
    (x, w): (&[f32], &[f32]),
    sides: Sides,
    behind: Behind,
    team: Team,
) -> Result<()> {
    let (dw, db) = to.parameters;
    if !to.add {
        db.fill(0.0);
    }
    match behind {
        Behind::Relu(mask) => through_relu(dy, y, mask.scale(), db),
        Behind::Nothing => column_sums(dy, db),
    }
    let (rows, options) =
        (x.len() / sides.inputs, Options { accumulate: to.add, ..team.options() });
    let (read, x, w) = operands_of(x, w);
    read.operand_gradient(dy);
    let dy = MatRef::new(dy, rows, sides.outputs)?;
    let x = MatRef::new(&x, rows, sides.inputs)?;
    read.product(MatMut::new(dw, sides.inputs, sides.outputs)?, x.t(), dy, options)?;
    if let Some(dx) = to.inputs {
        let w = MatRef::new(&w, sides.inputs, sides.outputs)?;
        read.product(MatMut::new(dx, rows, sides.inputs)?, dy, w.t(), options)?;
    }
    Ok(())
}

/// Adds the sum of each column of `rows` to `sums`.
fn column_sums(rows: &[f32], sums: &mut [f32]) {
    for row in rows.chunks_exact(sums.len().max(1)) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
}
