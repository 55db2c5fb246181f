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
    Budget, Device, Experiment, Key, Recorder, Result, Samples, Unit, data::DataSet,
    record::ParamList,
};
use training::{
    Config, Error, Outcome, Precision, Settings, Silent,
    engine::Resident,
    mlp::Mlp,
    model::{self, Network},
    order::order,
    step::Stepper,
    studies::{accuracies, at_epoch, mnist, seeds, side_by_side},
};

/// The share of a layer's gradients in a binade.
pub const GRADIENTS: Key = Key::measured(
    "mixed_precision.gradients",
    Unit::Share,
    &["model", "layer", "step", "exponent"],
);
/// What becomes of them in f16.
pub const SHARES: Key = Key::measured(
    "mixed_precision.gradients.share",
    Unit::Share,
    &["model", "layer", "step", "scale", "from", "kind"],
);
/// The accuracy after each epoch.
pub const CURVE: Key =
    Key::measured("mixed_precision.amp.curve", Unit::Share, &["precision", "device", "epoch"]);
/// The same, without a part.
pub const ABLATION_CURVE: Key =
    Key::measured("mixed_precision.ablations.curve", Unit::Share, &["setting", "variant", "epoch"]);

/// The experiments, in the order of the page.
pub fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            key: GRADIENTS.name,
            shows: "how large the gradients of each layer are, and what f16 makes of them with and without a scale",
            values: &[GRADIENTS.name, SHARES.name],
            quick: false,
            run: gradients,
        },
        Experiment {
            key: "mixed_precision.amp",
            shows: "whether mixed precision reads MNIST as well as f32, from several seeds",
            values: &[
                "mixed_precision.amp",
                CURVE.name,
                "mixed_precision.amp.difference",
                "mixed_precision.amp.scale",
                "mixed_precision.amp.skipped",
            ],
            quick: false,
            run: accuracy,
        },
        Experiment {
            key: "mixed_precision.ablations",
            shows: "what happens without each part of mixed precision, in three settings",
            values: &[
                "mixed_precision.ablations",
                ABLATION_CURVE.name,
                "mixed_precision.ablations.failed",
            ],
            quick: false,
            run: ablations,
        },
        Experiment {
            key: "mixed_precision.amp.speed",
            shows: "how many pictures f32 and mixed precision learn from in a second",
            values: &["mixed_precision.amp.speed", "mixed_precision.amp.speed.ratio"],
            quick: false,
            run: speed,
        },
        Experiment {
            key: "mixed_precision.amp.memory",
            shows: "how many bytes weights, gradients and means take in f32 and in mixed precision",
            values: &["mixed_precision.amp.memory"],
            quick: true,
            run: memory,
        },
    ]
}

/// Steps whose gradients are looked at: the first, and the last of the deep network's first epoch.
pub const LOOKS: [usize; 2] = [1, 15];
/// The factor whose effect is shown: PyTorch's first one.
pub const SCALE: f32 = PYTORCH.start;
/// The tensors that are looked at, of each model.
pub const LAYERS: [(&str, &[&str]); 2] = [
    ("mlp", &["0.0.weight", "2.weight"]),
    ("deep", &["layers.0.0.weight", "layers.1.3.0.weight", "layers.2.weight"]),
];

/// Each tensor's gradients: its name and its numbers, in f32.
type Named = Vec<(String, Vec<f32>)>;

/// The numbers of a model by their tensors' names.
fn named<M: Network<Cpu>>(model: &M) -> Result<Named, Error> {
    let values = model::parameters(model)?;
    let mut rest = &values[..];
    let tensors = model::tensors(model)?.into_iter().map(|(name, shape)| {
        let (mine, others) = rest.split_at(shape.iter().product());
        rest = others;
        (name, mine.to_vec())
    });
    Ok(tensors.collect())
}

/// The gradients of one batch: in f32, in f16 without a factor, and in f16 with [`SCALE`].
struct Look {
    full: Named,
    half: [Named; 2],
}

