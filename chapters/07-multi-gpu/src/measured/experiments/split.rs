//! What is measured: how equal every way is, what people claim, how long ranks wait, what they store, and what overlap
//! gains.

use crate::comm::{AlphaBeta, counting::Counting};
use crate::split::{
    claims::{Learned, Sum, Trial, learn, read_differently},
    dfdx::{self, Task},
    equality::{Strategy, difference, split},
    hybrid::{Grid, Member, Settings},
    job::{Batch, Job, Network, Rule, Trained, one_device},
    overlap::{predict, seconds},
    pipeline::{Pace, kept},
    schedule::{Direction, Schedule, Slot, Work, idle, order, timeline},
    wire::Wire,
    zero::{Level, predicted},
};
use crate::{Communicator, Result, threads};
use backprop::{
    adam::Adam, order::order as shuffled, random::SplitMix64, sgd::Sgd, train::Examples,
};
use lab::{Budget, Experiment, Key, Recorder, Samples, key::Quantity, record::ParamList};
use std::{sync::Barrier, time::Instant};
use training::{Model, optimizer::Rule as DfdxRule, studies::side_by_side};

lab::keys! {
    /// The largest difference of a parameter from one device.
    pub EQUALITY: measured "multi_gpu.equality", Number, ["model", "rule", "way", "ranks"];
    /// The loss of the last batch.
    pub LOSS: measured "multi_gpu.equality.loss", Number, ["model", "rule", "way", "ranks"];
    /// How far the steps moved a parameter at most.
    pub MOVED: measured "multi_gpu.equality.moved", Number, ["model", "rule"];
    /// The largest difference, by Adam's ε.
    pub BY_EPS: measured "multi_gpu.equality.eps", Number, ["eps"];
    /// Test accuracies.
    pub CLAIMS: measured "multi_gpu.claims", Share, ["how", "ranks", "seed"];
    /// Images that are classified differently from one device.
    pub READ_DIFFERENTLY: measured "multi_gpu.claims.read_differently", Count, ["how", "ranks"];
    /// Steps of a training.
    pub CLAIMED_STEPS: counted "multi_gpu.claims.steps", Count, ["how", "ranks"];
    /// Test accuracies with a common error.
    MISTAKEN: measured "multi_gpu.mistakes", Share, ["mistake", "lr", "ranks"];
    /// The fraction of its time in which a rank waits.
    pub PIPELINE: measured "multi_gpu.pipeline", Share, ["device", "stages", "micros", "schedule"];
    /// The same, by the schedule and the stages' times.
    pub PIPELINE_PREDICTED: calculated "multi_gpu.pipeline.predicted", Share,
        ["device", "stages", "micros", "schedule"];
    /// What the first stage keeps at most.
    pub KEPT: counted "multi_gpu.pipeline.kept", Bytes, ["device", "stages", "micros", "schedule"];
    /// The bytes of the fullest rank.
    ZERO: counted "multi_gpu.zero", Bytes, ["level", "ranks"];
    /// The same, by the formula.
    ZERO_PREDICTED: calculated "multi_gpu.zero.predicted", Bytes, ["level", "ranks"];
    /// What the busiest rank sends.
    SENT: counted "multi_gpu.zero.sent", Bytes, ["level", "ranks"];
    /// The same, by the formula.
    SENT_PREDICTED: calculated "multi_gpu.zero.sent.predicted", Bytes, ["level", "ranks"];
    /// From the start of the backward pass to the last summed gradient.
    OVERLAP: measured "multi_gpu.overlap", Seconds, ["wire", "bucket", "ranks"];
    /// The same, by the formula.
    OVERLAP_PREDICTED: calculated "multi_gpu.overlap.predicted", Seconds, ["wire", "bucket", "ranks"];
    /// The backward pass alone.
    BACKWARD: measured "multi_gpu.overlap.backward", Seconds, [];
    /// How many times as fast as sending all at the end.
    GAIN: measured "multi_gpu.overlap.gain", Ratio, ["wire", "bucket", "ranks"];
}

