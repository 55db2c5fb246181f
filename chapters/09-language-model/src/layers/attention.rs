//! Causal attention of all heads of all sequences, each by itself.
//!
//! Heads lie side by side in the rows. A head's queries, keys and values are copied out of them, turned to their positions on
//! the way, and attend in tiles ([`crate::attention::tiled`]): what is worked on lies together and fits a second-level cache.

use crate::{
    attention::{
        causal::{Head, scale},
        tiled,
    },
    layers::rotary::Rotary,
};
use engine::{
    device::Launch,
    ops::{Backward, Op},
    record::Recorder,
    tensor::Tensor,
};
use std::{
    cell::Cell,
    sync::{Arc, LazyLock},
};

/// `attention.cl`, and queries or keys of its blocks.
const ATTENTION: &str = include_str!("../../kernels/attention.cl");
const OWNED: usize = 64;

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

/// What is cut out of rows: queries, keys and values, or results.
const QKV: usize = 3;
const RESULTS: usize = 1;

impl Shape {
    /// Values of a row of results; a row of queries, keys and values has three times as many.
    fn width(&self) -> usize {
        self.heads * self.size
    }

    /// Values of a head: [tokens, size].
    fn values(&self) -> usize {
        self.tokens * self.size
    }

    /// Copies heads, the first of them number `first` of all sequences' heads, out of rows: each to [parts, tokens, size].
    fn split(&self, to: &mut [f32], rows: &[f32], first: usize, parts: usize) {
        let Self { tokens, heads, size } = *self;
        let width = parts * self.width();
        for (at, to) in to.chunks_exact_mut(parts * self.values()).enumerate() {
            let (sequence, head) = ((first + at) / heads, (first + at) % heads);
            let rows = rows[sequence * tokens * width..].chunks_exact(width);
            for (part, to) in to.chunks_exact_mut(self.values()).enumerate() {
                let col = part * self.width() + head * size;
                for (to, row) in to.chunks_exact_mut(size).zip(rows.clone()) {
                    to.copy_from_slice(&row[col..col + size]);
                }
            }
        }
    }

    /// Puts rows, the first of them number `first` of all, together out of all heads.
    fn join(&self, to: &mut [f32], heads: &[f32], first: usize, parts: usize) {
        let values = self.values();
        for (row, to) in to.chunks_exact_mut(parts * self.width()).enumerate() {
            let (sequence, at) = ((first + row) / self.tokens, (first + row) % self.tokens);
            for (place, to) in to.chunks_exact_mut(self.size).enumerate() {
                let (part, head) = (place / self.heads, sequence * self.heads + place % self.heads);
                let from = (head * parts + part) * values + at * self.size;
                to.copy_from_slice(&heads[from..from + self.size]);
            }
        }
    }

    // ANCHOR: forward
    /// Cuts heads out of rows and turns queries and keys to their positions.
    fn turned(&self, to: &mut [f32], qkv: &[f32], first: usize, rotary: &Rotary) {
        self.split(to, qkv, first, QKV);
        for head in to.chunks_exact_mut(QKV * self.values()) {
            let both = head[..2 * self.values()].chunks_exact_mut(self.size);
            for (row, values) in both.enumerate() {
                rotary.forward(values, row % self.tokens);
            }
        }
    }

    /// The results of heads, and the logarithms for the backward pass.
    fn attend(&self, out: &mut [f32], log: &mut [f32], heads: &[f32]) {
        let (values, logs) = (self.values(), log.chunks_exact_mut(self.tokens));
        let to = out.chunks_exact_mut(values).zip(logs);
        scratch(tiled::space(self.size), |space| {
            for (head, (out, log)) in heads.chunks_exact(QKV * values).zip(to) {
                tiled::forward(out, log, self.head(head), space);
            }
        });
    }
    // ANCHOR_END: forward

    /// The derivatives of heads, from those of their results; `out` and `log` are what [`Shape::attend`] left.
    fn attend_backward(&self, d: &mut [f32], heads: &[f32], [dout, out, log]: [&[f32]; 3]) {
        let values = self.values();
        let left = dout.chunks_exact(values).zip(out.chunks_exact(values));
        let left = left.zip(log.chunks_exact(self.tokens));
        let heads = heads.chunks_exact(QKV * values).zip(d.chunks_exact_mut(QKV * values));
        scratch(tiled::space(self.size), |space| {
            for ((head, d), ((dout, out), log)) in heads.zip(left) {
                let (dq, rest) = d.split_at_mut(values);
                let (dk, dv) = rest.split_at_mut(values);
                tiled::backward([dq, dk, dv], (dout, out, log), self.head(head), space);
            }
        });
    }

    /// Puts rows together out of heads' derivatives and turns those of queries and keys back.
    fn turned_back(&self, to: &mut [f32], heads: &[f32], first: usize, rotary: &Rotary) {
        self.join(to, heads, first, QKV);
        for (row, to) in to.chunks_exact_mut(QKV * self.width()).enumerate() {
            rotary.backward(&mut to[..2 * self.width()], (first + row) % self.tokens);
        }
    }