/// Trains in mixed precision, and looks at the gradients of the steps in [`LOOKS`].
fn looks<M>(data: &DataSet, batch: usize, seed: u64) -> Result<Vec<Look>, Error>
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
            let full = named(&in_place_of(&amp.master.model, &full)?)?;
            let mut half = halved(&amp.master.model)?;
            let state = amp.scaler;
            let mut at = |scale: f32| {
                amp.scaler = Scaler::new(Scaling::Static(scale));
                let (_, grads) = amp
                    .gradients(&mut half, images.clone(), targets.clone())
                    .map_err(Error::device)?;
                let model = unscaled::<M, Cpu>(&half, &grads, scale).map_err(Error::device)?;
                let overflow = || Error::Config("a gradient overflowed".into());
                named(&model.ok_or_else(overflow)?)
            };
            let half = [at(1.0)?, at(SCALE)?];
            amp.scaler = state;
            found.push(Look { full, half });
        }
        amp.step(settings.lr, images, targets)?;
    }
    Ok(found)
}

/// Gradients as the numbers of a model.
struct InPlaceOf<'g>(&'g Gradients<f32, Cpu>);

impl TensorVisitor<f32, Cpu> for InPlaceOf<'_> {
    type Viewer = ViewTensorRef;
    type Err = CpuError;
    type E2 = f32;
    type D2 = Cpu;

    fn visit<S: Shape>(
        &mut self,
        _: TensorOptions<S, f32, Cpu>,
        weights: &Tensor<S, f32, Cpu>,
    ) -> Result<Option<Tensor<S, f32, Cpu>>, CpuError> {
        Ok(Some(self.0.get(weights)))
    }
}

fn in_place_of<M: Network<Cpu>>(model: &M, grads: &Gradients<f32, Cpu>) -> Result<M, Error> {
    M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut InPlaceOf(grads) })
        .map_err(Error::device)?
        .ok_or_else(|| Error::Device("a gradient is missing".into()))
}

fn gradients(rec: &mut Recorder) -> Result<()> {
    let Some(data) = mnist(rec, GRADIENTS.name)? else { return Ok(()) };
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
                record_histogram(
                    rec,
                    &[("model", &model), ("layer", layer), ("step", &step)],
                    &full,
                );
                let halves =
                    [(1.0, pick(|look| &look.half[0])), (SCALE, pick(|look| &look.half[1]))];
                for (scale, half) in halves {
                    let list: ParamList =
                        &[("model", &model), ("layer", layer), ("step", &step), ("scale", &scale)];
                    record_shares(rec, list, &full, &half);
                }
            }
        }
    }
    Ok(())
}

/// The share of the gradients that are not zero in each bin.
fn record_histogram(rec: &mut Recorder, list: ParamList, full: &[&[f32]]) {
    let histograms: Vec<Histogram> = full.iter().map(|numbers| Histogram::of(numbers)).collect();
    let bins = histograms.iter().flat_map(|h| h.counts.keys());
    let (low, high) = bins.fold((0, -60), |(low, high), e| (low.min(*e), high.max(*e)));
    for exponent in low.max(-60)..=high {
        let shares = histograms.iter().map(|h| h.share(exponent)).collect();
        rec.record(GRADIENTS.at(list).with("exponent", exponent), Samples(shares));
    }
}

/// One of the shares.
type Share = fn(&Shares) -> f64;

/// What the f32 gradients would become in f16, and what the f16 ones did become.
fn record_shares(rec: &mut Recorder, list: ParamList, full: &[&[f32]], half: &[&[f32]]) {
    let scale = list.iter().find(|(name, _)| *name == "scale").map(|(_, scale)| scale.to_string());
    let scale: f32 = scale.and_then(|scale| scale.parse().ok()).unwrap_or(1.0);
    let predicted: Vec<Shares> = full.iter().map(|numbers| Shares::of(numbers, scale)).collect();
    let measured: Vec<Shares> = full
        .iter()
        .zip(half)
        .map(|(full, half)| {
            let shares = Shares::of(half, scale);
            // A zero that is none in f32 has vanished.
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
            let quantity = SHARES.at(list).with("from", from).with("kind", kind);
            rec.record(quantity, Samples(shares.iter().map(of).collect()));
        }
    }
}

