//! What this chapter measures.

use crate::{
    Error as ChapterError,
    adam::{self, Adam, Factors, Moments},
    check,
    conv::{Sides, unroll},
    count::{Counts, Model},
    dropout::Dropout,
    fast::{Fast, Ways},
    fits::{self, Bytes, Moves},
    ladder::ladder,
    linear::{self, Regression},
    measured::peers::{self, Answer, Job},
    mlp::Mlp,
    order::order,
    random::SplitMix64,
    real::Real,
    softmax::loss_and_gradient,
    train::{Examples, Settings, fit, test},
    vgg::Network,
};
use lab::{
    Budget, Experiment, Plan, Recorder, Result, Samples, Unit,
    data::{self, DataSet, Options as DataOptions, Source},
    machine, measure,
    peak::{self, Traffic},
    record::{Limit, ParamList},
};
use matmul::{MatRef, Shape, parallel, roofline};
use std::{
    cell::RefCell,
    hint::black_box,
    time::{Duration, Instant},
};

/// In the order in which `measure` runs them.
pub fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            key: "backprop.check",
            shows: "how far the gradient is from finite differences, in f64 and in f32",
            values: &["backprop.check", "backprop.check.step"],
            quick: true,
            run: gradients,
        },
        Experiment {
            key: "backprop.linear",
            shows: "how well one layer reads MNIST after 1,000 steps of gradient descent",
            values: &["backprop.linear", "backprop.linear.seconds"],
            quick: true,
            run: regression,
        },
        Experiment {
            key: "backprop.step",
            shows: "what one step of 784-128-10 computes and moves, and how long its parts take on one core",
            values: &[
                "backprop.step",
                "backprop.step.operations",
                "backprop.step.bytes",
                "backprop.step.bound",
            ],
            quick: true,
            run: parts_of_a_step,
        },
        Experiment {
            key: "backprop.ladder",
            shows: "what each change gains, from the textbook to the fast network",
            values: &[
                "backprop.ladder",
                "backprop.ladder.epoch",
                "backprop.ladder.flops",
                "backprop.ladder.speedup",
                "backprop.ladder.total",
                "backprop.ladder.threads",
            ],
            quick: true,
            run: rungs,
        },
        Experiment {
            key: "backprop.race32",
            shows: "the fast network against PyTorch and Keras in batches of 32 (with `measure --peers`)",
            values: &[
                "backprop.race32",
                "backprop.race32.accuracy",
                "backprop.race32.ratio",
                "backprop.race32.rate",
            ],
            quick: false,
            run: |r| race(r, "backprop.race32", 32, &load(r)?),
        },
        Experiment {
            key: "backprop.race128",
            shows: "the fast network against PyTorch and Keras in batches of 128 (with `measure --peers`)",
            values: &[
                "backprop.race128",
                "backprop.race128.accuracy",
                "backprop.race128.ratio",
                "backprop.race128.rate",
            ],
            quick: false,
            run: |r| race(r, "backprop.race128", 128, &load(r)?),
        },
        Experiment {
            key: "backprop.count",
            shows: "parameters, operations and bytes of described models, counted",
            values: &[
                "backprop.count",
                "backprop.count.operations",
                "backprop.count.bytes",
                "backprop.count.batch",
            ],
            quick: true,
            run: counting,
        },
        Experiment {
            key: "backprop.vgg",
            shows: "one image through VGG16, forward and backward: predicted, then run",
            values: &[
                "backprop.vgg",
                "backprop.vgg.predicted",
                "backprop.vgg.ratio",
                "backprop.vgg.rate",
                "backprop.vgg.unrolling",
                "backprop.vgg.products",
            ],
            quick: false,
            run: one_image,
        },
    ]
}

/// Runs with other random numbers: they show how much of an accuracy is luck.
const SEEDS: u64 = 5;

/// The contenders beside ours: name, program, what else it is told.
const PEERS: [(&str, &str, &[&str]); 3] = [
    ("pytorch", "pytorch.py", &[]),
    ("pytorch-fused", "pytorch.py", &["--fused"]),
    ("keras", "keras.py", &[]),
];

fn one(value: f64) -> Samples {
    Samples(vec![value])
}

fn load(r: &Recorder) -> Result<DataSet> {
    data::load(&DataOptions { folder: r.data.clone(), ..DataOptions::default() })
}

