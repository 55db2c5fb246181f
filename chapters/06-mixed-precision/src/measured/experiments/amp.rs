//! What is measured: how large gradients are, what mixed precision costs and gains, and what happens without its parts.

use crate::amp::{
    self,
    ablations::{DEEP_BATCH, SETTINGS, Setting, Variant},
    deep::Deep,
    range::{Histogram, Shares},
    replica::{H, Half, HalfModel, halved, unscaled},
    scaler::{PYTORCH, Scaler, Scaling},
    step::Amp,
};
use dfdx::{losses::cross_entropy_with_logits_loss, prelude::*};
use lab::{
    Device, Experiment, Recorder, Result, Samples, data::DataSet, key::Quantity, record::ParamList,
};
use training::{
    Config, Error, Outcome, Precision, Settings, Silent,
    engine::Resident,
    mlp::Mlp,
    model::{self, Network},
    order::order,
    step::Stepper,
    studies::{accuracies, record_epochs, seeds, side_by_side},
};

lab::keys! {
    /// The fraction of a layer's gradients in a binade.
    pub GRADIENTS: measured "mixed_precision.gradients", Share, ["model", "layer", "step", "exponent"];
    /// What becomes of them in f16.
    pub SHARES: measured "mixed_precision.gradients.share", Share,
        ["model", "layer", "step", "scale", "from", "kind"];
    /// Test accuracy.
    RIGHT: measured "mixed_precision.amp", Share, ["precision", "device"];
    /// The accuracy after each epoch.
    CURVE: measured "mixed_precision.amp.curve", Share, ["precision", "device", "epoch"];
    /// What mixed precision changes in the accuracy, seed by seed, in percentage points.
    DIFFERENCE: measured "mixed_precision.amp.difference", Number, ["device"];
    LAST_SCALE: counted "mixed_precision.amp.scale", Count, ["device"];
    SKIPPED: counted "mixed_precision.amp.skipped", Count, ["device"];
    /// Test accuracy without a part.
    pub ABLATIONS: measured "mixed_precision.ablations", Share, ["setting", "variant"];
    /// Steps in which seeds reached NaN.
    pub FAILED: counted "mixed_precision.ablations.failed", Count, ["setting", "variant"];
    /// The accuracy after each epoch, without a part.
    ABLATION_CURVE: measured "mixed_precision.ablations.curve", Share, ["setting", "variant", "epoch"];
}

lab::keys! {
    /// Images a second.
    SPEED: measured "mixed_precision.amp.speed", ImagesPerSecond, ["precision", "device", "batch"];
    /// Over those in f32.
    SPEED_RATIO: measured "mixed_precision.amp.speed.ratio", Ratio, ["device", "batch"];
    /// Bytes for each parameter.
    MEMORY: counted "mixed_precision.amp.memory", Number, ["precision", "what"];
}

/// The experiments, in the order of the page.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full GRADIENTS.name => &[GRADIENTS, SHARES], gradients,
            "how large the gradients of each layer are, and what f16 makes of them with and without a scale";
        full RIGHT.name => &[RIGHT, CURVE, DIFFERENCE, LAST_SCALE, SKIPPED], accuracy,
            "whether mixed precision classifies MNIST as well as f32, from several seeds";
        full ABLATIONS.name => &[ABLATIONS, ABLATION_CURVE, FAILED], ablations,
            "what happens without each part of mixed precision, in three settings";
        full SPEED.name => &[SPEED, SPEED_RATIO], speed,
            "how many images a second f32 and mixed precision train on";
        quick MEMORY.name => &[MEMORY], memory,
            "how many bytes weights, gradients and means take in f32 and in mixed precision";
    }
}

/// Steps whose gradients are measured: the first, and the last of the deep network's first epoch.
pub const LOOKS: [usize; 2] = [1, 15];
/// The factor whose effect is shown: PyTorch's first one.
pub const SCALE: f32 = PYTORCH.start;
/// The tensors that are measured, of each model.
pub const LAYERS: [(&str, &[&str]); 2] = [
    ("mlp", &["0.0.weight", "2.weight"]),
    ("deep", &["layers.0.0.weight", "layers.1.3.0.weight", "layers.2.weight"]),
];

/// Each tensor's gradients: its name and its numbers, in f32.
pub type Named = Vec<(String, Vec<f32>)>;

/// Numbers of a model by their tensors' names.
fn named<M: Network<Cpu>>(model: &M, values: &[f32]) -> Result<Named, Error> {
    let mut rest = values;
    let tensors = model::tensors(model)?.into_iter().map(|(name, shape)| {
        let (mine, others) = rest.split_at(shape.iter().product());
        rest = others;
        (name, mine.to_vec())
    });
    Ok(tensors.collect())
}

