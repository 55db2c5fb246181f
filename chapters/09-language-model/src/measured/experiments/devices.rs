//! The training step on many devices: whether each split is equal to one device, what its ranks send and hold, how long a
//! step takes on threads, and what chapter 7's cost model and planner say of it.

use super::{
    count::{BATCH, SIZES},
    step::{stream, timed},
};
use crate::{
    Config, Model, Result,
    count::{Bytes, Operations, Parameters, six_n_d},
    devices::{How, how, replicas},
    train::{Backend as _, Settings, Trainer},
};
use backprop::{check::error_f32, fits::Moves};
use lab::{Budget, Experiment, Key, Plan, Recorder, Samples, record::ParamList};
use matmul::{parallel::available, roofline::read_bandwidth};
use multi_gpu::{
    comm::cost::AlphaBeta,
    measured::experiments::plan::link,
    plan::{
        cards::{self, Card},
        model::{Precision, Workload},
        network::Network,
        search::{self, Question},
        split::Split,
        why,
    },
};
use performance::gpu::cost::Cost;

lab::keys! {
    /// Bytes that the rank that sends most sends in a step.
    pub SENT: counted "language_model.devices", Bytes, ["size", "how", "ranks"];
    /// Bytes on the fullest rank.
    pub HELD: counted "language_model.devices.held", Bytes, ["size", "how", "ranks", "part"];
    /// How far the parameters are from one device's after [`STEPS`], over their length.
    pub APART: measured "language_model.devices.apart", Number, ["how", "ranks"];
    /// The largest relative difference of a loss on the way.
    pub LOSSES: measured "language_model.devices.losses", Number, ["how", "ranks"];
    /// Seconds of a step.
    pub SECONDS: measured "language_model.devices.time", Seconds, ["size", "how", "ranks"];
    /// One device's seconds, on one core, over these.
    pub RATIO: measured "language_model.devices.ratio", Ratio, ["size", "how", "ranks"];
    /// What the planner predicts for these ranks on these cores.
    pub PREDICTED: calculated "language_model.devices.predicted", Seconds, ["size", "how", "ranks"];
    /// How far off it is, relative to what was measured.
    pub ERROR: calculated "language_model.devices.error", Share, ["size", "how", "ranks"];
    /// Operations of a rank for each byte that it sends in a data parallel step.
    pub PER_BYTE: calculated "language_model.cards.per_byte", Number, ["model", "ranks"];
    /// The part of a data parallel step of two ranks that is communication, by latency and bandwidth.
    pub SHARE: calculated "language_model.devices.share", Share, ["model", "link"];
    /// One H200's simulated seconds for a data parallel step over those of more.
    pub CARDS: calculated "language_model.cards", Ratio, ["model", "cards"];
    /// The planner's best split over eight H200: seconds of a step.
    pub PLAN: calculated "language_model.cards.plan", Seconds, ["model"];
}

/// Numbers of ranks.
pub const RANKS: [usize; 3] = [1, 2, 4];
/// Steps over which a split is compared with one device.
pub const STEPS: u64 = 10;
/// Numbers of simulated cards.
pub const SIMULATED: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The cards that are planned for.
pub const PLANNED: usize = 8;
/// What a rank holds, part by part.
pub const PARTS: [&str; 5] = ["parameters", "gradient", "moments", "activations", "all"];

/// A step that is simulated on cards: its name in records, in words, the planner's name of its model, examples of a batch.
pub const JOBS: [(&str, &str, &str, usize); 4] = [
    ("mlp", "the MLP, 128 images", "mlp", 128),
    ("small", "small, 16 sequences", SMALL, 16),
    ("small-512", "small, 512 sequences", SMALL, 512),
    ("gpt-2", "GPT-2, 512 sequences", GPT2, 512),
];
/// [`Config::small`] for the planner, whose feed-forward parts have four times the width; ours have as many parameters.
const SMALL: &str = "gpt:layers=6,width=256,heads=8,sequence=256,vocabulary=2048";
/// GPT-2's smallest model (Radford et al. 2019, table 2).
const GPT2: &str = "gpt:layers=12,width=768,heads=12,sequence=1024,vocabulary=50257";

/// The experiments of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full SENT.name =>
            &[SENT, HELD, APART, LOSSES, SECONDS, RATIO, PREDICTED, ERROR, SHARE],
            |r| Ok(run(r)?),
            "a step split over ranks four ways: equal to one device, the bytes sent and held, and its time";
        quick CARDS.name => &[CARDS, PLAN, PER_BYTE], |r| Ok(simulated(r)?),
            "what more H200 gain for a digit classifier and for language models, simulated and planned";
    }
}

fn settings(config: &Config, batch: usize) -> Settings {
    Settings { batch, length: config.context, lr: 1e-3, ..Settings::default() }
}

