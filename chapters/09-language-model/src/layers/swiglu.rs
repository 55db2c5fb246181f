//! `SwiGLU`: one half of the hidden units opens or closes the other half: h = silu(gate)·up, with silu(g) = g·σ(g)
//! (Shazeer 2020, "GLU Variants Improve Transformer").
//!
//! With s = σ(g): dup = dh·g·s, and dgate = dh·up·s·(1 + g·(1 − s)).

use engine::{
    device::Launch,
    ops::{Backward, Op},
    params::Params,
    program::Epilogue,
    record::Recorder,
    tensor::Tensor,
};
use lab::vectors::{exp, wide};

/// `swiglu.cl`.
const SWIGLU: &str = include_str!("../../kernels/swiglu.cl");

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The rows of `h` ([tokens, hidden]) from those of `gate_up` ([tokens, 2·hidden]).
pub fn forward(h: &mut [f32], gate_up: &[f32], hidden: usize) {
    wide!(|| {
        for (h, row) in h.chunks_exact_mut(hidden).zip(gate_up.chunks_exact(2 * hidden)) {
            // ANCHOR: forward
            let (gate, up) = row.split_at(hidden);
            for ((h, g), u) in h.iter_mut().zip(gate).zip(up) {
                *h = g * sigmoid(*g) * u;
            }
            // ANCHOR_END: forward
        }
    });
}

/// `gate_up` becomes its own derivative, from that of `h`, and `h`, which [`forward`] did not keep, is computed once more:
/// the sigmoid is there anyway, and memory is slower than a multiplication.
pub fn backward(gate_up: &mut [f32], h: &mut [f32], dh: &[f32], hidden: usize) {
    wide!(|| {
        let rows = h.chunks_exact_mut(hidden).zip(dh.chunks_exact(hidden));
        for (row, (h, dh)) in gate_up.chunks_exact_mut(2 * hidden).zip(rows) {
            // ANCHOR: backward
            let (gate, up) = row.split_at_mut(hidden);
            for ((g, u), (h, dh)) in gate.iter_mut().zip(up).zip(h.iter_mut().zip(dh)) {
                let s = sigmoid(*g);
                let silu = *g * s;
                *h = silu * *u;
                *g = dh * *u * (s + silu * (1.0 - s));
                *u = dh * silu;
            }
            // ANCHOR_END: backward
        }
    });
}

/// The hidden units and the product that leads back to the rows' width.
pub struct SwiGlu {
    name: String,
    down: Tensor,
}

impl SwiGlu {
    /// From rows of gate and up, `2·hidden` numbers, to rows of `width`: `shape` is [hidden, width].
    pub fn new(params: &mut Params, name: &str, shape: [usize; 2]) -> Self {
        let down = params.uniform(name, shape, 1.0 / (shape[0] as f64).sqrt());
        Self { name: name.to_owned(), down }
    }
}

impl Op for SwiGlu {
    fn name(&self) -> &str {
        &self.name
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let (down, Tensor { rows: hidden, cols: width, .. }) = (self.down, self.down);
        let x = cx.rows_of(x, 2 * hidden);
        let (rows, h, y) = (x.rows, cx.tensor(x.rows, hidden), cx.tensor(x.rows, width));
        // ANCHOR: launch
        cx.rows("gate", rows, [x.by_rows()], [h.by_rows()], move |_, [x], [h]| {
            forward(h, x, hidden);
        })
        .costs(5 * h.words())
        .launches(Launch::each(SWIGLU, "gate", h.words()).with(&[hidden]));
        // ANCHOR_END: launch
        let (read, own) = (cx.operand(h), cx.operand(down));
        cx.product(y, read, own, Epilogue::default());
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let (dy, dh) = (cx.operand_gradient(dy), cx.tensor(rows, hidden));
            cx.product(dh, dy, own.t(), Epilogue::default());
            let (dx, h) = (cx.like(x), cx.tensor(rows, hidden));
            let (reads, writes) = ([x, dh].map(Tensor::by_rows), [dx, h].map(Tensor::by_rows));
            cx.rows("gate", rows, reads, writes, move |_, [x, dh], [dx, h]| {
                dx.copy_from_slice(x);
                backward(dx, h, dh, hidden);
            })
            .costs(12 * h.words())
            .launches(Launch::each(SWIGLU, "gate_backward", h.words()).with(&[hidden]));
            let read = cx.operand(h);
            cx.product(down.gradient(), read.t(), dy, Epilogue::default());
            Some(dx)
        };
        (y, Box::new(backward))
    }
}