/// The experiments, in the order of the page.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full EQUALITY.name => &[EQUALITY, LOSS, MOVED, BY_EPS], |rec| equality(rec).map_err(Into::into),
            "how far twenty steps on many ranks are from the same steps on one device, for every way to split";
        full CLAIMS.name => &[CLAIMS, READ_DIFFERENTLY, CLAIMED_STEPS], |rec| claims(rec).map_err(Into::into),
            "whether splitting the data or the model lowers a network's accuracy, and what a grown batch does";
        full MISTAKEN.name => &[MISTAKEN], |rec| mistakes(rec).map_err(Into::into),
            "what common errors with the batch, the rate and the sum of gradients cost on two ranks and on eight";
        full PIPELINE.name =>
            &[PIPELINE, PIPELINE_PREDICTED, KEPT],
            |rec| pipeline(rec).map_err(Into::into),
            "the fraction of time in which the ranks of a pipeline wait, predicted and measured";
        quick ZERO.name => &[ZERO, ZERO_PREDICTED, SENT, SENT_PREDICTED], |rec| zero(rec).map_err(Into::into),
            "how many bytes a rank keeps and sends with each stage of ZeRO, predicted and counted";
        full OVERLAP.name =>
            &[OVERLAP, OVERLAP_PREDICTED, BACKWARD, GAIN],
            |rec| overlapping(rec).map_err(Into::into),
            "what sending gradients during the backward pass gains, predicted and measured, on wires of several speeds";
    }
}

/// The network of the equality table: four layers.
pub const SIZES: [usize; 5] = [784, 64, 48, 32, 10];
/// Steps of the equality table.
pub const STEPS: usize = 20;
/// Images of its batches: a number that neither 2 nor 3 nor 4 divides.
pub const ROWS: usize = 97;

/// Every way to split, with its ranks, as the table lists them.
fn ways() -> Vec<(Strategy, usize)> {
    let grid = |data, stages, tensor| Strategy::Hybrid(Grid { data, stages, tensor }, 4);
    let [gpipe, one] = Schedule::ALL;
    vec![
        (Strategy::Data, 1),
        (Strategy::Data, 2),
        (Strategy::Data, 4),
        (Strategy::Data, 8),
        (Strategy::Overlap(1 << 14), 4),
        (Strategy::Layers, 2),
        (Strategy::Layers, 4),
        (Strategy::Pipeline(gpipe, 1), 4),
        (Strategy::Pipeline(gpipe, 8), 4),
        (Strategy::Pipeline(one, 8), 4),
        (Strategy::Tensor, 2),
        (Strategy::Tensor, 3),
        (Strategy::Tensor, 4),
        (Strategy::Zero(Level::Optimizer), 4),
        (Strategy::Zero(Level::Gradients), 4),
        (Strategy::Zero(Level::Parameters), 4),
        (grid(2, 2, 2), 8),
        (grid(4, 2, 1), 8),
        (grid(1, 2, 4), 8),
    ]
}

/// The rules of the table: with momentum, because plain descent damps a difference sooner, and Adam with Keras's ε.
pub const RULES: [Rule; 2] = [Rule::Sgd(Sgd { lr: 0.05, momentum: 0.9 }), adam(1e-7)];

/// Values of Adam's ε: PyTorch's, Keras's, and a larger one.
pub const EPS: [f64; 3] = [1e-8, 1e-7, 1e-6];

/// Adam with this ε.
const fn adam(eps: f64) -> Rule {
    Rule::Adam(Adam { lr: 1e-3, beta1: 0.9, beta2: 0.999, eps })
}

/// Batches of `rows` images in the order of a seed.
fn taken(examples: &Examples, rows: usize, steps: usize) -> Vec<Batch> {
    let order = shuffled(1, 1, examples.len());
    let numbers = order.chunks_exact(rows).take(steps);
    numbers.map(|numbers| examples.batch(numbers).into()).collect()
}

