//! `ZeRO`: data parallel without keeping everything everywhere.
//!
//! Rajbhandari, Rasley, Ruwase and He 2020, "`ZeRO`: Memory Optimizations Toward Training Trillion Parameter Models",
//! section 5. Replicas of a network store the same numbers p times. Of these, each rank keeps a p-th and asks the
//! others when it needs more: stage 1 cuts what the optimizer remembers, stage 2 the gradients as well, stage 3 also
//! the parameters.

use super::{data_parallel::zero, group::DATA, stage::Extents};
use crate::{Rank, part_of};
use engine::{
    backend::Form,
    program::{Call, Program, What},
    ranks,
    record::Recorder,
    rule::{ALONE, Rule, update},
    tensor::{Place, Tensor},
};
use std::ops::Range;

/// What is cut over the ranks. Each level cuts all that the ones before it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing: plain data parallel.
    Nothing,
    /// What the optimizer remembers: stage 1.
    Optimizer,
    /// And the gradients: stage 2.
    Gradients,
    /// And the parameters: stage 3.
    Parameters,
}

impl Level {
    /// All, in their order.
    pub const ALL: [Self; 4] = [Self::Nothing, Self::Optimizer, Self::Gradients, Self::Parameters];

    /// The paper's number of it; 0 for plain data parallel.
    pub fn number(self) -> usize {
        self as usize
    }
}

/// Bytes that one rank keeps from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Of parameters.
    pub parameters: usize,
    /// Of gradients.
    pub gradients: usize,
    /// Of what the optimizer remembers.
    pub optimizer: usize,
}

impl Memory {
    /// All of it.
    pub fn total(self) -> usize {
        self.parameters + self.gradients + self.optimizer
    }
}

/// The paper's formulas (figure 1), for Ψ parameters in f32 under Adam: 4Ψ bytes of parameters, 4Ψ of gradients, and 8Ψ of
/// Adam's two means, each cut by p from its level on.
pub fn predicted(level: Level, parameters: usize, ranks: usize) -> f64 {
    let psi = parameters as f64;
    let cut = |from| if level >= from { ranks as f64 } else { 1.0 };
    4.0 * psi / cut(Level::Parameters)
        + 4.0 * psi / cut(Level::Gradients)
        + 8.0 * psi / cut(Level::Optimizer)
}

/// What a rank keeps of buffers that are cut over the ranks: its part of each bucket, one behind the other.
#[derive(Clone, Debug)]
pub struct Shard {
    level: Level,
    /// Ranges of the parameters' buffer. What is cut while the step goes on is cut operation by operation.
    buckets: Vec<Range<usize>>,
    rank: Rank,
    ranks: usize,
}

impl Shard {
    /// The rank's.
    pub fn new(level: Level, extents: &Extents, rank: Rank, ranks: usize) -> Self {
        let layers = extents.layers();
        let whole = layers.first().map_or(0, |layer| layer.start)..extents.end();
        let buckets = if level < Level::Gradients { vec![whole] } else { layers };
        Self { level, buckets, rank, ranks }
    }

    /// Where its part of a bucket lies in the bucket.
    fn part(&self, bucket: usize) -> Range<usize> {
        part_of(self.buckets[bucket].len(), self.rank, self.ranks)
    }

    /// What it knows of a buffer that all ranks' parts make up.
    pub fn parts(&self, place: Place) -> impl Iterator<Item = Tensor> {
        (0..self.buckets.len()).map(move |bucket| self.own(place, bucket))
    }

    /// Where its part of a bucket lies in one of its buffers: among its own parts, or in the bucket, which is whole.
    fn own(&self, place: Place, bucket: usize) -> Tensor {
        let (part, whole) = (self.part(bucket), self.buckets[bucket].start);
        let before: usize = (0..bucket).map(|before| self.part(before).len()).sum();
        let start = if self.is_cut(place) { before } else { whole + part.start };
        Tensor::new(place, start, 1, part.len())
    }

    /// Whether a buffer is cut.
    pub fn is_cut(&self, place: Place) -> bool {
        let from = match place {
            Place::Params => Level::Parameters,
            Place::Gradient => Level::Gradients,
            _ => Level::Optimizer,
        };
        self.level >= from
    }

    /// Words that it keeps of a buffer, of so many.
    pub fn words(&self, place: Place, all: usize) -> usize {
        let own = || (0..self.buckets.len()).map(|bucket| self.part(bucket).len()).sum();
        if self.is_cut(place) { own() } else { all }
    }

    /// Its own parameters out of all of them.
    pub fn values(&self, all: &[f32]) -> Vec<f32> {
        let own = |(at, bucket): (usize, &Range<usize>)| &all[bucket.clone()][self.part(at)];
        self.buckets.iter().enumerate().flat_map(own).copied().collect()
    }

    /// All parameters of which it knows its own, and zeros.
    pub fn spread(&self, own: &[f32], len: usize) -> Vec<f32> {
        let mut all = vec![0.0; len];
        for (at, bucket) in self.buckets.iter().enumerate() {
            let Tensor { start, cols, .. } = self.own(Place::Params, at);
            all[bucket.clone()][self.part(at)].copy_from_slice(&own[start..start + cols]);
        }
        all
    }

