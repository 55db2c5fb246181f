//! What is measured, simulated and calculated for the planner: steps of threads here, published clusters, and why some models
//! gain nothing from more cards.

use crate::{
    Communicator, Result,
    comm::cost::{self, AlphaBeta},
    cores::keep_to_core,
    part_of,
    plan::{
        predicted::Parts,
        published::{MEGATRON, calibrated, megatron, runs},
        why::step,
    },
    split::{
        hybrid::{Grid, Member, Settings},
        job::{Batch, Job, Network, Rule},
    },
    threads,
};
use backprop::{random::SplitMix64, sgd::Sgd};
use engine::{cpu::Cpu, program::Numbers, step::Step};
use lab::{Budget, Experiment, Key, Recorder, Samples, Unit, key::Kind, record::ParamList};
use std::time::Instant;

lab::keys! {
    /// A step, by its parts.
    PREDICTED: calculated "multi_gpu.predicted", Seconds, ["model", "batch", "ranks"];
    /// The step of ranks that are pinned to a core.
    MEASURED: measured "multi_gpu.predicted.measured", Seconds, ["model", "batch", "ranks"];
    /// How far the prediction is off.
    ERROR: measured "multi_gpu.predicted.error", Share, ["model", "batch", "ranks"];
    /// The step of ranks that the system may move.
    FREE: measured "multi_gpu.predicted.free", Seconds, ["model", "batch", "ranks"];
    /// How far the prediction is off then.
    FREE_ERROR: measured "multi_gpu.predicted.free.error", Share, ["model", "batch", "ranks"];
    /// The start-up cost between ranks that are pinned to a core.
    pub ALPHA: measured "multi_gpu.predicted.alpha", Seconds, ["ranks"];
    /// The bandwidth between ranks that are pinned to a core.
    pub BANDWIDTH: measured "multi_gpu.predicted.bandwidth", BytesPerSecond, ["ranks"];
    /// The largest error.
    WORST: measured "multi_gpu.predicted.worst", Share, [];
    /// Cases whose fastest number of ranks was predicted.
    RIGHT: measured "multi_gpu.predicted.right", Count, [];
    /// Each card's rate.
    pub SCALING: simulated "multi_gpu.scaling", Share, ["by", "model", "cards"];
    /// How much faster a step gets.
    pub WHY: simulated "multi_gpu.why", Ratio, ["model", "batch", "cards"];
    /// The step.
    WHY_STEP: simulated "multi_gpu.why.step", Seconds, ["model", "batch", "cards"];
    /// The fraction of it that is communication.
    WHY_EXPOSED: simulated "multi_gpu.why.exposed", Share, ["model", "batch", "cards"];
    /// Their difference.
    pub SCALING_ERROR: calculated "multi_gpu.scaling.error", Share, ["by", "model", "cards"];
    /// How much the cards' times differ: the number that is calibrated.
    pub JITTER: calculated "multi_gpu.scaling.jitter", Share, [];
    /// The median error, in fractions of the full rate.
    pub SCALING_TYPICAL: calculated "multi_gpu.scaling.typical", Share, [];
    /// The largest error.
    pub SCALING_WORST: calculated "multi_gpu.scaling.worst", Share, [];
    /// A card's operations, by the planner.
    PLANNER: calculated "multi_gpu.scaling.planner", FlopsPerSecond, ["cards", "layers", "width", "split"];
    /// How far the planner is off.
    PLANNER_ERROR: calculated "multi_gpu.scaling.planner.error", Share, ["cards", "layers", "width", "split"];
    /// The median error of the planner.
    PLANNER_TYPICAL: calculated "multi_gpu.scaling.planner.typical", Share, [];
}

/// Each card's rate, as published.
pub const PUBLISHED: Key =
    published("multi_gpu.scaling.published", Unit::Share, &["by", "model", "cards"]);
/// A card's operations, as published.
const PLANNER_PUBLISHED: Key =
    published("multi_gpu.scaling.planner.published", Unit::FlopsPerSecond, &SPLIT);
/// What a row of Megatron-LM's table is.
const SPLIT: [&str; 4] = ["cards", "layers", "width", "split"];

const fn published(name: &'static str, unit: Unit, params: &'static [&'static str]) -> Key {
    Key::new(Kind::Published("the papers that the page names"), name, unit, params)
}

/// This part's experiments.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick PREDICTED.name => &[
            PREDICTED, MEASURED, ERROR, FREE, FREE_ERROR, ALPHA, BANDWIDTH, WORST, RIGHT,
        ], |rec| Ok(predicted(rec)?),
            "the time of the engine's data parallel step over 1, 2 and 4 threads, which sums gradients and then losses: predicted from \
             computing time, α and β, and measured";
        quick SCALING.name => &[
            SCALING, PUBLISHED, SCALING_ERROR, JITTER, SCALING_TYPICAL, SCALING_WORST, PLANNER, PLANNER_PUBLISHED,
            PLANNER_ERROR, PLANNER_TYPICAL,
        ], |rec| Ok(scaling(rec)?),
            "the simulator and the planner against published clusters of up to 3,072 GPUs, with one number calibrated on one point";
        quick WHY.name => &[WHY, WHY_STEP, WHY_EXPOSED], |rec| Ok(why(rec)?),
            "how much faster a step of the same batch gets over 1 to 4,096 simulated GPUs, for a small model and for large ones";
    }
}