/// The gradients of one batch: in f32, in f16 without a factor, and in f16 with [`SCALE`].
pub struct Look {
    /// In f32.
    pub full: Named,
    /// In f16, without the factor and with it.
    pub half: [Named; 2],
}

/// Trains in mixed precision, and measures the gradients of the steps in [`LOOKS`].
///
/// # Errors
/// [`Error::Device`].
pub fn looks<M>(data: &DataSet, batch: usize, seed: u64) -> Result<Vec<Look>, Error>
where
    M: Network<Cpu>,
    Half<M, Cpu>: HalfModel<Cpu> + TensorCollection<H, Cpu, To<f32, Cpu> = M>,
{
    let dev = Cpu::seed_from_u64(seed);
    // Without dropout all three see the same network.
    let settings = Settings { batch, dropout: 0.0, seed, ..Settings::default() };
    let mut amp = Amp::<M, Cpu>::new(&dev, &settings)?;
    let train = Resident::new(&dev, &data.train)?;
    let order = order(seed, 1, train.len());
    let mut found = Vec::new();
    for (step, index) in (1..=LOOKS[1]).zip(order.chunks(settings.batch)) {
        let (images, targets) = (train.images(index)?, train.targets(index)?);
        if LOOKS.contains(&step) {
            let model = &mut amp.master.model;
            let grads = model.try_alloc_grads().map_err(Error::device)?;
            let scores = model.learn(images.clone().traced(grads)).map_err(Error::device)?;
            let loss = cross_entropy_with_logits_loss(scores, targets.clone());
            let full = loss.try_backward().map_err(Error::device)?;
            let full = model::gradients(&amp.master.model, &full)?;
            let full = named(&amp.master.model, &full)?;
            let mut half = halved(&amp.master.model)?;
            let state = amp.scaler;
            let mut at = |scale: f32| {
                amp.scaler = Scaler::new(Scaling::Static(scale));
                let (_, grads) = amp
                    .passes(&mut half, images.clone(), targets.clone())
                    .map_err(Error::device)?;
                let model = unscaled::<M, Cpu>(&half, &grads, scale).map_err(Error::device)?;
                let overflow = || Error::Config("a gradient overflowed".into());
                let model = model.ok_or_else(overflow)?;
                named(&model, &model::parameters(&model)?)
            };
            let half = [at(1.0)?, at(SCALE)?];
            amp.scaler = state;
            found.push(Look { full, half });
        }
        amp.step(settings.lr, images, targets)?;
    }
    Ok(found)
}

fn gradients(rec: &mut Recorder) -> Result<()> {
    let Some(data) = rec.mnist(GRADIENTS)? else { return Ok(()) };
    for (model, layers) in LAYERS {
        let of = |seed: &u64| match model {
            "deep" => looks::<Deep<f32, Cpu>>(&data, DEEP_BATCH, *seed),
            _ => looks::<Mlp<Cpu>>(&data, Settings::default().batch, *seed),
        };
        let tell =
            |run: &str, _: &u64| rec.note(GRADIENTS.name, &[("model", &model), ("run", &run)]);
        let all = side_by_side(Device::Cpu, &[0, 1, 2], of, tell)?;
        for (at, step) in LOOKS.into_iter().enumerate() {
            for layer in layers {
                let pick = |of: fn(&Look) -> &Named| -> Vec<&[f32]> {
                    let looks = all.iter().filter_map(|looks| looks.get(at));
                    let named = looks.filter_map(|look| of(look).iter().find(|(n, _)| n == layer));
                    named.map(|(_, numbers)| &numbers[..]).collect()
                };
                let full = pick(|look| &look.full);
                let list: ParamList = &[("model", &model), ("layer", layer), ("step", &step)];
                record_histogram(rec, &GRADIENTS.at(list), &full);
                let halves =
                    [(1.0, pick(|look| &look.half[0])), (SCALE, pick(|look| &look.half[1]))];
                for (scale, half) in halves {
                    record_shares(rec, &SHARES.at(list), scale, (&full, &half));
                }
            }
        }
    }
    Ok(())
}

/// The fraction of the gradients that are not zero in each bin.
pub fn record_histogram(rec: &mut Recorder, of_layer: &Quantity, full: &[&[f32]]) {
    let histograms: Vec<Histogram> = full.iter().map(|numbers| Histogram::of(numbers)).collect();
    let bins = histograms.iter().flat_map(|h| h.counts.keys());
    let (low, high) = bins.fold((0, -60), |(low, high), e| (low.min(*e), high.max(*e)));
    for exponent in low.max(-60)..=high {
        let shares = histograms.iter().map(|h| h.share(exponent)).collect();
        rec.record(of_layer.clone().with("exponent", exponent), Samples(shares));
    }
}

