//! What an operation is called and what it costs, read from the type of its backward pass.
//!
//! The type of a closure names the function that made it and its generics: the operation and the sizes that are known
//! at compile time. What is known at run time only (how many rows a tensor has) follows from what flows through the
//! model, from the batch on.

use super::tape::Phase;
use std::collections::HashMap;

/// Bytes of an f32.
const F32: f64 = 4.0;

/// What an operation has to do at least.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Operations of matrix products, as chapter 3 counts them.
    pub products: f64,
    /// All other floating-point operations; a power of e counts as one.
    pub others: f64,
    /// Bytes that are read or written at least: each number that is needed once, each result once.
    pub bytes: f64,
}

impl Cost {
    /// All operations.
    pub fn flops(&self) -> f64 {
        self.products + self.others
    }

    /// Operations for each byte; 0 for a copy.
    pub fn intensity(&self) -> f64 {
        if self.bytes > 0.0 { self.flops() / self.bytes } else { 0.0 }
    }

    // ANCHOR: bound
    /// Seconds that a machine with this peak (FLOP/s) and bandwidth (B/s) needs
    /// at least. The operation's fraction of its roofline is this over its time.
    pub fn seconds(&self, peak: f64, bandwidth: f64) -> f64 {
        (self.flops() / peak).max(self.bytes / bandwidth)
    }
    // ANCHOR_END: bound

    fn new(products: f64, others: f64, numbers: f64) -> Self {
        Self { products, others, bytes: F32 * numbers }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            products: self.products + other.products,
            others: self.others + other.others,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// An operation of a step: its name and what it costs forward and backward.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// `dense 784→128`.
    pub name: String,
    /// The forward pass.
    pub forward: Cost,
    /// The way back.
    pub backward: Cost,
}

/// A shape as the type has it: `None` where the size is known at run time only.
type Dims = Vec<Option<usize>>;

/// Follows the sizes of the tensors through a step, from the types of its operations.
pub struct Reader {
    batch: usize,
    /// The product of a shape's run-time sizes, as it was seen last.
    rows: HashMap<Dims, usize>,
    /// Numbers of the tensor that was computed last: a change of shape alone leaves no event.
    flow: usize,
    /// Rows that are dealt out, and to how many.
    dealt: Option<(usize, usize)>,
}

impl Reader {
    /// For a step on so many images.
    pub fn new(batch: usize) -> Self {
        // What does not come out of an operation: the images, and the recurrent network's first state.
        let given = [784, training::rnn::HIDDEN];
        let rows = given.into_iter().map(|width| (vec![None, Some(width)], batch)).collect();
        Self { batch, rows, flow: batch * 784, dealt: None }
    }

    /// The operations of a step, from the types of their backward operations in forward order. `None` for one that
    /// this reader does not know.
    pub fn operations(&mut self, types: &[&str]) -> Vec<Option<Operation>> {
        let mut known = Vec::with_capacity(types.len());
        for (at, what) in types.iter().enumerate() {
            let again = types[at..].iter().take_while(|other| *other == what).count();
            known.push(self.operation(what, again));
        }
        known
    }

    /// The product of the run-time sizes of a tensor of this shape.
    fn rows_of(&self, dims: &Dims) -> Option<usize> {
        if dims.iter().all(Option::is_some) {
            return Some(1);
        }
        self.rows.get(dims).copied().or_else(|| self.flowing(dims))
    }

    /// The same, if the cache has the numbers that were computed last.
    fn flowing(&self, dims: &Dims) -> Option<usize> {
        let width = width(dims);
        self.flow.is_multiple_of(width).then(|| self.flow / width)
    }

    /// Notes that a tensor of this shape was computed; gives how many numbers it has.
    fn computed(&mut self, dims: &Dims, rows: usize) -> f64 {
        self.flow = rows * width(dims);
        self.rows.insert(dims.clone(), rows);
        self.flow as f64
    }