/// Records how far `found`, a model trained in a way, is from `wanted`.
fn apart(
    rec: &mut Recorder,
    (model, rule, way, ranks): (&str, &str, &str, usize),
    wanted: &Trained,
    found: &Trained,
) {
    let list: ParamList = &[("model", &model), ("rule", &rule), ("way", &way), ("ranks", &ranks)];
    let off = difference(wanted, found);
    rec.one(EQUALITY.at(list), off.parameters);
    rec.one(LOSS.at(list), found.losses.last().copied().unwrap_or(f64::NAN));
}

fn equality(rec: &mut Recorder) -> Result<()> {
    let examples = Examples::of(&rec.data_set()?.train.first(ROWS * STEPS));
    let batches = taken(&examples, ROWS, STEPS);
    for rule in RULES {
        let job = Job { network: Network::Dense(SIZES.to_vec()), seed: 1, rule };
        let wanted = one_device(&job, &batches)?;
        // How far the training itself went: the scale of the differences.
        let start = one_device(&job, &[])?;
        let list: ParamList = &[("model", &"scratch"), ("rule", &rule.name())];
        rec.one(MOVED.at(list), difference(&start, &wanted).parameters);
        for (way, ranks) in ways() {
            let found = split(way, ranks, &job, &batches)?;
            apart(rec, ("scratch", rule.name(), &way.name(), ranks), &wanted, &found);
        }
    }
    for eps in EPS {
        let job = Job { network: Network::Dense(SIZES.to_vec()), seed: 1, rule: adam(eps) };
        let wanted = one_device(&job, &batches)?;
        // Two, four and eight ranks add in three orders.
        let off = [2, 4, 8].map(|ranks| {
            Ok(difference(&wanted, &split(Strategy::Data, ranks, &job, &batches)?).parameters)
        });
        let off = Samples(off.into_iter().collect::<Result<_>>()?);
        rec.record(BY_EPS.at(&[("eps", &format!("{eps:e}"))]), off);
    }
    for rule in [DfdxRule::Sgd, DfdxRule::Adam] {
        let task = Task { seed: 1, lr: rule.usual_rate(), rule };
        of_dfdx(rec, Model::Mlp, task, &batches, &[1, 2, 4])?;
        of_dfdx(rec, Model::Cnn, task, &batches[..5], &[2])?;
    }
    Ok(())
}

/// Replicas of a model of dfdx.
fn of_dfdx(
    rec: &mut Recorder,
    model: Model,
    task: Task,
    batches: &[Batch],
    ranks: &[usize],
) -> Result<()> {
    let wanted = dfdx::one_device(model, task, batches)?;
    for &ranks in ranks {
        let found =
            threads::run(ranks, |mut comm| dfdx::data_parallel(model, task, batches, &mut comm))?;
        apart(rec, (model.name(), task.rule.name(), "data", ranks), &wanted, &found[0]);
    }
    Ok(())
}

/// Images of one rank's batch in the claims, and of the whole batch where it does not grow.
pub const BATCH: usize = 64;
/// The learning rate of the claims.
pub const RATE: f64 = 0.1;
/// Numbers of ranks in the claims.
const RANKS: [usize; 4] = [1, 2, 4, 8];
/// Seeds of the claims.
const SEEDS: u64 = 5;
/// Epochs of the claims.
const EPOCHS: usize = 3;

/// What happens to batch and rate as ranks are added: the name, and whether each of them grows.
const HABITS: [(&str, bool, bool); 3] =
    [("same", false, false), ("grown", true, false), ("scaled", true, true)];