/// Seeds of the comparison.
const SEEDS: u64 = 5;

fn accuracy(rec: &mut Recorder) -> Result<()> {
    const KEY: &str = "mixed_precision.amp";
    let Some(data) = mnist(rec, KEY)? else { return Ok(()) };
    let device = rec.device;
    let base = Settings::default();
    let jobs: Vec<Settings> = Precision::ALL
        .into_iter()
        .flat_map(|precision| seeds(&Settings { precision, ..base.clone() }, SEEDS))
        .collect();
    let work = |settings: &Settings| {
        let config = Config { settings: settings.clone(), device, ..Config::default() };
        amp::train_on(&config, &data, &mut Silent)
    };
    let tell = |run: &str, settings: &Settings| {
        rec.note(
            KEY,
            &[("run", &run), ("precision", &settings.precision), ("seed", &settings.seed)],
        );
    };
    let runs = side_by_side(device, &jobs, work, tell)?;
    let (full, half) = runs.split_at(SEEDS as usize);
    for (precision, runs) in [(Precision::F32, full), (Precision::Amp, half)] {
        let list: ParamList = &[("precision", &precision), ("device", &device)];
        rec.value(KEY, list, Unit::Share, accuracies(runs));
        for at in 0..base.epochs {
            let list: ParamList =
                &[("precision", &precision), ("device", &device), ("epoch", &(at + 1))];
            let share = at_epoch(runs, at, |epoch| epoch.test_accuracy);
            rec.record(CURVE.at(list), share);
        }
    }
    let list: ParamList = &[("device", &device)];
    let points = half
        .iter()
        .zip(full)
        .filter_map(|(half, full)| Some(100.0 * (half.test_accuracy()? - full.test_accuracy()?)));
    rec.value("mixed_precision.amp.difference", list, Unit::Number, Samples(points.collect()));
    let ends = || half.iter().filter_map(|run| run.loss_scale);
    let scales = ends().map(|end| f64::from(end.scale)).collect();
    rec.value("mixed_precision.amp.scale", list, Unit::Count, Samples(scales));
    let skipped = ends().map(|end| f64::from(end.skipped)).collect();
    rec.value("mixed_precision.amp.skipped", list, Unit::Count, Samples(skipped));
    Ok(())
}

/// Seeds of each ablation.
pub const ABLATION_SEEDS: u64 = 3;

fn ablations(rec: &mut Recorder) -> Result<()> {
    const KEY: &str = "mixed_precision.ablations";
    let Some(data) = mnist(rec, KEY)? else { return Ok(()) };
    let variants = SETTINGS.iter().flat_map(|s| s.variants.iter().map(move |v| (*s, *v)));
    let jobs: Vec<(Setting, Variant, u64)> =
        variants.flat_map(|(s, v)| (0..ABLATION_SEEDS).map(move |seed| (s, v, seed))).collect();
    let work = |(setting, variant, seed): &(Setting, Variant, u64)| {
        match setting.train(*variant, *seed, &data) {
            Ok(outcome) => Ok(Ok(outcome)),
            // A loss that is no number any more is what is to be shown.
            Err(Error::Diverged { epoch, step, .. }) => Ok(Err((epoch, step))),
            Err(error) => Err(error),
        }
    };
    let tell = |run: &str, (setting, variant, seed): &(Setting, Variant, u64)| {
        let list: ParamList =
            &[("run", &run), ("setting", &setting.name), ("variant", variant), ("seed", seed)];
        rec.note(KEY, list);
    };
    let results = side_by_side(Device::Cpu, &jobs, work, tell)?;
    let results = jobs.chunks(ABLATION_SEEDS as usize).zip(results.chunks(ABLATION_SEEDS as usize));
    for (jobs, results) in results {
        let (setting, variant, _) = jobs[0];
        let list: ParamList = &[("setting", &setting.name), ("variant", &variant)];
        let failed = results.iter().filter_map(|result| result.as_ref().err());
        let failed: Vec<f64> = failed.map(|(_, step)| *step as f64).collect();
        if !failed.is_empty() {
            rec.value("mixed_precision.ablations.failed", list, Unit::Count, Samples(failed));
            continue;
        }
        let runs: Vec<Outcome> = results.iter().filter_map(|r| r.as_ref().ok()).cloned().collect();
        rec.value(KEY, list, Unit::Share, accuracies(&runs));
        for at in 0..setting.epochs {
            let list: ParamList =
                &[("setting", &setting.name), ("variant", &variant), ("epoch", &(at + 1))];
            let share = at_epoch(&runs, at, |epoch| epoch.test_accuracy);
            rec.record(ABLATION_CURVE.at(list), share);
        }
    }
    Ok(())
}