    fn operation(&mut self, what: &str, again: usize) -> Option<Operation> {
        let shapes = shapes(what);
        let sizes = |word: &str| numbers_after(what, word);
        let make = |name: String, forward, backward| Some(Operation { name, forward, backward });
        if what.contains("windows::convolve<") {
            let [inside, outside, k] = sizes("convolve<")[..] else { return None };
            let maps = |c| vec![None, None, None, Some(c)];
            let rows = self.rows_of(&maps(inside))?;
            let side = (rows / self.batch).isqrt();
            // The border is no part of the type: all of chapter 4's convolutions keep the size, except one.
            let same = (inside, outside, k) != (16, 32, 5);
            let out = if same { side } else { side + 1 - k };
            let (n, m) =
                ((rows * inside) as f64, self.computed(&maps(outside), self.batch * out * out));
            let weights = (k * k * inside * outside) as f64;
            let flops = 2.0 * m * (k * k * inside) as f64;
            return make(
                format!("convolve {k}×{k} {inside}→{outside}"),
                Cost::new(flops, 0.0, n + weights + m),
                Cost::new(2.0 * flops, 0.0, m + 2.0 * (n + weights)),
            );
        }
        if what.contains("::max_pool<") {
            let [c] = sizes("max_pool<")[..] else { return None };
            let maps = vec![None, None, None, Some(c)];
            let rows = self.rows_of(&maps)?;
            let m = self.computed(&maps, rows / 4);
            // The maximum and its index.
            return make(
                format!("max pool {c}"),
                Cost::new(0.0, 3.0 * m, 6.0 * m),
                Cost::new(0.0, m, 6.0 * m),
            );
        }
        if what.contains("::dense<") {
            let [i, o] = sizes("dense<")[..] else { return None };
            let rows = self.rows_of(&vec![None, Some(i)])?;
            let m = self.computed(&vec![None, Some(o)], rows);
            return Some(dense(rows, i, o, m));
        }
        if what.contains("matmul::try_binary_op<") {
            let [left, right, out] = shapes.get(..3)? else { return None };
            let (rows, inner) = (self.rows_of(left)?, left.last().copied()??);
            let (n, m) = ((rows * width(left)) as f64, self.computed(out, rows));
            let w = width(right) as f64 * if right.len() > 2 { rows as f64 } else { 1.0 };
            let flops = 2.0 * m * inner as f64;
            let outer = out.last().copied()??;
            let name = if right.len() == 2 { "dense" } else { "product" };
            return make(
                format!("{name} {inner}→{outer}"),
                Cost::new(flops, 0.0, n + w + m),
                Cost::new(2.0 * flops, 0.0, m + 2.0 * (n + w)),
            );
        }
        if what.contains("::normalise<") {
            let [c] = sizes("::normalise<")[..] else { return None };
            // It follows a convolution, whose pixels are its rows.
            let n = (self.flowing(&vec![None, Some(c)])? * c) as f64;
            return make(
                format!("batch norm {c}"),
                Cost::new(0.0, 8.0 * n, 2.0 * n),
                Cost::new(0.0, 10.0 * n, 3.0 * n),
            );
        }
        if what.contains("::gated_step<") {
            let [h, _] = sizes("gated_step<")[..] else { return None };
            let rows = self.rows_of(&vec![None, Some(h)])?;
            let n = self.computed(&vec![None, Some(h)], rows);
            return make(
                format!("GRU step {h}"),
                Cost::new(0.0, 20.0 * n, 11.0 * n),
                Cost::new(0.0, 30.0 * n, 15.0 * n),
            );
        }
        if what.contains("::deal_rows<") {
            let [c] = sizes("deal_rows<")[..] else { return None };
            let dims = vec![None, Some(c)];
            let (rows, parts) = match self.dealt {
                Some(dealt) => dealt,
                None => (self.rows_of(&dims)?, again),
            };
            self.dealt = (again > 1).then_some((rows, parts));
            let n = self.computed(&dims, rows / parts);
            let copy = Cost::new(0.0, 0.0, 2.0 * n);
            return make(format!("deal {c}"), copy, Cost { others: n, ..copy });
        }
        for (word, name, forward, backward) in [
            ("normalise_rows<", "layer norm", 8.0, 10.0),
            ("softmax_rows<", "softmax", 5.0, 4.0),
            ("add_row<", "add row", 1.0, 1.0),
        ] {
            if let [c] = sizes(word)[..] {
                let dims = vec![None, Some(c)];
                let rows = self.rows_of(&dims)?;
                let n = self.computed(&dims, rows);
                return make(
                    format!("{name} {c}"),
                    Cost::new(0.0, forward * n, 2.0 * n),
                    Cost::new(0.0, backward * n, 3.0 * n),
                );
            }
        }
        self.plain(what, &shapes)
    }