/// Each training of `plans`, from each of some seeds: by its plan, what was learned from each seed. `None`, and a note in the
/// records, where there is no MNIST.
fn from_seeds(
    rec: &mut Recorder,
    plans: &[(Quantity, Trial)],
    seeds: u64,
) -> Result<Option<(usize, Vec<Vec<Learned>>)>> {
    let Some(set) = rec.mnist(plans[0].0.key())? else { return Ok(None) };
    let (train, test) = (Examples::of(&set.train), Examples::of(&set.test));
    let seeds = if rec.budget == Budget::Full { seeds } else { 1 };
    let from = |(of, trial): &(Quantity, Trial), seed| {
        let job = Job { seed, ..trial.job.clone() };
        let seeded = of.key().params.contains(&"seed");
        let of = if seeded { of.clone().with("seed", seed) } else { of.clone() };
        (of, Trial { job, ..trial.clone() })
    };
    let trials: Vec<_> =
        plans.iter().flat_map(|plan| (0..seeds).map(move |seed| from(plan, seed))).collect();
    let work = |(_, trial): &(Quantity, Trial)| {
        learn(trial, &train, &test).map_err(|e| training::Error::Config(e.to_string()))
    };
    let tell = |_: &str, (of, _): &(Quantity, Trial)| rec.note_at(of);
    let learned = side_by_side(rec.device, &trials, work, tell)?;
    Ok(Some((train.len(), learned.chunks(seeds as usize).map(<[_]>::to_vec).collect())))
}

/// The accuracies of some trainings.
fn accuracies(learned: &[Learned]) -> Samples {
    Samples(learned.iter().map(|learned| learned.accuracy).collect())
}

fn claims(rec: &mut Recorder) -> Result<()> {
    let mut trials: Vec<(&str, Trial)> = Vec::new();
    for (habit, batch_grows, rate_grows) in HABITS {
        // With one rank nothing grows.
        for ranks in RANKS.into_iter().filter(|ranks| *ranks > 1 || habit == "same") {
            let factor = |grows| if grows { ranks } else { 1 };
            let (lr, batch) = (RATE * factor(rate_grows) as f64, BATCH * factor(batch_grows));
            let grid = Grid::replicas_of(ranks);
            trials.push((habit, Trial { grid, ..Trial::one(0, lr, batch, EPOCHS) }));
        }
    }
    for (name, stages, tensor) in [("layers", 2, 1), ("tensor", 1, 2)] {
        let grid = Grid { data: 1, stages, tensor };
        trials.push((name, Trial { grid, ..Trial::one(0, RATE, BATCH, EPOCHS) }));
    }
    let of = |key: Key, (how, trial): &(&str, Trial)| {
        key.at(&[("how", how), ("ranks", &trial.grid.ranks())])
    };
    let plans: Vec<_> = trials.iter().map(|plan| (of(CLAIMS, plan), plan.1.clone())).collect();
    let Some((images, learned)) = from_seeds(rec, &plans, SEEDS)? else { return Ok(()) };
    for (plan, mine) in trials.iter().zip(&learned) {
        rec.record(of(CLAIMS, plan), accuracies(mine));
        // The first is one device.
        let others = mine.iter().zip(&learned[0]).map(|(l, one)| read_differently(l, one) as f64);
        rec.record(of(READ_DIFFERENTLY, plan), Samples(others.collect()));
        rec.one(of(CLAIMED_STEPS, plan), (EPOCHS * images.div_ceil(plan.1.batch)) as f64);
    }
    Ok(())
}

/// The errors, as their table lists them.
const MISTAKES: [&str; 6] =
    ["none", "grown", "grown-and-scaled", "sum-of-means", "divided-twice", "all-at-once"];
/// The learning rates of these errors: a usual one, and one that is already large.
const MISTAKEN_RATES: [f64; 2] = [0.1, 1.0];
/// The numbers of ranks of these errors.
const MISTAKEN_RANKS: [usize; 2] = [2, 8];

/// A training with one of [`MISTAKES`].
fn mistaken(mistake: &str, ranks: usize, lr: f64) -> Trial {
    let (grid, grown) = (Grid::replicas_of(ranks), BATCH * ranks);
    let right = Trial { grid, ..Trial::one(0, lr, BATCH, EPOCHS) };
    match mistake {
        "grown" => Trial { batch: grown, ..right },
        "grown-and-scaled" => Trial { grid, ..Trial::one(0, lr * ranks as f64, grown, EPOCHS) },
        "sum-of-means" => Trial { sum: Sum::OfMeans, ..right },
        "divided-twice" => Trial { sum: Sum::DividedTwice, ..right },
        "all-at-once" => Trial { batch: grown, sum: Sum::DividedTwice, ..right },
        _ => right,
    }
}