fn run(r: &mut Recorder) -> Result<()> {
    let link = link(2, 25)?;
    let [(size, split), (larger, config)] = SIZES;
    steps(r, size, split(), link)?;
    r.keep()?;
    equality(r, split())?;
    r.keep()?;
    // The larger one on one core alone: its splits take minutes, and send and hold what the formulas say.
    let list: ParamList = &[("size", &larger), ("how", &"one"), ("ranks", &1)];
    r.note_at(SECONDS.at(list));
    let config = config();
    let text = stream(config.vocabulary, 50_000);
    let one = r.record(SECONDS.at(list), trainer(config, settings(&config, BATCH), &text, (1, 3))?);
    let tokens = (BATCH * config.context) as f64;
    shares(r, link, Operations::of(&config, config.context).training() * tokens / one)
}

/// Each split against one device.
///
/// # Errors
/// If it can't be measured.
pub fn equality(r: &mut Recorder, config: Config) -> Result<()> {
    let (settings, text) = (settings(&config, 6), stream(config.vocabulary, 20_000));
    let mut trainer = Trainer::new(Model::new(config, 1)?, settings, &text, 1)?;
    let losses = (0..STEPS).map(|_| Ok(trainer.step(&text)?.loss)).collect::<Result<Vec<_>>>()?;
    for how in How::ALL {
        for ranks in RANKS {
            let list: ParamList = &[("how", &how.name()), ("ranks", &ranks)];
            r.note_at(APART.at(list));
            let start = Model::new(config, 1)?;
            let ran = how::train(how, &start, settings, &text, (ranks, STEPS))?;
            r.one(APART.at(list), error_f32(&ran.parameters[0], &trainer.model().parameters));
            r.one(LOSSES.at(list), apart(&ran.losses, &losses));
        }
    }
    // And what the command runs.
    let mut again = Trainer::new(Model::new(config, 1)?, settings, &text, 1)?;
    let ran = replicas::threads(2, None, |team| {
        let mut replicas = team.lead(&again)?;
        let ran = (0..STEPS).map(|_| Ok(replicas.step(&text)?.loss)).collect::<Result<Vec<_>>>();
        replicas.hand_back(&mut again)?;
        ran
    })?;
    let list: ParamList = &[("how", &"replicas"), ("ranks", &2)];
    r.one(APART.at(list), error_f32(&again.model().parameters, &trainer.model().parameters));
    r.one(LOSSES.at(list), apart(&ran, &losses));
    Ok(())
}

/// The largest relative difference of two losses.
fn apart(found: &[f64], wanted: &[f64]) -> f64 {
    found.iter().zip(wanted).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max)
}

/// A size's steps: one device's, and those of each split.
///
/// # Errors
/// If it can't be measured.
pub fn steps(r: &mut Recorder, size: &str, config: Config, link: AlphaBeta) -> Result<()> {
    let steps = if r.budget == Budget::Full { 6 } else { 3 };
    let (settings, text) = (settings(&config, BATCH), stream(config.vocabulary, 50_000));
    let alone: ParamList = &[("size", &size), ("ranks", &1)];
    r.note_at(SECONDS.at(alone).with("how", "one"));
    let one = trainer(config, settings, &text, (1, steps))?;
    let seconds = one.median();
    r.record(SECONDS.at(alone).with("how", "one"), one);
    let all = trainer(config, settings, &text, (available(), steps))?;
    let at = |key: Key| key.at(alone).with("how", "threads");
    r.record(at(RATIO), all.clone().map(|s| seconds / s));
    r.record(at(SECONDS), all);
    let read = read_bandwidth(Plan::QUICK, 4 * Parameters::of(&config).all() as usize).median();
    let planner = Planner { config, link, seconds, read };
    for how in How::ALL {
        for ranks in RANKS {
            let list: ParamList = &[("size", &size), ("how", &how.name()), ("ranks", &ranks)];
            r.note_at(SECONDS.at(list));
            let start = Model::new(config, 1)?;
            let ran = how::train(how, &start, settings, &text, (ranks, steps))?;
            let sent = ran.traffic.iter().map(|traffic| traffic.bytes_sent).max();
            r.one(SENT.at(list), sent.unwrap_or(0) as f64);
            if let Some(fullest) = ran.bytes.iter().max_by_key(|bytes| bytes.all()) {
                for (part, bytes) in PARTS.into_iter().zip(parts(fullest)) {
                    r.one(HELD.at(list).with("part", part), bytes as f64);
                }
            }
            let took = Samples(ran.seconds[1..].to_vec()); // the first one reserves memory
            let predicted = planner.seconds(how, ranks)?;
            r.one(PREDICTED.at(list), predicted);
            r.one(ERROR.at(list), (predicted / took.median() - 1.0).abs());
            r.record(RATIO.at(list), took.clone().map(|s| seconds / s));
            r.record(SECONDS.at(list), took);
        }
    }
    Ok(())
}

/// In the order of [`PARTS`].
fn parts(bytes: &Bytes) -> [u64; 5] {
    let activations = bytes.activations + bytes.group;
    [bytes.parameters, bytes.gradient, bytes.moments, activations, bytes.all()]
}

/// Seconds of a trainer's steps, the first one, which reserves memory, left out.
pub(super) fn trainer(
    config: Config,
    settings: Settings,
    text: &[u32],
    (threads, steps): (usize, u64),
) -> Result<Samples> {
    let mut trainer = Trainer::new(Model::new(config, 1)?, settings, text, threads)?;
    Ok(Samples(timed(&mut trainer, text, steps)?.split_off(1)))
}