    fn bucket(&self, tensor: &Tensor) -> usize {
        self.buckets.partition_point(|bucket| bucket.end <= tensor.start)
    }

    /// Puts what a pass does to parameters and gradients to where they are whole, and no longer than they have to be.
    pub fn pass(&self, cx: &mut Recorder) {
        let calls = std::mem::take(&mut cx.program.calls);
        let buckets = self.buckets.iter();
        let last: Vec<_> = buckets.map(|bucket| last_writer(&calls, bucket)).collect();
        let (mut held, mut sums) = (None, vec![None; last.len()]);
        // ANCHOR: pass
        for (at, mut call) in calls.into_iter().enumerate() {
            for tensor in call.tensors_mut() {
                let bucket = self.bucket(tensor);
                let whole = match tensor.place {
                    place if !self.is_cut(place) => continue,
                    Place::Params => self.held(cx, bucket, &mut held),
                    Place::Gradient => self.sum(cx, bucket, &mut sums),
                    _ => continue,
                };
                let start = tensor.start - self.buckets[bucket].start;
                *tensor = Tensor { place: whole.place, start, ..*tensor };
            }
            cx.program.calls.push(call);
            for bucket in 0..last.len() {
                if last[bucket] == Some(at) {
                    self.scatter(cx, bucket, sums[bucket]);
                }
            }
        }
        // ANCHOR_END: pass
    }

    /// A bucket's parameters. One bucket is held at a time; others are forgotten.
    fn held(&self, cx: &mut Recorder, bucket: usize, held: &mut Option<(usize, Tensor)>) -> Tensor {
        let known = held.filter(|(held, _)| *held == bucket);
        let whole = known.map_or_else(|| self.gathered(cx, bucket), |(_, whole)| whole);
        *held = Some((bucket, whole));
        whole
    }

    /// Where the sum of a bucket's gradients is made.
    fn sum(&self, cx: &mut Recorder, bucket: usize, sums: &mut [Option<Tensor>]) -> Tensor {
        *sums[bucket].get_or_insert_with(|| {
            let whole = self.whole(cx, bucket);
            zero(cx, whole);
            whole
        })
    }

    /// A bucket's parameters, of all ranks.
    // ANCHOR: gathered
    fn gathered(&self, cx: &mut Recorder, bucket: usize) -> Tensor {
        let own = self.own(Place::Params, bucket);
        let whole = self.whole(cx, bucket);
        let mine = part_tensor(whole, &self.part(bucket));
        copy(cx, own, mine);
        cx.collective(What::Gather, DATA, None, Some(whole));
        whole
    }

    /// The sum of a bucket's gradients; only this rank's part of it is kept.
    fn scatter(&self, cx: &mut Recorder, bucket: usize, whole: Option<Tensor>) {
        let range = &self.buckets[bucket];
        let kept = Tensor::new(Place::Gradient, range.start, 1, range.len());
        cx.collective(What::Scatter, DATA, None, Some(whole.unwrap_or(kept)));
        if let Some(whole) = whole {
            let mine = part_tensor(whole, &self.part(bucket));
            copy(cx, mine, self.own(Place::Gradient, bucket));
        }
    }
    // ANCHOR_END: gathered

    fn whole(&self, cx: &mut Recorder, bucket: usize) -> Tensor {
        cx.tensor(1, self.buckets[bucket].len())
    }

    /// Each rank moves the parameters whose means it has, and tells the others, where they keep them.
    // ANCHOR: update
    pub fn update(&self, rule: &Rule, form: Form) -> Program {
        let mut cx = Recorder::new(ALONE, form);
        for (at, bucket) in self.buckets.iter().enumerate() {
            let first = bucket.start + self.part(at).start;
            let own = Place::UPDATED.map(|place| self.own(place, at));
            update(&mut cx, rule, first, own);
            if !self.is_cut(Place::Params) {
                let all = Tensor::new(Place::Params, bucket.start, 1, bucket.len());
                cx.collective(What::Gather, DATA, None, Some(all));
            }
        }
        cx.finish()
    }
    // ANCHOR_END: update
}

/// The last call that writes to a gradient in this range of the buffer.
pub(super) fn last_writer(calls: &[Call], range: &Range<usize>) -> Option<usize> {
    calls.iter().rposition(|call| {
        let writes = call.writes();
        let mut tensors = writes.iter().map(|operand| operand.tensor);
        tensors.any(|tensor| tensor.place == Place::Gradient && range.contains(&tensor.start))
    })
}

/// A part of a row.
fn part_tensor(row: Tensor, part: &Range<usize>) -> Tensor {
    Tensor { start: row.start + part.start, cols: part.len(), ..row }
}

fn copy(cx: &mut Recorder, from: Tensor, to: Tensor) {
    let (reads, writes) = ([from.by_rows()], [to.by_rows()]);
    cx.rows("copy", 1, reads, writes, |_, [from], [to]| to.copy_from_slice(from))
        .launches(ranks::copy(from.words()));
}