fn mistakes(rec: &mut Recorder) -> Result<()> {
    let mut plans = Vec::new();
    for lr in MISTAKEN_RATES {
        for ranks in MISTAKEN_RANKS {
            plans.extend(MISTAKES.map(|mistake| {
                let list: ParamList = &[("mistake", &mistake), ("lr", &lr), ("ranks", &ranks)];
                (MISTAKEN.at(list), mistaken(mistake, ranks, lr))
            }));
        }
    }
    let Some((_, learned)) = from_seeds(rec, &plans, 3)? else { return Ok(()) };
    for ((of, _), learned) in plans.into_iter().zip(&learned) {
        rec.record(of, accuracies(learned));
    }
    Ok(())
}

/// Numbers of micro-batches of the pipeline.
pub const MICROS: [usize; 5] = [1, 2, 4, 8, 16];
/// Images of a micro-batch.
const MICRO_ROWS: usize = 64;
/// What a stage of the slow device takes, forward; backward takes twice as long.
const PACE: f64 = 4e-3;

/// Where a pipeline runs: on this CPU as fast as it can, or on devices that take a given time; the width of its layers, enough
/// work to measure on the CPU, and next to none where the pace is given; its numbers of stages, on the CPU with a core for
/// each; and how slow the first stage and the others are.
const DEVICES: [(&str, usize, &[usize], [f64; 2]); 3] = [
    ("cpu", 512, &[2], [0.0, 0.0]),
    ("equal", 16, &[2, 4], [1.0, 1.0]),
    ("unequal", 16, &[2, 4], [2.0, 1.0]),
];

fn pipeline(rec: &mut Recorder) -> Result<()> {
    let mut random = SplitMix64::new(7);
    let repeats = if rec.budget == Budget::Full { 7 } else { 3 };
    for (device, width, stages, slow) in DEVICES {
        let job = Job { network: Network::Dense(vec![width; 5]), seed: 1, rule: RULES[0] };
        let pace = |stage: usize| {
            let forward = slow[stage.min(1)] * PACE;
            Pace { forward, backward: 2.0 * forward }
        };
        for &stages in stages {
            let paces: Vec<_> = (0..stages).map(pace).collect();
            for micros in MICROS {
                let sizes = [width, width.min(200)];
                let batch = Batch::random(&mut random, MICRO_ROWS * micros, sizes);
                for schedule in Schedule::ALL {
                    let list: ParamList = &[
                        ("device", &device),
                        ("stages", &stages),
                        ("micros", &micros),
                        ("schedule", &schedule.name()),
                    ];
                    rec.note_at(PIPELINE.at(list));
                    let runs = piped(&job, &batch, (schedule, micros), &paces, repeats)?;
                    waited(rec, list, &runs, (schedule, stages, micros))?;
                }
            }
        }
    }
    Ok(())
}

/// One step of a pipeline: what every stage did when, and the most numbers that the first stage kept.
type Piped = (Vec<Slot>, usize);

/// Some steps of a pipeline, after one to warm up.
fn piped(
    job: &Job,
    batch: &Batch,
    order: (Schedule, usize),
    paces: &[Pace],
    repeats: usize,
) -> Result<Vec<Piped>> {
    let stages = paces.len();
    let since = Instant::now();
    let together = Barrier::new(stages);
    let ranks = threads::run(stages, |comm| {
        let pace = paces[comm.rank().0];
        let all = Strategy::Pipeline(order.0, order.1).settings(stages);
        let settings = Settings { pace, since, ..all };
        let member = Member::new(job, settings, comm);
        together.wait(); // all of them, or a failed one would be waited for
        let mut member = member?;
        let mut steps = Vec::new();
        for step in 0..=repeats {
            member.comm().barrier()?;
            member.step(batch)?;
            if step > 0 {
                let words = member.recorded().map_or(0, |loaded| kept(&loaded.calls));
                steps.push((member.slots(), words));
            }
        }
        Ok(steps)
    })?;
    let step = |at: usize| {
        let slots = ranks.iter().flat_map(|steps| steps[at].0.clone()).collect();
        (slots, ranks[0][at].1)
    };
    Ok((0..repeats).map(step).collect())
}