/// One of the fractions.
type Share = fn(&Shares) -> f64;

/// What the f32 gradients would become in f16, and what the f16 ones did become.
pub fn record_shares(
    rec: &mut Recorder,
    of_layer: &Quantity,
    scale: f32,
    (full, half): (&[&[f32]], &[&[f32]]),
) {
    let predicted: Vec<Shares> = full.iter().map(|numbers| Shares::of(numbers, scale)).collect();
    let measured: Vec<Shares> = full
        .iter()
        .zip(half)
        .map(|(full, half)| {
            let shares = Shares::of(half, scale);
            // A zero that is nonzero in f32 has vanished.
            let zero = full.iter().zip(*half).filter(|(f, _)| **f == 0.0).count();
            let zero = zero as f64 / full.len().max(1) as f64;
            Shares { zero, vanished: (shares.zero - zero).max(0.0), ..shares }
        })
        .collect();
    let kinds: [(&str, Share); 4] = [
        ("zero", |s| s.zero),
        ("vanished", |s| s.vanished),
        ("subnormal", |s| s.subnormal),
        ("normal", |s| s.normal),
    ];
    for (from, shares) in [("predicted", predicted), ("measured", measured)] {
        for (kind, of) in kinds {
            let quantity = of_layer.clone().with("scale", scale).with("from", from);
            let shares = Samples(shares.iter().map(of).collect());
            rec.record(quantity.with("kind", kind), shares);
        }
    }
}

/// What is compared: f32, and its copy in f16.
const COMPARED: [Precision; 2] = [Precision::F32, Precision::Amp];

/// Seeds of the comparison.
const SEEDS: u64 = 5;

fn accuracy(rec: &mut Recorder) -> Result<()> {
    let Some(data) = rec.mnist(RIGHT)? else { return Ok(()) };
    let device = rec.device;
    let jobs: Vec<Settings> = COMPARED
        .into_iter()
        .flat_map(|precision| seeds(&Settings { precision, ..Settings::default() }, SEEDS))
        .collect();
    let work = |settings: &Settings| {
        let config = Config { settings: settings.clone(), device, ..Config::default() };
        amp::train_on(&config, &data, &mut Silent)
    };
    let tell = |run: &str, Settings { precision, seed, .. }: &Settings| {
        rec.note(RIGHT.name, &[("run", &run), ("precision", precision), ("seed", seed)]);
    };
    let runs = side_by_side(device, &jobs, work, tell)?;
    let (full, half) = runs.split_at(SEEDS as usize);
    for (precision, runs) in [(Precision::F32, full), (Precision::Amp, half)] {
        let list: ParamList = &[("precision", &precision), ("device", &device)];
        rec.record(RIGHT.at(list), accuracies(runs));
        record_epochs(rec, &CURVE.at(list), runs, |epoch| epoch.test_accuracy);
    }
    let list: ParamList = &[("device", &device)];
    let points = accuracies(half).paired(&accuracies(full), |half, full| 100.0 * (half - full));
    rec.record(DIFFERENCE.at(list), points);
    let ends = || half.iter().filter_map(|run| run.loss_scale);
    let scales = ends().map(|end| f64::from(end.scale)).collect();
    rec.record(LAST_SCALE.at(list), Samples(scales));
    let skipped = ends().map(|end| f64::from(end.skipped)).collect();
    rec.record(SKIPPED.at(list), Samples(skipped));
    Ok(())
}

/// Seeds of each ablation.
pub const ABLATION_SEEDS: u64 = 3;