/// Chapter 7's planner, told what was measured of these cores.
pub struct Planner {
    /// The model.
    pub config: Config,
    /// The link between ranks.
    pub link: AlphaBeta,
    /// One core's seconds for a step.
    pub seconds: f64,
    /// Bytes a second that one core reads.
    pub read: f64,
}

impl Planner {
    /// A rank as a card. Ranks beyond the cores share them.
    fn question(&self, ranks: usize, flops: f64) -> Result<Question> {
        let Config { vocabulary, context, width, heads, layers, .. } = self.config;
        let name = format!(
            "gpt:layers={layers},width={width},heads={heads},sequence={context},vocabulary={vocabulary}"
        );
        let work = Workload::named(&name, Moves::Adam)?;
        let work = Workload { precision: Precision::single(Moves::Adam), ..work };
        let own = (available() as f64 / ranks as f64).min(1.0);
        let card = Card {
            name: "a core".to_owned(),
            memory: f64::INFINITY,
            flops: own * flops,
            flops_f32: own * flops,
            bandwidth: own * self.read,
            attained: 1.0,
            kernel: Cost { start: 0.0, operation: 0.0, term: 0.0 }, // calls of functions
            network: Network { island: 8, ..Network::flat(self.link) },
        };
        Ok(Question { work, card, cards: ranks, batch: BATCH })
    }

    /// The rate at which the planner's step of one core takes what was measured: its share of arithmetic at this rate.
    fn rate(&self) -> Result<f64> {
        let guess = self.question(1, 1.0)?;
        let terms = search::one(&guess, Split::ONE)?.terms;
        Ok(terms.compute / (self.seconds - terms.update).max(0.1 * self.seconds))
    }

    /// What it predicts.
    ///
    /// # Errors
    /// The planner's.
    pub fn seconds(&self, how: How, ranks: usize) -> Result<f64> {
        let split = match how {
            How::Data => Split { data: ranks, ..Split::ONE },
            How::Zero => Split { data: ranks, zero: u8::from(ranks > 1), ..Split::ONE },
            How::Tensor => Split { tensor: ranks, ..Split::ONE },
            How::Pipeline => {
                let micro_batches = if ranks > 1 { how::MICROS } else { 1 };
                Split { pipeline: ranks, micro_batches, ..Split::ONE }
            }
        };
        Ok(search::one(&self.question(ranks, self.rate()?)?, split)?.terms.total())
    }
}

/// The part of a step of two ranks that a ring takes, where a rank computes at `rate`.
fn shares(r: &mut Recorder, threads: AlphaBeta, rate: f64) -> Result<()> {
    let ethernet = cards::network("ethernet")?.between;
    for (link, cost) in [("threads", threads), ("ethernet", ethernet)] {
        for (model, parameters, examples) in models()? {
            let compute = six_n_d(parameters, examples) / (2.0 * rate);
            let ring = cost.ring(4.0 * parameters as f64, 2);
            let list: ParamList = &[("model", &model), ("link", &link)];
            r.one(SHARE.at(list), ring / (ring + compute));
        }
    }
    Ok(())
}

/// Models by name, with their parameters, and the examples (images, tokens) of a batch.
///
/// # Errors
/// None of its own: the names are known.
pub fn models() -> Result<[(&'static str, u64, f64); 3]> {
    let mlp = why::workload("mlp")?.parameters() as u64;
    let [tiny, small] = SIZES.map(|(name, config)| {
        let config = config();
        (name, Parameters::of(&config).all(), (BATCH * config.context) as f64)
    });
    Ok([("mlp", mlp, 128.0), tiny, small])
}

fn simulated(r: &mut Recorder) -> Result<()> {
    for (model, parameters, examples) in models()? {
        for ranks in RANKS.into_iter().filter(|ranks| *ranks > 1) {
            // Six operations a parameter and example on each rank, over what a ring sends.
            let p = ranks as f64;
            let operations = six_n_d(parameters, examples) / p;
            let sent = 2.0 * (p - 1.0) / p * 4.0 * parameters as f64;
            let list: ParamList = &[("model", &model), ("ranks", &ranks)];
            r.one(PER_BYTE.at(list), operations / sent);
        }
    }
    for (model, _, name, batch) in JOBS {
        let one = why::step(name, batch, 1)?.total;
        for cards in SIMULATED {
            let gain = one / why::step(name, batch, cards)?.total;
            let list: ParamList = &[("model", &model), ("cards", &cards)];
            r.one(CARDS.at(list), gain);
        }
        let plan = search::best(&question(name, batch)?)?;
        r.one(PLAN.at(&[("model", &model)]), plan.best.terms.total());
    }
    Ok(())
}

/// A job over [`PLANNED`] H200.
///
/// # Errors
/// None of its own: the names are known.
pub fn question(name: &str, batch: usize) -> Result<Question> {
    let card = Card::named("h200")?;
    Ok(Question { work: why::workload(name)?, card, cards: PLANNED, batch })
}