/// Records how long the ranks of a pipeline waited, and how long they should have.
fn waited(
    rec: &mut Recorder,
    list: ParamList,
    runs: &[Piped],
    (schedule, stages, micros): (Schedule, usize, usize),
) -> Result<()> {
    let mean = |shares: Vec<f64>| shares.iter().sum::<f64>() / shares.len() as f64;
    let measured = runs.iter().map(|(slots, _)| mean(idle(slots, stages))).collect();
    rec.record(PIPELINE.at(list), Samples(measured));
    // What each stage takes, as measured: the schedule says the rest.
    let takes = |stage, way| {
        let all = runs.iter().flat_map(|(slots, _)| slots);
        let mine = all.filter(|slot| slot.stage == stage && slot.work.direction == way);
        Samples(mine.map(|slot| slot.end - slot.start).collect()).median()
    };
    let seconds: Vec<(f64, f64)> = (0..stages)
        .map(|stage| (takes(stage, Direction::Forward), takes(stage, Direction::Backward)))
        .collect();
    let orders: Vec<Vec<Work>> =
        (0..stages).map(|stage| order(schedule, stage, stages, micros)).collect();
    rec.one(PIPELINE_PREDICTED.at(list), mean(idle(&timeline(&orders, &seconds)?, stages)));
    let peak = runs.iter().map(|(_, peak)| *peak).max().unwrap_or(0);
    rec.one(KEPT.at(list), 4.0 * peak as f64);
    Ok(())
}

/// The network of the `ZeRO` table: 535,818 parameters.
pub const ZERO_SIZES: [usize; 4] = [784, 512, 256, 10];

fn zero(rec: &mut Recorder) -> Result<()> {
    let job = Job { network: Network::Dense(ZERO_SIZES.to_vec()), seed: 1, rule: RULES[1] };
    let parameters = job.model()?.params.learned();
    // Only the second of the three layers has to come again: the first one's weights are not needed in the backward pass, and
    // the last ones are still there.
    let second = (ZERO_SIZES[1] + 1) * ZERO_SIZES[2];
    let examples = Examples::of(&rec.data_set()?.train.first(32));
    let batch = &taken(&examples, 32, 1)[0];
    for ranks in RANKS {
        for level in Level::ALL {
            let list: ParamList = &[("level", &level.number()), ("ranks", &ranks)];
            let counted = threads::run(ranks, |comm| {
                let settings = Strategy::Zero(level).settings(ranks);
                let mut member = Member::new(&job, settings, Counting::new(comm))?;
                member.step(batch)?;
                Ok((member.memory().total(), member.comm().traffic().bytes_sent))
            })?;
            let (held, sent): (Vec<usize>, Vec<usize>) = counted.into_iter().unzip();
            let most = |numbers: Vec<usize>| numbers.into_iter().max().unwrap_or(0) as f64;
            rec.one(ZERO.at(list), most(held));
            rec.one(ZERO_PREDICTED.at(list), predicted(level, parameters, ranks));
            rec.one(SENT.at(list), most(sent));
            // A ring takes 4 Ψ (p - 1) / p bytes each way; stage 3 gathers all layers, and some again.
            let ring = |numbers: usize| 4.0 * numbers as f64 * (ranks - 1) as f64 / ranks as f64;
            let again = if level == Level::Parameters { ring(second) } else { 0.0 };
            rec.one(SENT_PREDICTED.at(list), 2.0 * ring(parameters) + again);
        }
    }
    Ok(())
}

/// The network of the overlap: hidden layers of equal size, so that there is work to overlap with.
pub const OVERLAP_SIZES: [usize; 6] = [512, 512, 512, 512, 512, 10];
/// The wires: this machine's memory, and networks of 1 GB/s and 100 MB/s.
const WIRES: [(&str, AlphaBeta); 3] = [
    ("memory", AlphaBeta::NOTHING),
    ("1 GB/s", AlphaBeta { alpha: 1e-4, beta: 1e-9 }),
    ("100 MB/s", AlphaBeta { alpha: 1e-4, beta: 1e-8 }),
];
/// The buckets: each layer alone, two layers together, and all at the end.
const BUCKETS: [(&str, usize); 3] = [("layer", 1), ("2 MiB", 2 << 20), ("all", usize::MAX)];