/// The models, and the examples of a step, over all cards.
pub const BATCHES: [(&str, usize); 5] =
    [("mlp", 128), ("mlp", 60_000), ("vgg16", 8192), ("resnet50", 8192), ("gpt-7b", 4096)];

/// The networks and the images of a step, over all ranks.
const CASES: [(&str, &[usize], usize); 3] = [
    ("784-128-10", &[784, 128, 10], 128),
    ("784-512-10", &[784, 512, 10], 128),
    ("784-512-10", &[784, 512, 10], 512),
];

/// Numbers of ranks that are measured.
const RANKS: [usize; 3] = [1, 2, 4];

/// How the ranks of a step are set up.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// How many.
    pub ranks: usize,
    /// Whether they train together; else each trains for itself with its part of the images.
    pub together: bool,
    /// Whether each is pinned to a core.
    pub bound: bool,
}

/// Seconds of one of so many steps.
fn each(steps: usize, mut step: impl FnMut() -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    (0..steps).try_for_each(|_| step())?;
    Ok(began.elapsed().as_secs_f64() / steps as f64)
}

/// Seconds of a step of `batch` images, the mean of `steps` steps of the slowest rank.
///
/// # Errors
/// What a rank fails with.
pub fn measured(sizes: &[usize], batch: usize, steps: usize, setup: Placement) -> Result<f64> {
    let rule = Rule::Sgd(Sgd { lr: 1e-3, momentum: 0.0 });
    let job = Job { network: Network::Dense(sizes.to_vec()), seed: 1, rule };
    // The same for all ranks.
    let all = Batch::random(&mut SplitMix64::new(7), batch, [sizes[0], 10]);
    let ranks = setup.ranks;
    let times = threads::run(ranks, |mut rank| {
        if setup.bound {
            keep_to_core(rank.rank());
        }
        if setup.together {
            let mut member = Member::new(&job, Settings::of(Grid::replicas_of(ranks)), rank)?;
            member.step(&all)?; // it warms up, and all have come
            return each(steps, || member.step(&all).map(|_| ()));
        }
        let own = all.part(part_of(batch, rank.rank(), ranks))?;
        let mut alone = Step::on(Cpu::new(1), job.model()?, 1, job.rule.of_engine());
        let mut step = || {
            alone.fill(own.len(), &own.x, &own.words());
            alone.gradient(own.len(), Numbers::F32);
            alone.update(0.0); // the rule knows its rate
            Ok(())
        };
        step()?;
        rank.barrier()?;
        each(steps, step)
    })?;
    Ok(times.into_iter().fold(0.0, f64::max))
}

/// α and β of a ring's messages between so many ranks: the time of an all-reduce over its 2(p − 1) messages, against
/// the bytes of one. Each has a core of its own: ranks that share one are another link.
///
/// # Errors
/// What a rank fails with.
pub fn link(ranks: usize, rounds: usize) -> Result<AlphaBeta> {
    let messages = 2.0 * (ranks - 1) as f64;
    let sizes = (0..20).step_by(2).map(|log| 2_usize << log);
    let mut points = Vec::new();
    for numbers in sizes {
        let times = threads::run(ranks, |mut rank| {
            keep_to_core(rank.rank());
            let mut data = vec![1.0_f32; numbers];
            let mut samples = Vec::new();
            for _ in 0..rounds {
                data.fill(1.0);
                rank.barrier()?;
                let began = Instant::now();
                rank.all_reduce(&mut data)?;
                samples.push(began.elapsed().as_secs_f64());
            }
            Ok(Samples(samples).median())
        })?;
        let bytes = 4.0 * numbers as f64;
        let seconds = times.into_iter().fold(0.0, f64::max);
        points.push((bytes / ranks as f64, seconds / messages));
    }
    Ok(cost::fit(&points).unwrap_or(AlphaBeta::NOTHING))
}

