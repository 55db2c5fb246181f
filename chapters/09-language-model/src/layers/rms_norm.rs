//! `RMSNorm`: a row is divided by its root mean square, then each value is scaled by a learned factor (Zhang and Sennrich
//! 2019, "Root Mean Square Layer Normalization"). No mean is taken off and nothing is added.
//!
//! With r = 1/√(mean x² + ε): yᵢ = xᵢ·r·wᵢ. Every xᵢ moves r, so its derivative has two terms:
//! dxᵢ = r·wᵢ·dyᵢ − xᵢ·r³·(Σⱼ wⱼ·dyⱼ·xⱼ)/n, and dwᵢ = Σ dyᵢ·xᵢ·r over all rows.

use engine::{
    device::Launch,
    ops::{Backward, Op},
    params::Params,
    record::Recorder,
    sums::{dot, triple},
    tensor::Tensor,
};
use lab::vectors::wide;

/// `rms_norm.cl`.
const RMS_NORM: &str = concat!(
    include_str!("../../../05-performance/engine/kernels/rows.h"),
    include_str!("../../../05-performance/engine/kernels/down.h"),
    include_str!("../../kernels/rms_norm.cl")
);

/// Keeps the division from exploding where a row is all zeros.
pub const EPS: f32 = 1e-5;

/// 1 over the root mean square of a row.
#[inline(always)]
fn inverse(x: &[f32]) -> f32 {
    1.0 / (dot(x, x) / x.len() as f32 + EPS).sqrt()
}

/// Normalises the rows of `x`, each as long as `scale`.
// ANCHOR: forward
pub fn forward(y: &mut [f32], x: &[f32], scale: &[f32]) {
    let width = scale.len();
    wide!(|| {
        for (y, x) in y.chunks_exact_mut(width).zip(x.chunks_exact(width)) {
            let r = inverse(x);
            for ((y, x), w) in y.iter_mut().zip(x).zip(scale) {
                *y = x * r * w;
            }
        }
    });
}
// ANCHOR_END: forward

/// Adds to `dx` and `dscale` what the derivatives of the result, `dy`, contribute to them. In a transformer `dx` already
/// holds what came along the residual path.
pub fn backward(dx: &mut [f32], dscale: &mut [f32], dy: &[f32], x: &[f32], scale: &[f32]) {
    let width = scale.len();
    wide!(|| {
        // ANCHOR: backward
        let rows = x.chunks_exact(width).zip(dy.chunks_exact(width));
        for (dx, (x, dy)) in dx.chunks_exact_mut(width).zip(rows) {
            let r = inverse(x);
            for ((d, dy), x) in dscale.iter_mut().zip(dy).zip(x) {
                *d += dy * x * r;
            }
            let along = triple(scale, dy, x);
            let c = along * r * r * r / width as f32;
            for (((dx, dy), x), w) in dx.iter_mut().zip(dy).zip(x).zip(scale) {
                *dx += r * w * dy - x * c;
            }
        }
        // ANCHOR_END: backward
    });
}

/// A normalisation with a learned scale for each column.
pub struct RmsNorm {
    name: String,
    scale: Tensor,
}

impl RmsNorm {
    /// Of rows of `width` numbers.
    pub fn new(params: &mut Params, name: &str, width: usize) -> Self {
        Self { name: name.to_owned(), scale: params.constant(name, width, 1.0) }
    }
}

impl Op for RmsNorm {
    fn name(&self) -> &str {
        &self.name
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        let x = cx.rows_of(x, self.scale.cols);
        let (scale, y) = (self.scale, cx.like(x));
        let (rows, reads) = (x.rows, [x.by_rows(), scale.whole()]);
        // For a GPU: its sums down the rows have no row at hand.
        let inverse = cx.tensor(rows, usize::from(!cx.form.cached));
        let writes = [y.by_rows(), inverse.by_rows()];
        cx.rows("norm", rows, reads, writes, |_, [x, w], [y, _]| {
            forward(y, x, w);
        })
        .costs(4 * x.words())
        .launches(Launch::of_rows(RMS_NORM, "rms_norm", rows, x.cols));
        // ANCHOR: op
        let backward = move |cx: &mut Recorder, dy: Tensor| {
            let (dx, parts) = (cx.like(x), cx.parts(scale.cols));
            let reads = [x.by_rows(), dy.by_rows(), scale.whole(), inverse.by_rows()];
            let to = [dx.by_rows(), parts.part()];
            let along = Launch::of_rows(RMS_NORM, "rms_norm_backward", rows, x.cols);
            let down = cx.down(RMS_NORM, "rms_norm_sums", x);
            cx.rows("norm", rows, reads, to, |_, [x, dy, w, _], [dx, dw]| {
                dx.fill(0.0);
                dw.fill(0.0);
                backward(dx, dw, dy, x, w);
            })
            .costs(11 * x.words())
            .launches(along.of(&[0, 1, 2, 3, 4]))
            .launches(down.of(&[0, 1, 3, 5]));
            cx.sum(scale.gradient(), parts);
            Some(dx)
        };
        // ANCHOR_END: op
        (y, Box::new(backward))
    }
}