fn overlapping(rec: &mut Recorder) -> Result<()> {
    const RANKS: usize = 2;
    let job = Job { network: Network::Dense(OVERLAP_SIZES.to_vec()), seed: 1, rule: RULES[0] };
    let mut random = SplitMix64::new(7);
    let batch = Batch::random(&mut random, 512, [OVERLAP_SIZES[0], 10]);
    let rounds = if rec.budget == Budget::Full { 15 } else { 4 };
    // In turns, so that what disturbs the machine disturbs all sides.
    let sides: Vec<(usize, usize)> =
        (0..WIRES.len()).flat_map(|wire| (0..BUCKETS.len()).map(move |b| (wire, b))).collect();
    let mut times: Vec<Vec<(Vec<f64>, f64)>> = vec![Vec::new(); sides.len()];
    for _ in 0..rounds {
        for (side, (wire, bucket)) in sides.iter().enumerate() {
            times[side].push(one_step(&job, &batch, WIRES[*wire].1, BUCKETS[*bucket].1, RANKS)?);
        }
    }
    let took = |side: usize| Samples(times[side].iter().map(|(_, all)| *all).collect());
    // Each layer's seconds, from the runs without other work: no wire, and nothing sent before the end.
    let quiet = &times[BUCKETS.len() - 1];
    let layers: Vec<(usize, f64)> = OVERLAP_SIZES
        .windows(2)
        .rev()
        .enumerate()
        .map(|(at, pair)| {
            let seconds = quiet.iter().map(|(layers, _)| layers[at]).collect();
            ((pair[0] + 1) * pair[1], Samples(seconds).median())
        })
        .collect();
    let backward: f64 = layers.iter().map(|layer| layer.1).sum();
    rec.one(BACKWARD.at(&[]), backward);
    // What memory itself takes for a byte of a message, from the same quiet runs; every wire has it on top.
    let numbers: usize = layers.iter().map(|layer| layer.0).sum();
    let one = AlphaBeta { alpha: 0.0, beta: 1.0 }.ring(4.0 * numbers as f64, RANKS);
    let copying = ((took(BUCKETS.len() - 1).median() - backward) / one).max(0.0);
    for (side, (wire, bucket)) in sides.iter().enumerate() {
        let ((name, cost), (text, bytes)) = (WIRES[*wire], BUCKETS[*bucket]);
        let list: ParamList = &[("wire", &name), ("bucket", &text), ("ranks", &RANKS)];
        rec.record(OVERLAP.at(list), took(side));
        let cost = AlphaBeta { beta: cost.beta + copying, ..cost };
        rec.one(OVERLAP_PREDICTED.at(list), predict(&layers, bytes, cost, RANKS));
        let last = wire * BUCKETS.len() + BUCKETS.len() - 1;
        rec.record(GAIN.at(list), took(last).paired(&took(side), |without, with| without / with));
    }
    Ok(())
}

/// Rank 0's second step of two behind its loss, in seconds: of each layer, and of all. The first one warms up.
fn one_step(
    job: &Job,
    batch: &Batch,
    cost: AlphaBeta,
    bucket: usize,
    ranks: usize,
) -> Result<(Vec<f64>, f64)> {
    let settings = Strategy::Overlap(bucket).settings(ranks);
    let mut times = threads::run(ranks, |comm| {
        let mut member = Member::new(job, settings, Wire::new(comm, cost))?;
        for clock in [false, true] {
            member.step.device.clock = clock;
            member.comm().barrier()?;
            member.step(batch)?;
        }
        Ok(member.recorded().map(|loaded| seconds(loaded.profile())).unwrap_or_default())
    })?;
    Ok(times.swap_remove(0))
}