/// A small network in f64 and in f32 against the differences in f64.
fn gradients(r: &mut Recorder) -> Result<()> {
    let sizes = [20, 16, 12, 10];
    let model = Mlp::<f64>::new(&sizes, 1)?;
    let mut random = SplitMix64::new(2);
    let x: Vec<f64> = (0..8 * 20).map(|_| random.normal()).collect();
    let labels: Vec<u8> = (0..8).map(|_| random.below(10) as u8).collect();
    let noise = Some((Dropout::new(0.2)?, 3));
    let loss = |model: &Mlp<f64>| -> crate::Result<(f64, Vec<f64>)> {
        let pass = model.forward(&x, noise)?;
        let (loss, scores) = loss_and_gradient(&pass.scores, &labels, 10)?;
        Ok((loss, model.backward(&pass, &scores, false)?.flat()))
    };
    let (_, ours) = loss(&model)?;
    let in_f64 = |values: &[f64]| {
        let mut moved = model.clone();
        let fits = moved.set_parameters(values);
        fits.and_then(|()| loss(&moved)).map_or(f64::NAN, |(loss, _)| loss)
    };
    let wanted = check::differences(&model.parameters(), in_f64);
    let mut narrow = Mlp::<f32>::zeros(&sizes)?;
    let single = |values: &[f64]| values.iter().map(|v| *v as f32).collect::<Vec<f32>>();
    narrow.set_parameters(&single(&model.parameters()))?;
    let pass = narrow.forward(&single(&x), noise)?;
    let (_, scores) = loss_and_gradient(&pass.scores, &labels, 10)?;
    let in_f32 = narrow.backward(&pass, &scores, false)?.flat();
    let in_f32: Vec<f64> = in_f32.iter().map(|g| f64::from(*g)).collect();
    for (numbers, found) in [("f64", &ours), ("f32", &in_f32)] {
        let error = check::error(found, &wanted);
        r.value("backprop.check", &[("numbers", &numbers)], Unit::Number, one(error));
    }
    let in_f32 = |values: &[f64]| {
        let mut moved = narrow.clone();
        let fits = moved.set_parameters(&single(values));
        let scores = fits.and_then(|()| Ok(moved.forward(&single(&x), noise)?.scores));
        let loss = scores.and_then(|scores| loss_and_gradient(&scores, &labels, 10));
        loss.map_or(f64::NAN, |(loss, _)| loss)
    };
    for h in STEPS {
        let steps = [
            ("f64", check::differences_by(h, &model.parameters(), in_f64)),
            ("f32", check::differences_by(h, &model.parameters(), in_f32)),
        ];
        for (numbers, found) in steps {
            let list: ParamList = &[("numbers", &numbers), ("h", &format!("{h:e}"))];
            r.value("backprop.check.step", list, Unit::Number, one(check::error(&found, &ours)));
        }
    }
    Ok(())
}

/// Steps of finite differences, from far too long to far too short.
pub const STEPS: [f64; 11] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11];

fn regression(r: &mut Recorder) -> Result<()> {
    let data = load(r)?;
    let (train, tested) = (Examples::of(&data.train), Examples::of(&data.test));
    let source = data.source.name();
    let list: ParamList = &[("data", &source)];
    r.note("backprop.linear", list);
    let (mut shares, mut seconds) = (Vec::new(), Vec::new());
    for seed in 0..if r.budget == Budget::Full { SEEDS } else { 1 } {
        let start = Instant::now();
        let model = linear::train(&Regression { seed, ..Regression::default() }, &train, 10)?;
        seconds.push(start.elapsed().as_secs_f64());
        shares.push(test(&model, &tested)?);
    }
    r.value("backprop.linear", list, Unit::Share, Samples(shares));
    r.value("backprop.linear.seconds", list, Unit::Seconds, Samples(seconds));
    Ok(())
}

/// The article's network.
const SIZES: [usize; 3] = [784, 128, 10];

/// Parameters of the article's network.
const PARAMETERS: usize = 784 * 128 + 128 + 128 * 10 + 10;

/// Operations of its products for one picture: two for each weight forward, as many for the weights' gradient,
/// and as many for the gradient of the hidden units.
const OPERATIONS: f64 = 2.0 * (2.0 * 784.0 * 128.0 + 3.0 * 128.0 * 10.0);

/// Deterministic numbers around zero.
fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut random = SplitMix64::new(seed);
    (0..len).map(|_| random.unit() as f32 - 0.5).collect()
}

