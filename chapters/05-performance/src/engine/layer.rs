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

#[cfg(test)]
mod tests {
    use super::*;
    use backprop::{
        check::{self, wide},
        dense::Dense,
        random::SplitMix64,
    };

    /// Numbers around zero.
    fn numbers(random: &mut SplitMix64, len: usize) -> Vec<f32> {
        (0..len).map(|_| random.normal() as f32).collect()
    }

    fn close(found: &[f32], wanted: &[f64], what: &str) {
        assert_eq!(found.len(), wanted.len(), "{what}");
        let error = check::error(&wide(found), wanted);
        assert!(found.is_empty() || error < 1e-5, "{what}: {error}");
    }

    /// Chapter 3's textbook in f64 with the same mask: output, dW, db, dX.
    fn textbook(
        [x, w, b, dy]: [&[f32]; 4],
        sides: Sides,
        behind: Behind,
    ) -> (Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>) {
        let layer =
            Dense { inputs: sides.inputs, outputs: sides.outputs, weights: wide(w), bias: wide(b) };
        let (x, mut dy) = (wide(x), wide(dy));
        let mut y = layer.forward(&x).unwrap();
        if let Behind::Relu(mask) = behind {
            for (i, (y, dy)) in y.iter_mut().zip(&mut dy).enumerate() {
                let factor = if mask.keeps(i) { f64::from(mask.scale()) } else { 0.0 };
                *dy = if *y > 0.0 { *dy * factor } else { 0.0 };
                *y = y.max(0.0) * factor;
            }
        }
        let gradient = layer.backward_weights(&x, &dy).unwrap();
        let dx = layer.backward_input(&dy).unwrap();
        (y, gradient.weights, gradient.bias, dx)
    }

    #[test]
    fn equals_the_textbook_for_odd_sizes() {
        let mut random = SplitMix64::new(3);
        for (rows, inputs, outputs) in [(1, 1, 1), (3, 7, 5), (33, 17, 130), (130, 65, 129)] {
            let sides = Sides { inputs, outputs };
            for behind in [
                Behind::Nothing,
                Behind::Relu(Mask::new(0.0, 1).unwrap()),
                Behind::Relu(Mask::new(0.4, 2).unwrap()),
            ] {
                for threads in [1, 2] {
                    let team = Team { products: threads, passes: threads };
                    let [x, w, b, dy] = [rows * inputs, inputs * outputs, outputs, rows * outputs]
                        .map(|len| numbers(&mut random, len));
                    let wanted = textbook([&x, &w, &b, &dy], sides, behind);
                    let mut y = vec![f32::NAN; rows * outputs];
                    forward(&mut y, &x, (&w, &b), sides, behind, team).unwrap();
                    close(&y, &wanted.0, "y");
                    for (add, start) in [(false, f32::NAN), (true, 0.0)] {
                        let mut dw = vec![start; inputs * outputs];
                        let mut db = vec![start; outputs];
                        let mut dx = vec![start; rows * inputs];
                        let to = Derivatives {
                            parameters: (&mut dw, &mut db),
                            inputs: Some(&mut dx),
                            add,
                        };
                        let mut up = dy.clone();
                        backward(to, (&mut up, &y), (&x, &w), sides, behind, team).unwrap();
                        close(&dw, &wanted.1, "dw");
                        close(&db, &wanted.2, "db");
                        close(&dx, &wanted.3, "dx");
                    }
                }
            }
        }
    }

    #[test]
    fn any_number_of_threads_leaves_the_same_bits() {
        let mut random = SplitMix64::new(5);
        let sides = Sides { inputs: 60, outputs: 260 };
        let [x, w, b] = [300 * 60, 60 * 260, 260].map(|len| numbers(&mut random, len));
        let behind = Behind::Relu(Mask::new(0.2, 7).unwrap());
        let run = |threads| {
            let mut y = vec![0.0; 300 * 260];
            let team = Team { products: threads, passes: threads };
            forward(&mut y, &x, (&w, &b), sides, behind, team).unwrap();
            y
        };
        assert!(run(1) == run(2) && run(1) == run(5));
    }

    #[test]
    fn threads_are_taken_where_they_pay() {
        let alone = Team { products: 1, passes: 1 };
        assert_eq!(Team::paying(&[784, 128, 10], 8), alone);
        assert_eq!(Team::paying(&[784, 128, 10], 1 << 20), Team::all());
        assert_eq!(Team::paying(&[], 512), alone);
    }

    #[test]
    fn lengths_that_do_not_fit_are_an_error() {
        let sides = Sides { inputs: 3, outputs: 2 };
        let mut y = [0.0; 4];
        let team = Team { products: 1, passes: 1 };
        let run = forward(&mut y, &[0.0; 6], (&[0.0; 5], &[0.0; 2]), sides, Behind::Nothing, team);
        assert!(run.is_err());
    }
}
