//! What each operation of a step is called and what it costs: the operations of chapter 4's models, in the order in which a
//! tape is told of them.

use super::tape::Phase;
use training::{Model, rnn::HIDDEN};

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

    /// Of one of the engine's calls, by its own counts.
    pub fn of(call: &str, flops: f64, bytes: f64) -> Self {
        let products = if call == "product" { flops } else { 0.0 };
        Self { products, others: flops - products, bytes }
    }

    /// So many times.
    #[must_use]
    pub fn times(&self, count: usize) -> Self {
        let [products, others, bytes] =
            [self.products, self.others, self.bytes].map(|cost| cost * count as f64);
        Self { products, others, bytes }
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

/// What a kind of operation does for each number of its result: operations, then numbers read or written; forward, then
/// backward.
type Each = [usize; 4];

/// Of one tensor. The backward pass reads what the forward pass was given.
const ONE: Each = [1, 2, 1, 3];
/// A sum or a difference of two: the backward pass reads the slope alone.
const TWO: Each = [1, 3, 2, 3];
/// A copy in another order.
const COPY: Each = [0, 2, 1, 2];
/// Mean and deviation, then scale and shift.
const NORM: Each = [8, 2, 10, 3];
/// The largest of four, and which it was.
const POOL: Each = [3, 6, 1, 6];

/// An operation whose result has `n` numbers.
fn each(name: impl Into<String>, n: usize, each: Each) -> Operation {
    let [ahead, moved, back, moved_back] = each.map(|each| (each * n) as f64);
    Operation {
        name: name.into(),
        forward: Cost::new(0.0, ahead, moved),
        backward: Cost::new(0.0, back, moved_back),
    }
}

/// A sum of `n` numbers down to `m`.
fn sum(name: impl Into<String>, n: usize, m: usize) -> Operation {
    let cost = Cost::new(0.0, n as f64, (n + m) as f64);
    Operation { name: name.into(), forward: cost, backward: cost }
}

/// A product of `n` numbers with `w` others for `m` sums of `terms` terms, and so many other operations.
fn product(name: String, [n, w, m]: [usize; 3], terms: usize, others: usize) -> Operation {
    let (flops, others) = (2.0 * (m * terms) as f64, others as f64);
    Operation {
        name,
        forward: Cost::new(flops, others, (n + w + m) as f64),
        backward: Cost::new(2.0 * flops, others, (m + 2 * (n + w)) as f64),
    }
}

/// Chapter 4's dense layer of so many rows, whose bias is part of it.
fn dense(rows: usize, i: usize, o: usize) -> Operation {
    product(format!("dense {i}→{o}"), [rows * i, i * o, rows * o], i, rows * o)
}

/// dfdx's: a product, and a sum with the bias.
fn linear(rows: usize, i: usize, o: usize) -> [Operation; 2] {
    let product = product(format!("dense {i}→{o}"), [rows * i, i * o, rows * o], i, 0);
    [product, each(format!("add {o}"), rows * o, TWO)]
}

/// `k`×`k` pixels of `from` channels for each pixel of `to`, on images of so many pixels that become so many.
fn conv([k, from, to]: [usize; 3], pixels: usize, results: usize) -> Operation {
    let (name, terms) = (format!("convolve {k}×{k} {from}→{to}"), k * k * from);
    product(name, [pixels * from, terms * to, results * to], terms, 0)
}

/// The operations of a model's forward pass on so many images, and of the loss, in their order.
pub fn operations(model: Model, images: usize) -> Vec<Operation> {
    let b = images;
    let relu = |n: usize, of: usize| each(format!("relu {of}"), n, ONE);
    let norm = |kind: &str, n: usize, of: usize| each(format!("{kind} norm {of}"), n, NORM);
    let hidden = |i: usize| {
        let [product, add] = linear(b, i, 128);
        [product, add, relu(b * 128, 128), each("dropout 128", b * 128, ONE)]
    };
    let mut all = Vec::new();
    match model {
        Model::Linear => all.extend(linear(b, 784, 10)),
        Model::Mlp => {
            all.extend(hidden(784));
            all.extend(linear(b, 128, 10));
        }
        Model::Cnn => {
            for (shape, side, results, channels) in
                [([5, 1, 16], 28, 28, 16), ([5, 16, 32], 14, 10, 32)]
            {
                let (pixels, results) = (b * side * side, b * results * results);
                all.extend([conv(shape, pixels, results), relu(results * channels, channels)]);
                all.push(each(format!("max pool {channels}"), results / 4 * channels, POOL));
            }
            all.extend(hidden(800));
            all.extend(linear(b, 128, 10));
        }
        Model::Resnet => {
            let layer = |shape: [usize; 3], side: usize| {
                let (pixels, channels) = (b * side * side, shape[2]);
                [conv(shape, pixels, pixels), norm("batch", pixels * channels, channels)]
            };
            let block = |side: usize, of: usize| {
                let (n, [first, one], [second, two]) =
                    (b * side * side * of, layer([3, of, of], side), layer([3, of, of], side));
                let add = each(format!("add {of}"), n, TWO);
                [first, one, relu(n, of), second, two, add, relu(n, of)]
            };
            all.extend(layer([3, 1, 24], 28));
            all.extend([relu(b * 784 * 24, 24), each("max pool 24", b * 196 * 24, POOL)]);
            all.extend(block(14, 24));
            all.push(each("max pool 24", b * 49 * 24, POOL));
            all.extend(layer([1, 24, 48], 7));
            all.push(relu(b * 49 * 48, 48));
            all.extend(block(7, 48));
            all.extend([sum("sum 48", b * 49 * 48, b * 48), each("mul 48", b * 48, ONE)]);
            all.extend(linear(b, 48, 10));
        }
        Model::Rnn => {
            let (h, wide) = (HIDDEN, 3 * HIDDEN);
            all.push(dense(28 * b, 28, wide));
            all.extend((0..28).map(|_| each(format!("deal {wide}"), b * wide, COPY)));
            for _ in 0..28 {
                let step = each(format!("GRU step {h}"), b * h, [20, 11, 30, 15]);
                all.extend([dense(b, h, wide), step]);
            }
            all.push(dense(b, h, 10));
        }
        Model::Transformer => {
            // 16 patches of 64 numbers, 4 heads.
            let (rows, n, pairs) = (16 * b, 16 * 64 * b, 4 * 16 * 16 * b);
            let copy = |shape: &str| each(format!("copy {shape}"), n, COPY);
            let heads = || product("product 16→16".into(), [n, n, n], 16, 0);
            let add = || each("add 64", n, TWO);
            all.extend([each("copy 4×4×7×7", 784 * b, COPY), dense(rows, 49, 64)]);
            all.push(each("add row 1024", n, ONE));
            for _ in 0..2 {
                all.push(norm("layer", n, 64));
                all.extend((0..3).map(|_| dense(rows, 64, 64)));
                all.extend([copy("4×16×16"), copy("4×16×16"), heads()]);
                all.push(each("mul 16×16", pairs, ONE));
                all.push(each("softmax 16", pairs, [5, 2, 4, 3]));
                all.extend([copy("4×16×16"), heads(), copy("16×4×16"), dense(rows, 64, 64), add()]);
                all.extend([norm("layer", n, 64), dense(rows, 64, 128), relu(2 * n, 128)]);
                all.extend([dense(rows, 128, 64), add()]);
            }
            all.extend([sum("sum 16×64", n, 64 * b), each("mul 64", 64 * b, ONE)]);
            all.extend([norm("layer", 64 * b, 64), dense(b, 64, 10)]);
        }
    }
    let n = 10 * b;
    all.extend([each("exp 10", n, ONE), sum("sum 10", n, b), each("ln", b, ONE)]);
    all.extend([each("sub 10", n, TWO), each("mul 10", n, [1, 3, 2, 5]), sum("sum 10", n, 1)]);
    all.extend([each("mul", 1, ONE), each("negate", 1, [1, 2, 1, 2]), each("div", 1, ONE)]);
    all
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