/// Batches to time.
pub const BATCHES: [usize; 3] = [32, 128, 512];

fn speed(rec: &mut Recorder) -> Result<()> {
    const KEY: &str = "mixed_precision.amp.speed";
    let data = lab::data::load(&lab::data::Options {
        folder: rec.data.clone(),
        ..lab::data::Options::default()
    })?;
    let data = DataSet { test: data.test.first(10), ..data };
    let mut devices = vec![Device::Cpu];
    if rec.device == Device::Cpu {
        rec.skip(KEY, &[("device", &"cuda")], "this run has no GPU that the build can use");
    } else {
        devices.push(rec.device);
    }
    for device in devices {
        for batch in BATCHES {
            let mut medians = Vec::new();
            for precision in Precision::ALL {
                let list: ParamList =
                    &[("precision", &precision), ("device", &device), ("batch", &batch)];
                rec.note(KEY, list);
                let limit = Some(batch * (6400 / batch).max(8));
                let settings =
                    Settings { precision, batch, limit, epochs: 6, ..Settings::default() };
                let config = Config { settings, device, ..Config::default() };
                let outcome = amp::train_on(&config, &data, &mut Silent)?;
                // The first epoch warms up.
                let rates = outcome.history.iter().skip(1).map(|epoch| epoch.images_per_second);
                let rates = Samples(rates.collect());
                medians.push(rec.value(KEY, list, Unit::ImagesPerSecond, rates));
            }
            if let [full, half] = medians[..] {
                let list: ParamList = &[("device", &device), ("batch", &batch)];
                let ratio = Samples::one(half / full);
                rec.value("mixed_precision.amp.speed.ratio", list, Unit::Ratio, ratio);
            }
        }
    }
    Ok(())
}

fn memory(rec: &mut Recorder) -> Result<()> {
    const KEY: &str = "mixed_precision.amp.memory";
    rec.note(KEY, &[]);
    let per_parameter = counted()?;
    let share = |precision: Precision, what: &str, bytes: f64, rec: &mut Recorder| {
        let list: ParamList = &[("precision", &precision), ("what", &what)];
        rec.value(KEY, list, Unit::Number, Samples::one(bytes));
    };
    for precision in Precision::ALL {
        let mut all = 0.0;
        for (what, f32, amp) in per_parameter {
            let bytes = if precision == Precision::F32 { f32 } else { amp };
            share(precision, what, bytes, rec);
            all += bytes;
        }
        share(precision, "all", all, rec);
    }
    if rec.budget == Budget::Full {
        rec.note(KEY, &[("what", &"done")]);
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
    let mut half = halved(&amp.master.model)?;
    let (_, grads) =
        amp.gradients(&mut half, images.clone(), targets.clone()).map_err(Error::device)?;
    amp.step(1e-3, images, targets)?;
    let parameters = amp.learned() as f64;
    let mut count = Count { grads: &grads, copy: 0, gradients: 0 };
    Half::<Mlp<Cpu>, Cpu>::iter_tensors(&mut RecursiveWalker { m: &half, f: &mut count })
        .map_err(Error::device)?;
    let (copy, narrow) = (count.copy as f64 / parameters, count.gradients as f64 / parameters);
    let size = |numbers: usize| (size_of::<f32>() * numbers) as f64 / parameters;
    let wide = size(amp.parameters()?.len());
    let means = size(amp.state()?.slots.iter().map(Vec::len).sum());
    Ok([
        ("weights in f32", wide, wide),
        ("weights in f16", 0.0, copy),
        ("gradients in f16", 0.0, narrow),
        // Out of f16, and once more in the place that dfdx's optimizer reads: both exist for a moment.
        ("gradients in f32", wide, 2.0 * wide),
        ("Adam's means", means, means),
    ])
}

/// Counts the bytes of a model in f16 and of its gradients.
struct Count<'g> {
    grads: &'g Gradients<H, Cpu>,
    copy: usize,
    gradients: usize,
}

