//! Data parallel: every rank has the whole network and a part of each batch.
//!
//! All start with the same weights. Each computes the gradient of its own images, one all-reduce makes the sum of all
//! gradients, and each takes the same step. So the replicas stay equal, bit for bit, without ever being compared.

use super::group::{ALL, DATA};
use engine::{
    device::Launch, program::What, ranks::RANKS, record::Recorder, state, tensor::Tensor,
};

/// The operation, in a ledger, that makes the loss of all ranks.
pub const LOSS: &str = "loss of all";

// ANCHOR: sum
/// The sum of the gradients of all replicas, in one flat buffer.
pub fn sum(cx: &mut Recorder, gradient: Tensor) {
    cx.of("replicas", |cx| {
        cx.collective(What::Sum, DATA, None, Some(gradient));
    });
}
// ANCHOR_END: sum

/// What the losses of a rank begin with where somebody wants to know whether its gradient is [`broken`]: two zeros, and a third one
/// for that.
pub fn watch(cx: &mut Recorder) -> Tensor {
    zeros(cx, 3)
}

/// Looks for infinities and NaN in some of this rank's gradient, before a sum spreads them: a one in the [`watch`] for yes.
pub fn broken(cx: &mut Recorder, gradient: Tensor, watch: Tensor) {
    let (reads, writes) = ([gradient.whole()], [watch.by_rows()]);
    cx.rows("broken", 1, reads, writes, |_, [gradient], [watch]| {
        if !gradient.iter().all(|g| g.is_finite()) {
            watch[2] = 1.0;
        }
    })
    .launches(Launch::each(RANKS, "broken", gradient.words()));
}

/// What replicas keep without learning it becomes the mean over the batch. What a pass of `rows` images has left counts by
/// its part of the batch.
pub fn mean(cx: &mut Recorder, kept: Tensor, rows: usize) {
    let (reads, writes) = ([state::tensor().whole()], [kept.by_rows()]);
    cx.of("replicas", |cx| {
        cx.rows("weigh", 1, reads, writes, move |_, [state], [kept]| {
            let share = state[state::SHARE] * rows as f32;
            for value in kept {
                *value *= share;
            }
        })
        .launches(Launch::each(RANKS, "weigh", kept.words()).with(&[rows]));
        cx.collective(What::Sum, DATA, None, Some(kept));
    });
}

/// The mean loss of the whole batch, and the fraction of correct predictions, on every rank: from the `sums` of this rank's
/// passes, none if another rank has them, and behind them what a [`watch`] has found.
pub fn loss(cx: &mut Recorder, sums: &[Tensor], watch: Option<Tensor>) -> Tensor {
    let begin = watch.unwrap_or_else(|| zeros(cx, 2));
    let state = state::tensor().whole();
    let mine = sums.iter().fold(begin, |before, sums| {
        let (sum, reads) = (cx.like(begin), [before.whole(), sums.whole(), state]);
        cx.rows("sum", 1, reads, [sum.by_rows()], |_, [before, rows, state], [sum]| {
            sum.copy_from_slice(before);
            for row in rows.chunks_exact(2) {
                sum.iter_mut().zip(row).for_each(|(to, row)| *to += row * state[state::SHARE]);
            }
        })
        .launches(Launch::each(RANKS, "losses", sum.words()).with(&[sums.rows]));
        sum
    });
    let all = cx.like(mine);
    cx.collective(What::Sum, ALL, Some(mine), Some(all));
    all
}

fn zeros(cx: &mut Recorder, words: usize) -> Tensor {
    let zeros = cx.tensor(1, words);
    zero(cx, zeros);
    zeros
}

/// Sums begin with zeros.
pub(super) fn zero(cx: &mut Recorder, to: Tensor) {
    cx.rows("zero", 1, [], [to.by_rows()], |_, [], [to]| to.fill(0.0)).launches(Launch::each(
        RANKS,
        "zero",
        to.words(),
    ));
}