    /// dfdx's element-wise operations.
    fn plain(&mut self, what: &str, shapes: &[Dims]) -> Option<Operation> {
        let word = what.split("tensor_ops::").skip(1).find_map(|rest| {
            let word = rest.split("::").next()?;
            (word != "utilities").then_some(word)
        })?;
        let source = shapes.first()?;
        let rows = self.rows_of(source)?;
        let n = (rows * width(source)) as f64;
        let named = |word: &str| match &source.iter().flatten().collect::<Vec<_>>()[..] {
            [] => word.to_owned(),
            sizes => {
                let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
                format!("{word} {}", sizes.join("×"))
            }
        };
        let (name, forward, backward) = match word {
            "sum_to" => {
                let to = shapes.get(1)?;
                let free = |dims: &Dims| dims.iter().filter(|size| size.is_none()).count();
                let left = match free(to) {
                    0 => 1,
                    kept if kept == free(source) => rows,
                    _ => self.batch,
                };
                let m = self.computed(to, left);
                let cost = Cost::new(0.0, n, n + m);
                (named("sum"), cost, cost)
            }
            "reshape_to" => {
                let to = shapes.get(1)?;
                let m = self.computed(to, rows * width(source) / width(to));
                let copy = Cost::new(0.0, 0.0, n + m);
                (named("copy"), copy, Cost { others: n, ..copy })
            }
            _ => {
                self.computed(source, rows);
                let two = what.contains("try_binary_op<");
                let (reads, slopes) = if two { (2.0, 2.0) } else { (1.0, 1.0) };
                // Of a sum or a difference the backward pass needs no more than the slope.
                let kept = match word {
                    "add" | "sub" | "negate" => 0.0,
                    _ => reads,
                };
                (
                    named(word),
                    Cost::new(0.0, n, (reads + 1.0) * n),
                    Cost::new(0.0, slopes * n, (1.0 + kept + slopes) * n),
                )
            }
        };
        Some(Operation { name, forward, backward })
    }
}

/// A dense layer of so many rows, whose result has `m` numbers.
fn dense(rows: usize, i: usize, o: usize, m: f64) -> Operation {
    let (n, w) = ((rows * i) as f64, (i * o) as f64);
    let flops = 2.0 * m * i as f64;
    Operation {
        name: format!("dense {i}→{o}"),
        forward: Cost::new(flops, m, n + w + m),
        backward: Cost::new(2.0 * flops, m, m + 2.0 * (n + w)),
    }
}

/// What the parts of a step cost that are no operation of the tape. Giving memory back has no cost that a
/// roofline knows.
pub fn beside(phase: Phase, what: &str, batch: usize, parameters: usize) -> Cost {
    let (batch, parameters) = (batch as f64, parameters as f64);
    match (phase, what) {
        (Phase::Gather, "pictures") => Cost::new(0.0, 0.0, 2.0 * 784.0 * batch),
        (Phase::Gather, _) => Cost::new(0.0, 0.0, 2.0 * 10.0 * batch),
        (Phase::Host, _) => Cost::new(0.0, 40.0 * batch, 2.0 * 10.0 * batch),
        // Weight, gradient and two means in, weight and means out.
        (Phase::Update, _) => Cost::new(0.0, 14.0 * parameters, 7.0 * parameters),
        (Phase::Zero, _) => Cost::new(0.0, 0.0, parameters),
        _ => Cost::default(),
    }
}

/// The product of the sizes that are known at compile time.
fn width(dims: &Dims) -> usize {
    dims.iter().flatten().product()
}

/// The shapes in a type's name: `(usize, dfdx::shapes::shape::Const<128>)` is
/// `[None, Some(128)]`.
pub fn shapes(what: &str) -> Vec<Dims> {
    let inside = what.split('(').skip(1).filter_map(|rest| rest.split(')').next());
    let sizes = |group: &str| {
        let all = group.split(',').map(str::trim).filter(|size| !size.is_empty());
        all.map(|size| numbers_after(size, "Const<").first().copied()).collect()
    };
    inside.map(sizes).collect()
}

/// The numbers that begin the generics behind `word`: 28 and 384 behind `dense<`
/// in `dense<28, 384, Timed>`.
pub fn numbers_after(what: &str, word: &str) -> Vec<usize> {
    let generics = what.split_once(word).map_or("", |(_, generics)| generics);
    generics.split([',', '>']).map_while(|size| size.trim().parse().ok()).collect()
}