impl TensorVisitor<H, Cpu> for Count<'_> {
    type Viewer = ViewTensorRef;
    type Err = CpuError;
    type E2 = H;
    type D2 = Cpu;

    fn visit<S: Shape>(
        &mut self,
        _: TensorOptions<S, H, Cpu>,
        weights: &Tensor<S, H, Cpu>,
    ) -> Result<Option<Tensor<S, H, Cpu>>, CpuError> {
        self.copy += size_of_val(&weights.as_vec()[..]);
        self.gradients += size_of_val(&self.grads.get(weights).as_vec()[..]);
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{data, progress::Progress};

    #[test]
    fn mixed_precision_keeps_more_bytes_for_each_parameter() {
        let counted = counted().unwrap();
        let (f32, amp) = counted.iter().fold((0.0, 0.0), |(a, b), (_, f, h)| (a + f, b + h));
        assert!((f32 - 16.0).abs() < 1e-9 && (amp - 24.0).abs() < 1e-9, "{f32} and {amp}");
    }

    #[test]
    fn what_vanishes_is_predicted_from_f32() {
        let data = data::drawn(128, 10, 1);
        let look = &looks::<Deep<f32, Cpu>>(&data, 128, 0).unwrap()[0];
        let find = |named: &Named| {
            named.iter().find(|(name, _)| name == LAYERS[1].1[0]).unwrap().1.clone()
        };
        let (full, plain, scaled) = (find(&look.full), find(&look.half[0]), find(&look.half[1]));
        let zeros = |numbers: &[f32]| numbers.iter().filter(|g| g.abs() < 1e-30).count();
        let predicted = Shares::of(&full, 1.0);
        assert!(predicted.vanished > 0.005, "{predicted:?}");
        assert!(zeros(&plain) > zeros(&full) && zeros(&scaled) < zeros(&plain));
    }

    #[test]
    fn shares_and_histograms_become_values() {
        let (all, progress) = (experiments(), Progress::hidden());
        let mut rec = Recorder::new(&all[0], Budget::Quick, Device::Cpu, &progress);
        let (full, half) = ([0.0, 1e-9, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0]);
        let list: ParamList = &[("model", &"mlp"), ("scale", &1.0)];
        record_histogram(&mut rec, &list[..1], &[&full]);
        record_shares(&mut rec, list, &[&full], &[&half]);
        let (values, _) = rec.finish();
        let of = |key: &str, list: &[(&str, &str)]| {
            let found = values
                .iter()
                .find(|v| v.key == key && list.iter().all(|(name, text)| v.params[*name] == *text));
            found.unwrap().median
        };
        let bin = of("mixed_precision.gradients", &[("exponent", "1")]);
        assert!((bin - 1.0 / 3.0).abs() < 1e-12);
        for from in ["predicted", "measured"] {
            for (kind, wanted) in [("zero", 0.25), ("vanished", 0.25), ("normal", 0.5)] {
                let list = [("from", from), ("kind", kind)];
                let share = of("mixed_precision.gradients.share", &list);
                assert!((share - wanted).abs() < 1e-12, "{from} {kind}: {share}");
            }
        }
    }
}