fn parts_of_a_step(r: &mut Recorder) -> Result<()> {
    const KEY: &str = "backprop.step";
    let peak = peak::fma_f32(1);
    for batch in [32, 128] {
        let (inputs, hidden) = (SIZES[0], SIZES[1]);
        let (x, w) = (numbers(batch * inputs, 1), numbers(inputs * hidden, 2));
        let (mut h, dh) = (vec![0.0; batch * hidden], numbers(batch * hidden, 3));
        let mut dw = vec![0.0; inputs * hidden];
        let data = numbers(4096 * inputs, 4);
        let at =
            |values, rows, cols| MatRef::<f32>::new(values, rows, cols).map_err(ChapterError::from);
        let (x_view, w_view, dh_view) =
            (at(&x[..], batch, inputs)?, at(&w[..], inputs, hidden)?, at(&dh[..], batch, hidden)?);
        let forward = Shape::new(batch, inputs, hidden);
        // `read` bytes come from a set of `of` bytes, which lies in whichever cache it fits into.
        let mut part = |name: &str, operations: f64, read: f64, of: f64, work: &mut dyn FnMut()| {
            let list: ParamList = &[("part", &name), ("batch", &batch)];
            r.seconds(KEY, list, &mut *work);
            r.value("backprop.step.operations", list, Unit::Count, one(operations));
            r.value("backprop.step.bytes", list, Unit::Bytes, one(read));
            let bandwidth = roofline::read_bandwidth(Plan::QUICK, of as usize).quantile(1.0);
            let bound = (operations / peak.value).max(read / bandwidth);
            r.value("backprop.step.bound", list, Unit::Seconds, one(bound));
        };
        let (pictures, all) = (4.0 * (batch * inputs) as f64, size_of_val(&data[..]) as f64);
        part("gather", 0.0, pictures, all, &mut {
            let (mut to, mut random) = (vec![0.0; batch * inputs], SplitMix64::new(5));
            let data = &data;
            move || {
                for row in to.chunks_exact_mut(inputs) {
                    row.copy_from_slice(&data[random.below(4096) * inputs..][..inputs]);
                }
                black_box(&to);
            }
        });
        let read = pictures + 4.0 * (inputs * hidden) as f64;
        part("forward", forward.operations(), read, forward.bytes(), &mut || {
            black_box(f32::product(&mut h, x_view, w_view).is_ok());
        });
        let read = pictures + 4.0 * (batch * hidden) as f64;
        part("weights", forward.operations(), read, forward.bytes(), &mut || {
            black_box(f32::product(&mut dw, x_view.t(), dh_view).is_ok());
        });
        let (mut p, g) = (numbers(PARAMETERS, 6), numbers(PARAMETERS, 7));
        let Moments { mut m, mut v } = Moments::zeros(PARAMETERS);
        let (count, mut t) = (PARAMETERS as f64, 0);
        part("adam", adam::OPERATIONS * count, adam::BYTES_READ * count, 16.0 * count, &mut || {
            t += 1;
            adam::fused(Factors::new(&Adam::default(), t), &mut p, &mut m, &mut v, &g);
        });
    }
    Ok(())
}

