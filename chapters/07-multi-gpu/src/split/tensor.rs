//! Tensor parallel: the products themselves are split.
//!
//! Shoeybi and others 2019, "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism",
//! section 3. Of two layers the first is cut by columns: each rank has some of the hidden units, with all their inputs,
//! and can apply the activation to them. The second is cut by rows: each rank's hidden units give a part of every
//! output's sum, and one all-reduce adds the parts up. On the backward pass it is the same, the other way round.

use super::{
    group::TENSOR,
    stage::{Of, each_stage},
};
use crate::{Error, Rank, Result, part_of};
use engine::{
    model::{self, Model},
    ops::{
        Backward, Op, attention::Attention, chain, dense::Dense, linear::Linear, mean::Mean,
        norm::Norm, patches::Patches, position::Position, relu::Relu, residual::Residual,
    },
    params::Params,
    program::What,
    record::Recorder,
    tensor::Tensor,
};

/// What stands around two layers that are cut.
// ANCHOR: ops
pub enum Cut {
    /// Before columns. The input is on every rank; its gradient is a sum of
    /// what each rank's columns find.
    Enter,
    /// Behind rows: the other way round.
    Leave,
}

impl Op for Cut {
    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        match self {
            Self::Enter => (x, Box::new(|cx, dy| Some(summed(cx, dy)))),
            Self::Leave => (summed(cx, x), Box::new(|_, dy| Some(dy))),
        }
    }
    // …
    // ANCHOR_END: ops

    fn name(&self) -> &'static str {
        "cut"
    }
}

/// The sum over the ranks that the product is cut over.
fn summed(cx: &mut Recorder, x: Tensor) -> Tensor {
    let sum = cx.like(x);
    cx.collective(What::Sum, TENSOR, Some(x), Some(sum));
    sum
}

// ANCHOR: pair
/// This rank's `part` of two layers: columns of the first, as many rows of
/// the second. The bias must be added once, so it comes behind the sum.
fn pair(
    p: &mut Params,
    [first, second]: [&str; 2],
    [inputs, part, outputs]: [usize; 3],
) -> Vec<Box<dyn Op>> {
    let rows = format!("{second}.weight");
    vec![
        Box::new(Cut::Enter),
        Box::new(Dense::straight(p, first, inputs, part).relu()),
        Box::new(Linear::new(p, &rows, [part, outputs])),
        Box::new(Cut::Leave),
        Box::new(Position::new(p, &format!("{second}.bias"), [1, outputs])),
    ]
}
// ANCHOR_END: pair

/// Operations one after the other, as one that no cut goes through.
pub struct Block(pub Vec<Box<dyn Op>>);

impl Op for Block {
    fn name(&self) -> &'static str {
        "block"
    }

    fn record(&self, cx: &mut Recorder, x: Tensor) -> (Tensor, Backward) {
        chain(&self.0, cx, x)
    }
}

/// Dense layers of these sizes, and how many operations each stage has. With several ranks the layers are cut two by two within
/// each stage; an odd one stays whole.
///
/// # Errors
/// [`Error::Config`] if the sizes are no network, or there are fewer layers than stages, or fewer units than ranks.
pub fn dense(sizes: &[usize], seed: u64, stages: usize, of: Of) -> Result<(Model, Vec<usize>)> {
    if sizes.len() < 2 || sizes.contains(&0) {
        return Err(Error::Config(format!(
            "{sizes:?} is no network; give the numbers of its inputs, hidden units and classes"
        )));
    }
    let (layers, width) = (sizes.len() - 1, if of.count > 1 { 2 } else { 1 });
    let (mut blocks, mut counts, mut next) = (Vec::new(), Vec::new(), 0);
    for own in each_stage(layers, stages)? {
        for first in (next..next + own).step_by(width) {
            let is_pair = width == 2 && first + 1 < next + own;
            let part = if is_pair { Some(units(sizes[first + 1], of)?) } else { None };
            blocks.push((first, part));
        }
        next += own;
        counts.push(own.div_ceil(width));
    }
    let model = Model::new(seed, sizes[0], |p| {
        let op = |(first, part): (usize, Option<usize>)| -> Box<dyn Op> {
            let last = first + usize::from(part.is_some());
            let (names, hidden) = ([first, last].map(|layer| layer.to_string()), last + 1 < layers);
            let (inputs, outputs) = (sizes[first], sizes[last + 1]);
            let Some(part) = part else {
                let layer = Dense::straight(p, &names[0], inputs, outputs);
                return Box::new(if hidden { layer.relu() } else { layer });
            };
            let mut ops = pair(p, [&names[0], &names[1]], [inputs, part, outputs]);
            if hidden {
                ops.push(Box::new(Relu));
            }
            Box::new(Block(ops))
        };
        blocks.into_iter().map(op).collect()
    });
    Ok((model, counts))
}

