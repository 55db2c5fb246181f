//! A dense layer: y = x·W + b, then `ReLU`, both in the product, and dropout behind it.

use crate::{
    ops::{Backward, Op, panel, relu::through},
    params::Params,
    philox::Dropout,
    program::Epilogue,
    record::{Recorder, SUMS},
    tensor::Tensor,
};

/// y = x·W + b, then `ReLU` and dropout if they are asked for. A clone has the same parameters: both add to one gradient.
#[derive(Clone)]
pub struct Dense {
    name: String,
    /// [inputs, outputs], and a row of outputs.
    pub(super) weight: Tensor,
    pub(super) bias: Tensor,
    relu: bool,
    dropout: Option<Dropout>,
    near: bool,
}

impl Dense {
    /// A layer whose weights files have as (outputs, inputs): dfdx's.
    pub fn new(params: &mut Params, name: &str, inputs: usize, outputs: usize) -> Self {
        Self::with(params, name, [inputs, outputs], Params::turned)
    }

    /// A layer whose weights files have as (inputs, outputs): chapter 4's own.
    pub fn straight(params: &mut Params, name: &str, inputs: usize, outputs: usize) -> Self {
        Self::with(params, name, [inputs, outputs], Params::uniform)
    }

    fn with(
        params: &mut Params,
        name: &str,
        shape: [usize; 2],
        add: fn(&mut Params, &str, [usize; 2], f64) -> Tensor,
    ) -> Self {
        let bound = 1.0 / (shape[0] as f64).sqrt();
        Self {
            name: name.to_owned(),
            weight: add(params, &format!("{name}.weight"), shape, bound),
            bias: params.uniform(&format!("{name}.bias"), [1, shape[1]], bound),
            relu: false,
            dropout: None,
            near: false,
        }
    }

    /// Multiplied block by block, among kernels: for few weights and many rows, so that these stay in the cache.
    #[must_use]
    pub fn near(self) -> Self {
        Self { near: true, ..self }
    }

    /// With `ReLU` behind it.
    #[must_use]
    pub fn relu(self) -> Self {
        Self { relu: true, ..self }
    }

    /// With `ReLU` and dropout behind it; the layer's place in the buffer tells its random numbers from other layers'.
    #[must_use]
    pub fn relu_dropout(self, fraction: f64) -> Self {
        let dropout =
            Some(Dropout::new(fraction, self.weight.start as u32)).filter(|_| fraction > 0.0);
        Self { relu: true, dropout, ..self }
    }
}

impl Op for Dense {
    fn name(&self) -> &str {
        &self.name
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let Self { weight: w, bias: b, relu, .. } = *self;
        let dropout = self.dropout.filter(|_| cx.pass.training);
        let scale = dropout.map_or(1.0, |dropout| dropout.scale);
        let x = cx.rows_of(x, w.rows);
        if self.near && cx.form.cached && dropout.is_none() {
            return self.record_near(cx, x);
        }
        // ANCHOR: forward
        let (y, read, own) = (cx.tensor(x.rows, w.cols), cx.operand(x), cx.operand(w));
        cx.product(y, read, own, Epilogue { bias: Some(b), relu, dropout });
        // ANCHOR_END: forward
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let dz = before(cx, dy, (y, b), relu, scale);
            // ANCHOR: backward
            let dz = cx.operand_gradient(dz);
            let dx = (!x.constant).then(|| {
                let dx = cx.like(x);
                cx.product(dx, dz, own.t(), Epilogue::default());
                dx
            });
            cx.product(w.gradient(), read.t(), dz, Epilogue::default());
            dx
            // ANCHOR_END: backward
        };
        (y, Box::new(backward))
    }
}

impl Dense {
    fn record_near(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let Self { weight: w, bias: b, relu, .. } = *self;
        let (read, own) = (cx.rounded(x, false), cx.ahead(|cx| cx.rounded(w, false)));
        let y = panel::forward(cx, read, own, Some(b), relu);
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let dz = before(cx, dy, (y, b), relu, 1.0);
            let dz = cx.rounded(dz, true);
            panel::gradient(cx, w, read, dz, 0);
            (!x.constant).then(|| panel::forward(cx, dz, own.t(), None, false))
        };
        (y, Box::new(backward))
    }
}

/// The gradient before what followed the product, and the bias'.
fn before(
    cx: &mut Recorder,
    dy: Tensor,
    (y, b): (Tensor, Tensor),
    relu: bool,
    scale: f32,
) -> Tensor {
    if relu {
        return through_relu(cx, dy, y, b, scale);
    }
    column_sums(cx, dy, 0, b);
    dy
}

/// The gradient before `ReLU` and dropout, and the bias'. An output above zero was neither cut off nor left out, so the
/// output itself is the mask.
fn through_relu(cx: &mut Recorder, dy: Tensor, y: Tensor, bias: Tensor, scale: f32) -> Tensor {
    let (units, cols) = (cx.pass.rows, bias.cols);
    let (dz, parts) = (cx.like(y), cx.parts(cols));
    let (reads, down) = ([dy.by_rows(), y.by_rows()], cx.down(SUMS, "relu_backward", y));
    cx.rows("relu", units, reads, [dz.by_rows(), parts.part()], move |_, [dy, y], [dz, sums]| {
        lab::wide!(|| {
            sums.fill(0.0);
            let rows = dy.chunks_exact(cols).zip(y.chunks_exact(cols));
            for (dz, (dy, y)) in dz.chunks_exact_mut(cols).zip(rows) {
                for (dz, (dy, y)) in dz.iter_mut().zip(dy.iter().zip(y)) {
                    *dz = through(*y, dy * scale);
                }
                sums.iter_mut().zip(&*dz).for_each(|(sum, dz)| *sum += dz);
            }
        });
    })
    .costs(2 * y.words())
    .launches(down.real(scale));
    cx.sum(bias.gradient(), parts);
    dz
}

/// The bias' gradient of a layer without `ReLU`, from that of what came out, which begins in column `from` of `dy`.
pub(super) fn column_sums(cx: &mut Recorder, dy: Tensor, from: usize, bias: Tensor) {
    let (units, cols, step) = (cx.pass.rows, bias.cols, dy.cols);
    let (parts, own) = (cx.parts(cols), Tensor { cols, ..dy });
    let down = cx.down(SUMS, "columns", own).with(&[step, from]);
    cx.rows("bias", units, [dy.by_rows()], [parts.part()], move |_, [dy], [sums]| {
        sums.fill(0.0);
        lab::wide!(|| for row in dy.chunks_exact(step) {
            sums.iter_mut().zip(&row[from..]).for_each(|(sum, dy)| *sum += dy);
        });
    })
    .costs(own.words())
    .launches(down);
    cx.sum(bias.gradient(), parts);
}