/// Rungs in batches, the contenders taking turns.
fn rungs(r: &mut Recorder) -> Result<()> {
    const KEY: &str = "backprop.ladder";
    let full = r.budget == Budget::Full;
    let data = load(r)?;
    let mut train = Examples::of(&data.train);
    let pictures = if full { train.len() } else { 6400.min(train.len()) };
    train.labels.truncate(pictures);
    train.pixels.truncate(pictures * train.width);
    let plan = Plan {
        warm_up: Duration::ZERO,
        time: Duration::ZERO,
        min_samples: if full { 7 } else { 3 },
        max_samples: 7,
    };
    let peak = peak::fma_f32(parallel::available());
    for batch in if full { &[32, 128][..] } else { &[32] } {
        let settings = Settings { batch: *batch, ..Settings::default() };
        let threads = Fast::new(settings.clone(), Ways::default())?.threads();
        let list: ParamList = &[("batch", batch)];
        r.value("backprop.ladder.threads", list, Unit::Count, one(threads as f64));
        r.note(KEY, list);
        let failed = RefCell::new(None);
        let mut epochs = Vec::new();
        for rung in ladder() {
            let mut learner = (rung.learner)(settings.clone())?;
            let (train, failed, mut epoch) = (&train, &failed, 0);
            epochs.push(move || {
                epoch += 1;
                let order = order(0, epoch, train.len());
                if let Err(error) = learner.epoch(train, &order, epoch) {
                    *failed.borrow_mut() = Some(error);
                }
            });
        }
        let mut contenders: Vec<&mut dyn FnMut()> =
            epochs.iter_mut().map(|epoch| epoch as &mut dyn FnMut()).collect();
        let samples = measure::time_interleaved(plan, &mut contenders);
        drop(contenders);
        drop(epochs);
        if let Some(error) = failed.take() {
            return Err(error.into());
        }
        let mut before: Option<&Samples> = None;
        for (rung, seconds) in ladder().iter().zip(&samples) {
            let list: ParamList = &[("rung", &rung.key), ("batch", batch)];
            let rate = seconds.map(|s| pictures as f64 / s);
            let flops = rate.map(|rate| OPERATIONS * rate);
            r.value("backprop.ladder.epoch", list, Unit::Seconds, rate.map(|rate| 6e4 / rate));
            r.value(KEY, list, Unit::ImagesPerSecond, rate);
            r.limited(
                "backprop.ladder.flops",
                list,
                Unit::FlopsPerSecond,
                flops,
                Some(peak.clone()),
            );
            if let Some(before) = before {
                let gain = over(before, seconds);
                r.value("backprop.ladder.speedup", list, Unit::Ratio, gain);
            }
            before = Some(seconds);
        }
        if let (Some(first), Some(last)) = (samples.first(), samples.last()) {
            r.value("backprop.ladder.total", &[("batch", batch)], Unit::Ratio, over(first, last));
        }
    }
    if !full {
        for suffix in ["", ".epoch", ".flops", ".speedup", ".total", ".threads"] {
            let why = "the quick budget leaves larger batches out";
            r.skip(&format!("{KEY}{suffix}"), &[("batch", &128)], why);
        }
    }
    Ok(())
}

/// Round by round, the seconds of one over those of another.
fn over(slow: &Samples, fast: &Samples) -> Samples {
    Samples(slow.0.iter().zip(&fast.0).map(|(slow, fast)| slow / fast).collect())
}

/// What one training leaves.
struct Training {
    /// Of each epoch.
    seconds: Vec<f64>,
    /// At the end.
    accuracy: f64,
}

/// One who takes part in the race.
struct Contender<'a> {
    who: &'static str,
    version: String,
    /// Trains a network from this seed on.
    train: Box<dyn FnMut(u64) -> crate::Result<Training> + 'a>,
    trainings: Vec<Training>,
}

impl Contender<'_> {
    /// The median epoch of each training.
    fn medians(&self) -> Samples {
        let seconds = self.trainings.iter().map(|training| Samples(training.seconds.clone()));
        Samples(seconds.map(|seconds| seconds.median()).collect())
    }
}

/// The fast network.
fn ours<'a>((train, tested): (&'a Examples, &'a Examples), batch: usize) -> Contender<'a> {
    let train = move |seed| {
        let settings = Settings { batch, seed, ..Settings::default() };
        let mut learner = Fast::new(settings.clone(), Ways::default())?;
        let history = fit(&mut learner, (train, tested), &settings, |_| {})?;
        let accuracy = history.last().map_or(f64::NAN, |epoch| epoch.accuracy);
        Ok(Training { seconds: history.iter().map(|epoch| epoch.seconds).collect(), accuracy })
    };
    let version = "this chapter".to_owned();
    Contender { who: "ours", version, train: Box::new(train), trainings: Vec::new() }
}

/// The peers that can take part, warmed up; of the others is said why not.
fn theirs(r: &mut Recorder, key: &str, batch: usize, source: &Source) -> Vec<Contender<'static>> {
    let mut contenders = Vec::new();
    let threads = parallel::available().to_string();
    for (who, program, more) in PEERS {
        r.note(key, &[("warming up", &who)]);
        let arguments = [&["--threads", &threads], more].concat();
        let first = Job { batch, epochs: 1, seed: 0 };
        match peers::ready(&peers::folder().join(program), source, &arguments, first) {
            Ok((mut peer, Answer { framework: version, .. })) => {
                let train = move |seed| {
                    let epochs = Settings::default().epochs;
                    let Answer { seconds, accuracy, .. } = peer.run(Job { batch, epochs, seed })?;
                    Ok(Training { seconds, accuracy })
                };
                let (train, trainings) = (Box::new(train), Vec::new());
                contenders.push(Contender { who, version, train, trainings });
            }
            Err(why) => {
                for suffix in ["", ".accuracy", ".ratio", ".rate"] {
                    r.skip(&format!("{key}{suffix}"), &[("who", &who)], why.clone());
                }
            }
        }
    }
    contenders
}