    fn head<'a>(&self, values: &'a [f32]) -> Head<'a> {
        let (q, rest) = values.split_at(self.values());
        let (k, v) = rest.split_at(self.values());
        Head { q, k, v, size: self.size }
    }
}

/// From rows of queries, keys and values to rows of results.
pub struct CausalAttention {
    name: String,
    shape: Shape,
    /// Made in the first pass: who asks what a pass takes needs none.
    rotary: Arc<LazyLock<Rotary, Box<dyn FnOnce() -> Rotary + Send>>>,
}

impl CausalAttention {
    /// Of this shape.
    pub fn new(name: &str, shape: Shape) -> Self {
        let rotary = LazyLock::new(Box::new(move || Rotary::new(shape.tokens, shape.size)) as _);
        Self { name: name.to_owned(), shape, rotary: Arc::new(rotary) }
    }
}

impl Op for CausalAttention {
    fn name(&self) -> &str {
        &self.name
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let x = cx.rows_of(x, QKV * self.shape.width());
        if !cx.form.cached {
            return self.record_at_once(cx, x);
        }
        let (shape, rotary, rows) = (self.shape, self.rotary.clone(), x.rows);
        let (Shape { tokens, heads, .. }, values) = (shape, shape.values());
        let units = rows / tokens * heads;
        let flops = 2 * units * (tokens + 1) * values; // two products over what is seen
        let [qkv, out, log] = [QKV * values, values, tokens].map(|cols| cx.tensor(units, cols));
        let back = rotary.clone();
        cx.rows("turn", units, [x.whole()], [qkv.by_rows()], move |first, [x], [qkv]| {
            shape.turned(qkv, x, first, &rotary);
        })
        .costs(6 * qkv.words() / QKV);
        let writes = [out, log].map(Tensor::by_rows);
        cx.rows("attend", units, [qkv.by_rows()], writes, move |_, [qkv], [out, log]| {
            shape.attend(out, log, qkv);
        })
        .costs(flops);
        let y = cx.tensor(rows, shape.width());
        cx.rows("join", rows, [out.whole()], [y.by_rows()], move |first, [out], [y]| {
            shape.join(y, out, first, RESULTS);
        });
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let (dout, d, dx) = (cx.like(out), cx.like(qkv), cx.like(x));
            cx.rows("split", units, [dy.whole()], [dout.by_rows()], move |first, [dy], [dout]| {
                shape.split(dout, dy, first, RESULTS);
            });
            let reads = [qkv, dout, out, log].map(Tensor::by_rows);
            cx.rows("attend", units, reads, [d.by_rows()], move |_, [qkv, rest @ ..], [d]| {
                shape.attend_backward(d, qkv, rest);
            })
            .costs(5 * flops / 2);
            cx.rows("turn", rows, [d.whole()], [dx.by_rows()], move |first, [d], [dx]| {
                shape.turned_back(dx, d, first, &back);
            })
            .costs(6 * d.words() / QKV);
            Some(dx)
        };
        (y, Box::new(backward))
    }
}

impl CausalAttention {
    /// A GPU turns queries and keys while it fetches them, and no head is copied. No CPU records this.
    fn record_at_once(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let shape @ Shape { tokens, heads, size } = self.shape;
        let (units, words) = (x.rows / tokens, self.rotary.words());
        let (products, turns) = (2 * units * heads * (tokens + 1) * shape.values(), 2 * x.words());
        let (y, log) = (cx.tensor(x.rows, shape.width()), cx.tensor(units * heads, tokens));
        let launch = move |entry| {
            let grid = [units * heads, tokens.div_ceil(OWNED)];
            let launch = Launch::new(ATTENTION, entry, grid, [OWNED, 1]).reading(words.clone());
            launch.compiled(&[("HEAD", size)]).with(&[tokens, heads]).real(scale(size))
        };
        let writes = [y, log].map(Tensor::by_rows);
        cx.rows("attend", units, [x.by_rows()], writes, |_, _, _| unreachable!("for GPUs alone"))
            .costs(products + turns)
            .launches(launch("attention"));
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let (dx, along) = (cx.like(x), cx.like(log));
            let (reads, writes) = ([x, dy, y, log], [dx, along].map(Tensor::by_rows));
            let reads = reads.map(Tensor::by_rows);
            cx.rows("attend", units, reads, writes, |_, _, _| unreachable!("for GPUs alone"))
                .costs(5 * products / 2 + turns)
                .launches(launch("attention_dq"))
                .launches(launch("attention_dkv").of(&[0, 1, 3, 5, 4]));
            Some(dx)
        };
        (y, Box::new(backward))
    }
}

thread_local! {
    static SPACE: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// Lends `work` memory of this thread for `len` values, which hold what was left in them. It is allocated once.
fn scratch<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut space = SPACE.take();
    if space.len() < len {
        space.resize(len, 0.0);
    }
    let result = work(&mut space[..len]);
    SPACE.set(space);
    result
}
