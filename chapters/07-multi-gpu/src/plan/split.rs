//! One way to split the work, and what a step then takes: memory on a card, and seconds term by term.

use super::{
    cards::Card,
    model::{Block, Workload},
};
use performance::gpu::cost::Work;
use serde::Serialize;
use std::{fmt, ops::Range};

/// How the work is split over `data` × `pipeline` × `tensor` cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Replicas, each with its part of the batch.
    pub data: usize,
    /// Stages of layers.
    pub pipeline: usize,
    /// Cards that share each product.
    pub tensor: usize,
    /// What is divided among the replicas: 0 nothing, 1 the optimizer's numbers, 2 also the gradients, 3 also the
    /// weights (Rajbhandari et al. 2020, "`ZeRO`").
    pub zero: u8,
    /// Pieces of a replica's part of the batch, one after the other.
    pub micro_batches: usize,
    /// Whether what the backward pass needs is computed again instead of kept.
    pub recompute: bool,
}

impl Split {
    /// Everything on one card.
    pub const ONE: Self =
        Self { data: 1, pipeline: 1, tensor: 1, zero: 0, micro_batches: 1, recompute: false };

    /// How many cards it takes.
    pub fn cards(&self) -> usize {
        self.data * self.pipeline * self.tensor
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { data, pipeline, tensor, zero, micro_batches, recompute } = self;
        write!(f, "data {data} × pipeline {pipeline} × tensor {tensor}")?;
        if *zero > 0 {
            write!(f, ", ZeRO {zero}")?;
        }
        if *micro_batches > 1 {
            write!(f, ", {micro_batches} micro-batches")?;
        }
        f.write_str(if *recompute { ", recomputing" } else { "" })
    }
}

/// Bytes on the fullest card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    /// The weights.
    pub weights: f64,
    /// Their gradients.
    pub gradients: f64,
    /// What the optimizer remembers.
    pub optimizer: f64,
    /// What is kept for the backward pass, of all micro-batches under way.
    pub activations: f64,
    /// Derivatives of a layer's input and output, an unrolled image, weights gathered for a while.
    pub scratch: f64,
}

impl Memory {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.weights + self.gradients + self.optimizer + self.activations + self.scratch
    }
}

/// Seconds of a step, by what they are spent on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Terms {
    /// Forward and backward passes of the slowest stage.
    pub compute: f64,
    /// Forward passes that are done again.
    pub recompute: f64,
    /// Stages that wait for the first micro-batch, or have no more.
    pub bubble: f64,
    /// Sums among tensor parallel cards.
    pub tensor: f64,
    /// Messages from stage to stage that nothing hides.
    pub stages: f64,
    /// Gradients, and weights with `ZeRO`, that no computation hides.
    pub data: f64,
    /// The optimizer.
    pub update: f64,
}

impl Terms {
    /// Each with its name.
    pub fn named(&self) -> [(&'static str, f64); 7] {
        [
            ("computing", self.compute),
            ("computing again", self.recompute),
            ("the pipeline's bubble", self.bubble),
            ("sums among tensor parallel cards", self.tensor),
            ("messages between stages", self.stages),
            ("gradients and weights among replicas", self.data),
            ("the optimizer", self.update),
        ]
    }

    /// The whole step.
    pub fn total(&self) -> f64 {
        self.named().iter().map(|(_, seconds)| seconds).sum()
    }

    /// The fraction of the step in which a card waits for others' numbers.
    pub fn communication_share(&self) -> f64 {
        (self.tensor + self.stages + self.data) / self.total()
    }

    /// The fraction of the step that the bubble takes.
    pub fn bubble_share(&self) -> f64 {
        self.bubble / self.total()
    }
}

/// What a split comes to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The split.
    pub split: Split,
    /// Bytes on its fullest card.
    pub memory: Memory,
    /// Seconds of a step.
    pub terms: Terms,
}

/// What the blocks of a pipeline's stage need together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stage {
    sum: Block,
    blocks: usize,
    /// Numbers that come into the stage.
    arrives: f64,
    /// Parameters of its largest block.
    most_parameters: f64,
    /// What its largest block keeps: on each card, and shared.
    most_kept: (f64, f64),
}

impl Stage {
    fn of(blocks: &[Block], range: Range<usize>) -> Self {
        let mut stage = Self { blocks: range.len(), ..Self::default() };
        stage.arrives = blocks[range.start].input;
        let with_first = range.start == 0;
        for block in &blocks[range] {
            let copy = if with_first { 0.0 } else { block.shared };
            let sum = &mut stage.sum;
            sum.parameters += block.parameters + copy;
            sum.forward += block.forward;
            sum.backward += block.backward;
            sum.input += block.input;
            sum.kept += block.kept;
            sum.kept_split += block.kept_split;
            sum.largest = sum.largest.max(block.largest);
            sum.unrolled = sum.unrolled.max(block.unrolled);
            sum.sums += block.sums;
            sum.messages += block.messages;
            sum.kernels += block.kernels;
            sum.terms = std::array::from_fn(|i| sum.terms[i] + block.terms[i]);
            stage.most_parameters = stage.most_parameters.max(block.parameters + copy);
            if block.kept + block.kept_split > stage.most_kept.0 + stage.most_kept.1 {
                stage.most_kept = (block.kept, block.kept_split);
            }
        }
        stage
    }
}