/// Our epochs and the peers', in turns: for each seed each contender trains a network.
fn race(r: &mut Recorder, key: &str, batch: usize, data: &DataSet) -> Result<()> {
    let (train, tested) = (Examples::of(&data.train), Examples::of(&data.test));
    let mut contenders = vec![ours((&train, &tested), batch)];
    contenders.extend(theirs(r, key, batch, &data.source));
    for seed in 0..SEEDS {
        for contender in &mut contenders {
            r.note(key, &[("seed", &seed), ("who", &contender.who)]);
            contender.trainings.push((contender.train)(seed)?);
        }
    }
    let (threads, ours) = (parallel::available(), contenders[0].medians());
    for contender in &contenders {
        let Contender { who, version, trainings, .. } = contender;
        let list: ParamList = &[("who", who), ("version", version), ("threads", &threads)];
        let seconds = trainings.iter().flat_map(|training| &training.seconds).copied();
        let seconds = Samples(seconds.collect());
        let accuracy = Samples(trainings.iter().map(|training| training.accuracy).collect());
        let rate = seconds.map(|s| train.len() as f64 / s);
        r.value(&format!("{key}.rate"), list, Unit::ImagesPerSecond, rate);
        r.value(key, list, Unit::Seconds, seconds);
        r.value(&format!("{key}.accuracy"), list, Unit::Share, accuracy);
        if *who != "ours" {
            let ratio = over(&contender.medians(), &ours);
            r.value(&format!("{key}.ratio"), list, Unit::Ratio, ratio);
        }
    }
    Ok(())
}

fn counting(r: &mut Recorder) -> Result<()> {
    for name in ["mlp", "vgg16"] {
        let counts = Model::named(name)?.count()?;
        let list: ParamList = &[("model", &name)];
        r.value("backprop.count", list, Unit::Count, one(counts.parameters as f64));
        for (pass, operations) in [("forward", counts.forward), ("backward", counts.backward)] {
            let list: ParamList = &[("model", &name), ("pass", &pass)];
            r.value("backprop.count.operations", list, Unit::Count, one(operations));
        }
        let bytes = Bytes::of(&counts, 32, Moves::Adam);
        for (what, bytes) in [
            ("weights", bytes.weights),
            ("gradients", bytes.gradients),
            ("optimizer", bytes.optimizer),
            ("activations", bytes.activations),
            ("scratch", bytes.scratch),
            ("total", bytes.total()),
        ] {
            let list: ParamList = &[("model", &name), ("batch", &32), ("what", &what)];
            r.value("backprop.count.bytes", list, Unit::Bytes, one(bytes as f64));
        }
        for gib in [8u64, 24, 80] {
            let batch = fits::largest_batch(&counts, gib << 30, Moves::Adam);
            let list: ParamList = &[("model", &name), ("gib", &gib)];
            r.value("backprop.count.batch", list, Unit::Count, one(batch as f64));
        }
    }
    Ok(())
}

/// Bytes that a pass moves for one image at least: each weight once (three times backward: read for the
/// input's gradient, and its own gradient written, which a cache first reads), and each unrolled picture written and
/// read (backward it is unrolled again, and its derivatives are written and read, too).
fn bytes_moved(counts: &Counts, backward: bool) -> f64 {
    let unrolled: u64 = counts.rows.iter().map(|row| row.unrolled).sum();
    let (weights, unrolled) = (counts.parameters as f64, unrolled as f64);
    4.0 * if backward { 3.0 * weights + 4.0 * unrolled } else { weights + 2.0 * unrolled }
}

fn one_image(r: &mut Recorder) -> Result<()> {
    let model = Model::vgg16();
    let counts = model.count()?;
    let needed = Bytes::of(&counts, 1, Moves::Sgd).total();
    if machine::caches_and_memory().1 < needed + needed / 2 {
        let why = format!(
            "it needs {} of memory, and half as much for all else",
            Unit::Bytes.format(needed as f64)
        );
        for pass in ["forward", "backward", "both"] {
            r.skip("backprop.vgg", &[("pass", &pass)], why.clone());
        }
        return Ok(());
    }
    let predicted = predicted(r, &counts)?;
    passes(r, &model, counts.input as usize, &predicted)?;
    convolutions(r, &counts)
}