fn ablations(rec: &mut Recorder) -> Result<()> {
    let Some(data) = rec.mnist(ABLATIONS)? else { return Ok(()) };
    let variants = SETTINGS.iter().flat_map(|s| s.variants.iter().map(move |v| (*s, *v)));
    let jobs: Vec<(Setting, Variant, u64)> =
        variants.flat_map(|(s, v)| (0..ABLATION_SEEDS).map(move |seed| (s, v, seed))).collect();
    let work = |(setting, variant, seed): &(Setting, Variant, u64)| {
        match setting.train(*variant, *seed, &data) {
            Ok(outcome) => Ok(Ok(outcome)),
            // A loss of NaN is what is to be shown.
            Err(Error::Diverged { epoch, step, .. }) => Ok(Err((epoch, step))),
            Err(error) => Err(error),
        }
    };
    let tell = |run: &str, (setting, variant, seed): &(Setting, Variant, u64)| {
        let list: ParamList =
            &[("run", &run), ("setting", &setting.name), ("variant", variant), ("seed", seed)];
        rec.note(ABLATIONS.name, list);
    };
    let results = side_by_side(Device::Cpu, &jobs, work, tell)?;
    let results = jobs.chunks(ABLATION_SEEDS as usize).zip(results.chunks(ABLATION_SEEDS as usize));
    for (jobs, results) in results {
        let (setting, variant, _) = jobs[0];
        let list: ParamList = &[("setting", &setting.name), ("variant", &variant)];
        let failed = results.iter().filter_map(|result| result.as_ref().err());
        let failed: Vec<f64> = failed.map(|(_, step)| *step as f64).collect();
        if !failed.is_empty() {
            rec.record(FAILED.at(list), Samples(failed));
            continue;
        }
        let runs: Vec<Outcome> = results.iter().filter_map(|r| r.as_ref().ok()).cloned().collect();
        rec.record(ABLATIONS.at(list), accuracies(&runs));
        record_epochs(rec, &ABLATION_CURVE.at(list), &runs, |epoch| epoch.test_accuracy);
    }
    Ok(())
}

/// Batches to time.
const BATCHES: [usize; 3] = [32, 128, 512];

fn speed(rec: &mut Recorder) -> Result<()> {
    let data = rec.data_set()?;
    let data = DataSet { test: data.test.first(10), ..data };
    // The device that was asked for comes first, and what is measured is not lost with what may take too long.
    let mut devices = vec![rec.device];
    if rec.device == Device::Cpu {
        let why = "this run has no GPU that the build can use";
        rec.skip_at(SPEED.at(&[("device", &"cuda")]), why);
    } else {
        devices.push(Device::Cpu);
    }
    for device in devices {
        for batch in BATCHES {
            let list: ParamList = &[("device", &device), ("batch", &batch)];
            let mut medians = Vec::new();
            for precision in COMPARED {
                let quantity = SPEED.at(list).with("precision", precision);
                rec.note_at(&quantity);
                let limit = Some(batch * (6400 / batch).max(8));
                let settings =
                    Settings { precision, batch, limit, epochs: 6, ..Settings::default() };
                let config = Config { settings, device, ..Config::default() };
                let outcome = amp::train_on(&config, &data, &mut Silent)?;
                // The first epoch warms up.
                let rates = outcome.history.iter().skip(1).map(|epoch| epoch.images_per_second);
                medians.push(rec.record(quantity, Samples(rates.collect())));
            }
            if let [full, half] = medians[..] {
                rec.one(SPEED_RATIO.at(list), half / full);
            }
            rec.keep()?;
        }
    }
    Ok(())
}

fn memory(rec: &mut Recorder) -> Result<()> {
    let counted = counted()?;
    let all = counted.iter().fold((0.0, 0.0), |all, (_, f32, amp)| (all.0 + f32, all.1 + amp));
    for (what, f32, amp) in counted.into_iter().chain([("all", all.0, all.1)]) {
        for (precision, bytes) in [(Precision::F32, f32), (Precision::Amp, amp)] {
            rec.one(MEMORY.at(&[("precision", &precision), ("what", &what)]), bytes);
        }
    }
    Ok(())
}

/// What a step holds, and its bytes for each parameter in f32 and in mixed precision: counted on a model that takes a
/// step.
///
/// # Errors
/// [`Error::Device`].
pub fn counted() -> Result<[(&'static str, f64, f64); 5], Error> {
    let dev = Cpu::seed_from_u64(0);
    let mut amp = Amp::<Mlp<Cpu>, Cpu>::new(&dev, &Settings::default())?;
    let data = lab::data::drawn(32, 10, 0);
    let train = Resident::new(&dev, &data.train)?;
    let index: Vec<usize> = (0..train.len()).collect();
    let (images, targets) = (train.images(&index)?, train.targets(&index)?);
    amp.step(1e-3, images, targets)?;
    let half = halved(&amp.master.model)?;
    let parameters = amp.learned() as f64;
    let size = |numbers: usize| (size_of::<f32>() * numbers) as f64 / parameters;
    // A gradient is of its parameter's type.
    let narrow = (size_of::<H>() * half.num_trainable_params()) as f64 / parameters;
    let wide = size(amp.parameters()?.len());
    let means = size(amp.state()?.slots.iter().map(Vec::len).sum());
    Ok([
        ("weights in f32", wide, wide),
        ("weights in f16", 0.0, narrow),
        ("gradients in f16", 0.0, narrow),
        // Out of f16, and again in the buffer that dfdx's optimizer reads: both exist for a moment.
        ("gradients in f32", wide, 2.0 * wide),
        ("Adam's means", means, means),
    ])
}