/// The blocks in `count` stages, so that the slowest stage has as few operations as possible. Of equal stages behind the first
/// one there is one, with the number that the first of them has.
pub(super) fn stages(blocks: &[Block], count: usize) -> Vec<(usize, Stage)> {
    let work: Vec<f64> = blocks.iter().map(|b| b.forward + b.backward).collect();
    // How many blocks each stage takes if none may do more than `most`, and leaves one for each stage behind it.
    let cut = |most: f64| {
        let (mut ends, mut at) = (Vec::new(), 0);
        for stage in 0..count {
            let behind = count - stage - 1;
            let (mut sum, begin) = (0.0, at);
            while at < blocks.len() - behind && (at == begin || sum + work[at] <= most) {
                sum += work[at];
                at += 1;
            }
            ends.push(begin..at);
        }
        (at == blocks.len(), ends)
    };
    let (mut low, mut high) = (0.0, work.iter().sum::<f64>() * (1.0 + 1e-9) + 1.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if cut(middle).0 { high = middle } else { low = middle }
    }
    let mut stages: Vec<(usize, Stage)> = Vec::new();
    for (at, range) in cut(high).1.into_iter().enumerate() {
        let stage = Stage::of(blocks, range);
        if stages.iter().skip(1).all(|(_, other)| *other != stage) {
            stages.push((at, stage));
        }
    }
    stages
}

/// What a step on `batch` examples takes if it is split like this. The stages are those of [`stages`].
pub(super) fn estimate(
    work: &Workload,
    stages: &[(usize, Stage)],
    card: &Card,
    batch: usize,
    split: Split,
) -> Estimate {
    let Split { data, pipeline, tensor, zero, micro_batches: m, recompute } = split;
    let (d, t) = (data as f64, tensor as f64);
    let p = &work.precision;
    let b = batch as f64 / (d * m as f64); // examples of a micro-batch
    let share = |stage: u8| if zero >= stage { d } else { 1.0 };
    let replicas = card.network.strided(tensor);

    // ANCHOR: memory
    let memory = |at: usize, s: &Stage| {
        let parameters = s.sum.parameters / t;
        let under_way = m.min(pipeline - at) as f64; // one forward, one backward
        let all = s.sum.kept + s.sum.kept_split / t;
        let kept = if recompute {
            under_way * s.sum.input + s.most_kept.0 + s.most_kept.1 / t
        } else {
            under_way * all
        };
        let gathered = if zero == 3 { 2.0 * s.most_parameters / t } else { 0.0 };
        Memory {
            weights: parameters * p.weight / share(3),
            gradients: parameters * p.gradient / share(2),
            optimizer: parameters * p.optimizer / share(1),
            activations: kept * b * p.activation,
            scratch: 2.0 * (s.sum.largest * b + s.sum.unrolled) * p.activation
                + gathered * p.weight,
        }
    };
    // ANCHOR_END: memory
    let seconds =
        |pass: Work| card.seconds(Work { operations: pass.operations / t, ..pass }, p.weight);
    // ANCHOR: stage
    let times = |s: &Stage| {
        let [forward, backward] = s.sum.passes(b).map(seconds);
        let again = if recompute { forward } else { 0.0 };
        // Nothing hides a sum here; libraries hide some backward ones.
        let message = s.sum.sums * b * p.activation / s.sum.messages.max(1.0);
        let passes = if recompute { 3.0 } else { 2.0 };
        let sums = passes * s.sum.messages * card.network.fastest(message, tensor);
        (forward + backward, again, sums, backward)
    };
    // ANCHOR_END: stage
    let whole = |(compute, again, sums, _): &(f64, f64, f64, f64)| compute + again + sums;
    let all = stages.iter().map(|(_, s)| times(s));
    let slowest = all.max_by(|x, y| whole(x).total_cmp(&whole(y)));
    let Some((compute, again, sums, backward)) = slowest else {
        return Estimate { split, memory: Memory::default(), terms: Terms::default() };
    };
    let (m, stages_between) = (m as f64, (pipeline - 1) as f64);

    let arrives = stages.iter().skip(1).map(|(_, s)| s.arrives).fold(0.0, f64::max);
    let send = card.network.send(arrives * b * p.activation / t, split.cards());
    let stage = stages.iter().map(|(_, s)| s);
    let replicated = stage.max_by(|x, y| x.sum.parameters.total_cmp(&y.sum.parameters));
    let (parameters, blocks) =
        replicated.map_or((0.0, 1), |s| (s.sum.parameters / t, s.blocks.max(1)));
    // ANCHOR: data
    let n = blocks as f64;
    let scatter = n * replicas.half(parameters * p.gradient / n, data);
    let gather = n * replicas.half(parameters * p.weight / n, data);
    // What travels during the passes, what it overlaps with (the last
    // micro-batch's backward pass, or all of them), and what comes after.
    let (travels, behind, after) = match zero {
        0 => (2.0 * scatter, backward, 0.0),
        1 => (scatter, backward, gather),
        2 => (m * scatter, m * backward, gather),
        _ => (m * (2.0 * gather + scatter), m * (compute + again), 0.0),
    };
    // The last block's has nothing to hide behind.
    let rounds = if zero < 2 { 1.0 } else { m };
    let data = (travels - behind).max(travels / (n * rounds)) + after;
    // ANCHOR_END: data
    let terms = Terms {
        compute: m * compute,
        recompute: m * again,
        bubble: stages_between * (compute + again + sums),
        tensor: m * sums,
        stages: if pipeline > 1 { 2.0 * stages_between * send } else { 0.0 },
        data,
        update: parameters / share(1) * p.moved() / card.bandwidth,
    };
    let memories = stages.iter().map(|(at, s)| memory(*at, s));
    let memory = memories.max_by(|x, y| x.total().total_cmp(&y.total())).unwrap_or_default();
    Estimate { split, memory, terms }
}