/// What is predicted of a pass of VGG16.
struct Predicted {
    pass: &'static str,
    from: &'static str,
    seconds: f64,
}

/// The seconds of both passes: by their operations at the rate of a large product, and by the bytes that they move, too.
fn predicted(r: &mut Recorder, counts: &Counts) -> Result<Vec<Predicted>> {
    // Chapter 1's record again, in this run: all cores, n = 1024.
    let n = 1024;
    let (a, b, mut c) = (numbers(n * n, 1), numbers(n * n, 2), vec![0.0; n * n]);
    let square = |values| MatRef::new(values, n, n).map_err(ChapterError::from);
    let (a, b) = (square(&a[..])?, square(&b[..])?);
    let rate = r.rate(
        "backprop.vgg.rate",
        &[("n", &n)],
        Unit::FlopsPerSecond,
        Shape::square(n).operations(),
        Some(peak::fma_f32(parallel::available())),
        || {
            black_box(f32::product_on_all(&mut c, a, b).is_ok());
        },
    );
    let Limit { value: bandwidth, .. } = peak::bandwidth(Traffic::Read, parallel::available());
    let mut predicted = Vec::new();
    for (pass, operations, backward) in
        [("forward", counts.forward, false), ("backward", counts.backward, true)]
    {
        let work = operations / rate;
        let moved = bytes_moved(counts, backward) / bandwidth;
        for (from, seconds) in [("operations", work), ("bytes", work + moved)] {
            let list: ParamList = &[("pass", &pass), ("from", &from)];
            r.value("backprop.vgg.predicted", list, Unit::Seconds, one(seconds));
            predicted.push(Predicted { pass, from, seconds });
        }
    }
    Ok(predicted)
}

/// The seconds of both passes of one image, as they are.
fn passes(r: &mut Recorder, model: &Model, pixels: usize, predicted: &[Predicted]) -> Result<()> {
    const KEY: &str = "backprop.vgg";
    let mut network = Network::<f32>::new(model, 0)?;
    let mut gradients = network.gradients();
    let image = numbers(pixels, 3);
    let (mut forward, mut backward) = (Vec::new(), Vec::new());
    for at in 0..6 {
        r.note(KEY, &[("image", &at)]);
        let (loss, seconds) = network.learn_from(&image, 1, Some(at), &mut gradients)?;
        if !loss.is_finite() {
            return Err(lab::Error::message(format!("VGG16's loss became {loss}")));
        }
        if at > 0 {
            // The first one meets memory that the system has yet to give.
            forward.push(seconds.forward);
            backward.push(seconds.backward);
        }
    }
    let both: Vec<f64> = forward.iter().zip(&backward).map(|(f, b)| f + b).collect();
    for (pass, samples) in [("forward", forward), ("backward", backward), ("both", both)] {
        let median = r.value(KEY, &[("pass", &pass)], Unit::Seconds, Samples(samples));
        for Predicted { from, seconds, .. } in predicted.iter().filter(|p| p.pass == pass) {
            let list: ParamList = &[("pass", &pass), ("from", from)];
            r.value("backprop.vgg.ratio", list, Unit::Ratio, one(median / seconds));
        }
    }
    Ok(())
}

