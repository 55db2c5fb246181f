//! Softmax and cross-entropy: the loss of each row, and the gradient of the scores in the same pass.

use crate::{
    device::Launch,
    record::Recorder,
    state,
    sums::{largest, replace_and_sum},
    tensor::Tensor,
    words::whole,
};
use lab::vectors::exp;

/// `loss.cl`.
const LOSS: &str =
    concat!(include_str!("../../kernels/rows.h"), include_str!("../../kernels/loss.cl"));

/// The gradient of the batch's mean loss, and a row of two sums for each block: of the losses, and of the right answers.
/// `labels` has a word a row.
pub fn record(cx: &mut Recorder, scores: Tensor, labels: Tensor) -> [Tensor; 2] {
    let (rows, cols) = (labels.rows, scores.cols);
    let scores = cx.images_of(scores, [1, cols]);
    let (gradient, parts) = (cx.like(scores), cx.parts(2));
    let each = cx.block();
    let launch = Launch::new(LOSS, "loss", [parts.rows, 1], [32, 8]);
    let reads = [scores.by_rows(), labels.by_rows(), state::tensor().whole()];
    let writes = [gradient.by_rows(), parts.part()];
    cx.rows("loss", rows, reads, writes, move |_, [scores, labels, state], [gradient, sums]| {
        let share = state[state::SHARE];
        sums.fill(0.0);
        let rows = scores.chunks_exact(cols).zip(gradient.chunks_exact_mut(cols));
        for ((scores, gradient), label) in rows.zip(whole(labels)) {
            let label = *label as usize;
            assert!(
                label < cols,
                "loss: label {label} is beyond {cols} scores; make a score for each"
            );
            // ANCHOR: row
            gradient.copy_from_slice(scores);
            gradient[label] = f32::NEG_INFINITY; // its power is added last
            let highest = lab::wide!(|| largest(scores));
            let others = lab::wide!(|| replace_and_sum(gradient, |s| exp(s - highest)));
            let sum = others + exp(scores[label] - highest);
            let loss = sum.ln() - (scores[label] - highest);
            sums[0] += loss;
            sums[1] += f32::from(u8::from(scores[label] >= highest));
            // A loss that is no number has no gradient.
            let factor = if loss.is_finite() { share / sum } else { f32::NAN };
            lab::wide!(|| for power in &mut *gradient {
                *power *= factor;
            });
            gradient[label] = -others * factor; // p - 1, without the difference
            // ANCHOR_END: row
        }
    })
    .costs(6 * rows * cols)
    .launches(launch.with(&[rows, cols, each]));
    [gradient, parts]
}