/// How many of so many hidden units this rank has.
fn units(all: usize, of: Of) -> Result<usize> {
    if of.count > all {
        return Err(Error::Config(format!(
            "{all} hidden units can't be cut over {} ranks; take {all} at most",
            of.count
        )));
    }
    Ok(part_of(all, Rank(of.at), of.count).len())
}

/// Chapter 5's transformer with some of the heads, and some of the units between two dense layers.
///
/// # Errors
/// [`Error::Config`] if the ranks do not divide the four heads.
pub fn transformer(seed: u64, of: Of) -> Result<Model> {
    const HEADS: usize = 4;
    if of.count == 1 {
        return Ok(model::transformer(seed));
    }
    if !HEADS.is_multiple_of(of.count) {
        return Err(Error::Config(format!(
            "{HEADS} heads can't be shared by {} ranks; take 1, 2 or 4",
            of.count
        )));
    }
    Ok(Model::new(seed, 784, |p| {
        let mut ops: Vec<Box<dyn Op>> = vec![
            Box::new(Patches { image: 28, patch: 7 }),
            Box::new(Dense::straight(p, "embed", 49, 64).near()),
            Box::new(Position::new(p, "position", [16, 64])),
        ];
        for block in ["block1", "block2"] {
            let named = |layer: &str| format!("{block}.{layer}");
            let heads = [HEADS / of.count, HEADS];
            ops.push(Box::new(Residual(vec![
                Box::new(Norm::new(p, &named("norm1"), 64)),
                Box::new(Cut::Enter),
                Box::new(Attention::some(p, &named("attention"), [16, 64], heads)),
                Box::new(Linear::new(p, &named("attention.merge.weight"), [64 / of.count, 64])),
                Box::new(Cut::Leave),
                Box::new(Position::new(p, &named("attention.merge.bias"), [1, 64])),
            ])));
            let mut layers: Vec<Box<dyn Op>> = vec![Box::new(Norm::new(p, &named("norm2"), 64))];
            let names = [&*named("wide"), &*named("narrow")];
            layers.extend(pair(p, names, [64, 128 / of.count, 64]));
            ops.push(Box::new(Residual(layers)));
        }
        ops.push(Box::new(Mean(16)));
        ops.push(Box::new(Norm::new(p, "norm", 64)));
        ops.push(Box::new(Dense::straight(p, "dense", 64, 10).near()));
        ops
    }))
}

/// Where the numbers of a rank's tensor lie in the whole one's place: pairs of positions. It has all rows and columns, or the
/// rank's part of one of them: of so many matrices that stand there side by side, each of so many pieces.
pub fn places(
    mine: Tensor,
    whole: Tensor,
    [matrices, pieces]: [usize; 2],
    of: Of,
) -> impl Iterator<Item = (usize, usize)> {
    let place = move |at, mine, whole| {
        if mine == whole {
            return at;
        }
        let (own, each) = (mine / matrices, whole / matrices);
        let first = part_of(pieces, Rank(of.at), of.count).start * (each / pieces);
        at / own * each + first + at % own
    };
    (0..mine.words()).map(move |at| {
        let row = place(at / mine.cols, mine.rows, whole.rows);
        let col = place(at % mine.cols, mine.cols, whole.cols);
        (mine.start + at, whole.start + row * whole.cols + col)
    })
}