/// What a convolution consists of, each alone: unrolling, for the largest picture, and all products of the forward pass.
fn convolutions(r: &mut Recorder, counts: &Counts) -> Result<()> {
    let sides = Sides::new([64, 224, 224], 3, 1, 1);
    let sides = sides.ok_or_else(|| lab::Error::message("VGG16 has changed"))?;
    let mut columns = vec![0.0f32; sides.window() * sides.places()];
    let mut picture = numbers(64 * 224 * 224, 4);
    r.seconds("backprop.vgg.unrolling", &[], || unroll(&mut columns, &mut picture, &sides));

    let mut products = 0.0;
    for row in counts.rows.iter().filter(|row| row.unrolled > 0) {
        let &[channels, height, width] = &row.output[..] else { continue };
        let (places, unrolled) = (height * width, row.unrolled as usize);
        let window = unrolled / places;
        let (weights, mut y) = (numbers(channels * window, 5), vec![0.0; channels * places]);
        let at = |values, rows, cols| MatRef::new(values, rows, cols).map_err(ChapterError::from);
        let w = at(&weights[..], channels, window)?;
        let x = at(&columns[..unrolled], window, places)?;
        r.note("backprop.vgg.products", &[("places", &places)]);
        let samples = measure::time(Plan { time: Duration::ZERO, ..Plan::QUICK }, || {
            black_box(f32::product_on_all(&mut y, w, x).is_ok());
        });
        products += samples.median();
    }
    r.value("backprop.vgg.products", &[], Unit::Seconds, one(products));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::{Device, progress::Progress};

    fn values(key: &str, budget: Budget) -> (Vec<lab::record::Value>, usize) {
        let experiments = experiments();
        let experiment = experiments.iter().find(|e| e.key == key).unwrap();
        let progress = Progress::hidden();
        let mut rec = Recorder::new(experiment, budget, Device::Cpu, &progress);
        (experiment.run)(&mut rec).unwrap();
        let (values, skipped) = rec.finish();
        (values, skipped.len())
    }

    #[test]
    fn gradients_are_right_to_the_digits_of_their_numbers() {
        let (values, _) = values("backprop.check", Budget::Quick);
        assert!(values[0].median < 1e-7 && values[1].median < 1e-5, "{values:?}");
    }

    #[test]
    fn vgg16_is_counted() {
        let (values, _) = values("backprop.count", Budget::Quick);
        let vgg = values.iter().find(|v| v.key == "backprop.count" && v.params["model"] == "vgg16");
        assert_eq!(vgg.unwrap().median, 138_357_544.0);
        let batch = |gib: &str| {
            let of = |v: &&lab::record::Value| {
                v.key == "backprop.count.batch"
                    && v.params["model"] == "vgg16"
                    && v.params["gib"] == gib
            };
            values.iter().find(of).unwrap().median
        };
        assert!(batch("8") < batch("24") && batch("24") < batch("80"));
    }

    #[test]
    fn parts_of_a_step_are_measured_against_their_bounds() {
        let (values, _) = values("backprop.step", Budget::Quick);
        let seconds = values.iter().filter(|v| v.key == "backprop.step");
        assert_eq!(seconds.clone().count(), 8);
        assert!(seconds.into_iter().all(|v| v.median > 0.0 && v.median < 1.0));
    }

    #[test]
    fn one_step_of_the_articles_network_has_these_operations() {
        let counts = Model::mlp(&SIZES).unwrap().count().unwrap();
        assert_eq!(counts.forward + counts.backward, OPERATIONS);
        assert_eq!(counts.parameters, PARAMETERS as u64);
    }

    #[cfg(unix)]
    #[test]
    fn a_python_without_keras_races_without_keras() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("python");
        let program = r#"#!/bin/sh
case "$1" in *keras.py) echo "No module named 'keras'" >&2; exit 1;; esac
while read line; do
    echo '{"seconds": [9, 9, 9], "accuracy": 0.5, "framework": "sh", "threads": 1}'
done
"#;
        std::fs::write(&python, program).unwrap();
        std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
        peers::ask(python.to_str().unwrap());
        let drawn = data::drawn(100, 20, 1);
        let data = DataSet { source: Source::Files(folder.path().to_owned()), ..drawn };
        let (experiments, progress) = (experiments(), Progress::hidden());
        let experiment = experiments.iter().find(|e| e.key == "backprop.race32").unwrap();
        let mut rec = Recorder::new(experiment, Budget::Quick, Device::Cpu, &progress);
        race(&mut rec, "backprop.race32", 32, &data).unwrap();
        let (values, skipped) = rec.finish();
        let ratio = |v: &&lab::record::Value| v.key == "backprop.race32.ratio";
        let raced: Vec<&str> = values.iter().filter(ratio).map(|v| &*v.params["who"]).collect();
        assert_eq!(raced, ["pytorch", "pytorch-fused"]);
        assert_eq!(skipped.len(), 4);
        let why = "keras.py has ended without an answer (No module named 'keras')";
        assert!(skipped.iter().all(|s| s.params["who"] == "keras" && s.why == why), "{skipped:?}");
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let slow = Samples(vec![2.0, 6.0]);
        assert_eq!(over(&slow, &Samples(vec![1.0, 2.0])).0, [2.0, 3.0]);
    }
}