fn predicted(recorder: &mut Recorder) -> Result<()> {
    let (rounds, repeats, images) = match recorder.budget {
        Budget::Quick => (3, 10, 300),
        Budget::Full => (25, 200, 1500),
    };
    let mut links = Vec::new();
    for p in RANKS {
        if p == 1 {
            links.push(AlphaBeta::NOTHING); // it sends nothing
            continue;
        }
        let list: ParamList = &[("ranks", &p)];
        recorder.note_at(ALPHA.at(list));
        let link = link(p, repeats)?;
        recorder.one(ALPHA.at(list), link.alpha);
        recorder.one(BANDWIDTH.at(list), 1.0 / link.beta);
        links.push(link);
    }
    let (mut worst, mut right) = (0.0_f64, 0);
    for (model, sizes, batch) in CASES {
        recorder.note_at(PREDICTED.at(&[("model", &model), ("batch", &batch)]));
        let steps = (images / batch).max(4);
        // In turns: all ranks at once without messages, the step, and the step of ranks that the system may move.
        let mut sides = [const { [const { Vec::new() }; 3] }; RANKS.len()];
        for _ in 0..rounds {
            for (side, ranks) in sides.iter_mut().zip(RANKS) {
                let seconds = |together: bool, bound: bool| {
                    measured(sizes, batch, steps, Placement { ranks, together, bound })
                };
                side[0].push(seconds(false, true)?);
                side[1].push(seconds(true, true)?);
                side[2].push(seconds(true, false)?);
            }
        }
        let weights: usize = sizes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum();
        let (mut planned, mut fastest) = ((f64::INFINITY, 0), (f64::INFINITY, 0));
        for ((side, p), link) in sides.into_iter().zip(RANKS).zip(&links) {
            let [beside, real, free] = side.map(Samples);
            let bytes = 4.0 * weights as f64;
            let sum = |compute, bytes| Parts { compute, link: *link, bytes }.predict(p);
            let predicted = sum(beside.median(), bytes) + sum(0.0, 8.0); // of gradients, of losses
            let off = |found: &Samples| predicted / found.median() - 1.0;
            let (error, error_free) = (off(&real), off(&free));
            planned = if predicted < planned.0 { (predicted, p) } else { planned };
            fastest = if real.median() < fastest.0 { (real.median(), p) } else { fastest };
            worst = worst.max(error.abs());
            let list: ParamList = &[("model", &model), ("batch", &batch), ("ranks", &p)];
            recorder.one(PREDICTED.at(list), predicted);
            recorder.record(MEASURED.at(list), real);
            recorder.one(ERROR.at(list), error);
            recorder.record(FREE.at(list), free);
            recorder.one(FREE_ERROR.at(list), error_free);
        }
        right += usize::from(planned.1 == fastest.1);
    }
    recorder.one(RIGHT.at(&[]), right as f64);
    recorder.one(WORST.at(&[]), worst);
    Ok(())
}

fn scaling(recorder: &mut Recorder) -> Result<()> {
    let runs = runs()?;
    let jitter = calibrated(&runs);
    recorder.one(JITTER.at(&[]), jitter);
    let mut errors = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let mut cards: Vec<usize> = (0..10).map(|log| 1 << log).collect();
        cards.retain(|p| *p >= run.base);
        for p in cards {
            let list: ParamList = &[("by", &run.by), ("model", &run.model), ("cards", &p)];
            let predicted = run.predicted(p, jitter);
            recorder.one(SCALING.at(list), predicted);
            let Some((_, published)) = run.points.iter().find(|(cards, _)| *cards == p) else {
                continue;
            };
            recorder.one(PUBLISHED.at(list), *published);
            let error = predicted - published;
            recorder.one(SCALING_ERROR.at(list), error);
            let calibrated = at == 0 && run.points.last().is_some_and(|last| last.0 == p);
            if !calibrated {
                errors.push(error.abs());
            }
        }
    }
    let all = Samples(errors);
    recorder.one(SCALING_TYPICAL.at(&[]), all.median());
    recorder.one(SCALING_WORST.at(&[]), all.quantile(1.0));
    let mut errors = Vec::new();
    for row in &MEGATRON {
        let (estimate, rate) = megatron(row)?;
        let published = f64::from(row[7]) * 1e12;
        let list: ParamList = &[
            ("cards", &row[5]),
            ("layers", &row[0]),
            ("width", &row[1]),
            ("split", &estimate.split),
        ];
        recorder.one(PLANNER.at(list), rate);
        recorder.one(PLANNER_PUBLISHED.at(list), published);
        recorder.one(PLANNER_ERROR.at(list), rate / published - 1.0);
        errors.push((rate / published - 1.0).abs());
    }
    recorder.one(PLANNER_TYPICAL.at(&[]), Samples(errors).median());
    Ok(())
}

fn why(recorder: &mut Recorder) -> Result<()> {
    for (name, batch) in BATCHES {
        let alone = step(name, batch, 1)?.total;
        for p in (0..13).map(|log| 1_usize << log).filter(|p| *p <= batch) {
            let found = step(name, batch, p)?;
            let list: ParamList = &[("model", &name), ("batch", &batch), ("cards", &p)];
            recorder.one(WHY.at(list), alone / found.total);
            recorder.one(WHY_STEP.at(list), found.total);
            recorder.one(WHY_EXPOSED.at(list), found.exposed / found.total);
        }
    }
    Ok(())
}
