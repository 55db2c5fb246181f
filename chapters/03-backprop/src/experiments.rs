//! What this chapter measures. The figures and tables are made in [`crate::figures`].

use crate::{
    Error as ChapterError,
    adam::{self, Adam, Factors, Moments},
    check,
    conv::unroll,
    count::{Counts, Model},
    dropout::Dropout,
    fast::{Fast, Ways},
    figures,
    fits::{self, Bytes, Moves},
    ladder::ladder,
    linear::{self, Regression},
    mlp::Mlp,
    order::order,
    peers::{self, Job, Peer},
    random::SplitMix64,
    softmax::loss_and_gradient,
    train::{Examples, Settings, fit, test},
    vgg::Network,
};
use lab::{
    Budget, Chapter, Experiment, Plan, Recorder, Result, Samples, Unit,
    data::{self, DataSet, Options as DataOptions, Source},
    machine, measure,
    peak::{self, Traffic},
    record::{Limit, ParamList},
};
use matmul::{MatMut, MatRef, Options, Shape, Threads, parallel, roofline, sgemm};
use std::{
    cell::RefCell,
    hint::black_box,
    time::{Duration, Instant},
};

/// Chapter 3, for the course's command and its book.
pub fn chapter() -> Chapter {
    Chapter {
        number: 3,
        name: "backprop",
        title: "Backpropagation is matrix multiplication",
        experiments: vec![
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
                run: |r| race(r, "backprop.race32", 32, SEEDS, &PEERS),
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
                run: |r| race(r, "backprop.race128", 128, SEEDS, &PEERS),
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
        ],
        figures: figures::figures(),
        tables: figures::tables(),
    }
}

/// Runs with other random numbers: they show how much of an accuracy is luck.
const SEEDS: u64 = 5;

/// The contenders beside ours: name, program, what else it is told.
type Peers = [(&'static str, &'static str, &'static [&'static str]); 3];
const PEERS: Peers = [
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
        let product = |c: &mut [f32], a: MatRef<f32>, b: MatRef<f32>| {
            MatMut::new(c, a.rows(), b.cols())
                .and_then(|c| sgemm(c, a, b, Options::default()))
                .is_ok()
        };
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
            black_box(product(&mut h, x_view, w_view));
        });
        let read = pictures + 4.0 * (batch * hidden) as f64;
        part("weights", forward.operations(), read, forward.bytes(), &mut || {
            black_box(product(&mut dw, x_view.t(), dh_view));
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

/// Our epochs and the peers', in turns: for each seed each contender trains a network.
fn race(r: &mut Recorder, key: &str, batch: usize, seeds: u64, peers: &Peers) -> Result<()> {
    let data = load(r)?;
    let (train, tested) = (Examples::of(&data.train), Examples::of(&data.test));
    let threads = parallel::available();
    let accuracy_key = format!("{key}.accuracy");
    let mut running = Vec::new();
    for (who, script, more) in peers {
        let why = match (peers::python(), &data.source) {
            (None, _) => "the libraries were not asked for; `measure --peers` does",
            (_, Source::Drawn) => "there is no MNIST on this machine for both to learn from",
            (Some(python), Source::Mnist(folder) | Source::Files(folder)) => {
                let script = peers::folder().join(script);
                let (script, folder) = (script.to_string_lossy(), folder.to_string_lossy());
                let threads = threads.to_string();
                let mut arguments = vec![&*script, &*folder, "--threads", &threads];
                arguments.extend(*more);
                let backend = std::env::var("KERAS_BACKEND").ok();
                running.push((*who, Peer::start(python, &arguments, backend.as_deref())?));
                continue;
            }
        };
        for (suffix, _) in RACE {
            r.skip(&format!("{key}{suffix}"), &[("who", who)], why);
        }
    }
    for (who, peer) in &mut running {
        // They are still starting, and would take the first contender's time.
        r.note(key, &[("warming up", who)]);
        peer.run(Job { batch, epochs: 1, seed: 0 })?;
    }
    let (epochs, mut results) = (Settings::default().epochs, Vec::new());
    results.push(("ours", "this chapter".to_owned(), Vec::new()));
    for seed in 0..seeds {
        r.note(key, &[("seed", &seed), ("who", &"ours")]);
        let settings = Settings { batch, seed, ..Settings::default() };
        let mut learner = Fast::new(settings.clone(), Ways::default())?;
        let history = fit(&mut learner, (&train, &tested), &settings, |_| {})?;
        let accuracy = history.last().map_or(f64::NAN, |epoch| epoch.accuracy);
        results[0].2.push((history.iter().map(|epoch| epoch.seconds).collect(), accuracy));
        for (at, (who, peer)) in running.iter_mut().enumerate() {
            r.note(key, &[("seed", &seed), ("who", who)]);
            let answer = peer.run(Job { batch, epochs, seed })?;
            if results.len() < at + 2 {
                results.push((*who, answer.framework, Vec::new()));
            }
            results[at + 1].2.push((answer.seconds, answer.accuracy));
        }
    }
    let middle = |runs: &[(Vec<f64>, f64)]| -> Vec<f64> {
        runs.iter().map(|(seconds, _)| Samples(seconds.clone()).median()).collect()
    };
    let ours = Samples(middle(&results[0].2));
    for (who, version, runs) in &results {
        let list: ParamList = &[("who", who), ("version", version), ("threads", &threads)];
        let seconds = Samples(runs.iter().flat_map(|(seconds, _)| seconds).copied().collect());
        let accuracy = Samples(runs.iter().map(|(_, accuracy)| *accuracy).collect());
        let rate = seconds.map(|s| train.len() as f64 / s);
        r.value(&format!("{key}.rate"), list, Unit::ImagesPerSecond, rate);
        r.value(key, list, Unit::Seconds, seconds);
        r.value(&accuracy_key, list, Unit::Share, accuracy);
        if *who != "ours" {
            let ratio = over(&Samples(middle(runs)), &ours);
            r.value(&format!("{key}.ratio"), list, Unit::Ratio, ratio);
        }
    }
    Ok(())
}

/// What a race leaves under its key.
const RACE: [(&str, Unit); 4] = [
    ("", Unit::Seconds),
    (".accuracy", Unit::Share),
    (".ratio", Unit::Ratio),
    (".rate", Unit::ImagesPerSecond),
];

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
    const KEY: &str = "backprop.vgg";
    let model = Model::vgg16();
    let counts = model.count()?;
    let needed = Bytes::of(&counts, 1, Moves::Sgd).total();
    if machine::caches_and_memory().1 < needed + needed / 2 {
        let why = format!(
            "it needs {} of memory, and half as much for all else",
            Unit::Bytes.format(needed as f64)
        );
        for pass in ["forward", "backward", "both"] {
            r.skip(KEY, &[("pass", &pass)], why.clone());
        }
        return Ok(());
    }
    // Chapter 1's record again, in this run: all cores, n = 1024.
    let n = 1024;
    let (a, b, mut c) = (numbers(n * n, 1), numbers(n * n, 2), vec![0.0; n * n]);
    let options = Options { threads: Threads::All, ..Options::default() };
    let rate = r.rate(
        "backprop.vgg.rate",
        &[("n", &n)],
        Unit::FlopsPerSecond,
        Shape::square(n).operations(),
        Some(peak::fma_f32(parallel::available())),
        || {
            let product = MatMut::new(&mut c, n, n)
                .and_then(|c| sgemm(c, MatRef::new(&a, n, n)?, MatRef::new(&b, n, n)?, options));
            black_box(product.is_ok());
        },
    );
    let Limit { value: bandwidth, .. } = peak::bandwidth(Traffic::Read, parallel::available());
    let mut predicted = Vec::new();
    for (pass, operations, backward) in
        [("forward", counts.forward, false), ("backward", counts.backward, true)]
    {
        let work = operations / rate;
        let moved = bytes_moved(&counts, backward) / bandwidth;
        for (from, seconds) in [("operations", work), ("bytes", work + moved)] {
            let list: ParamList = &[("pass", &pass), ("from", &from)];
            r.value("backprop.vgg.predicted", list, Unit::Seconds, one(seconds));
            predicted.push((pass, from, seconds));
        }
    }

    let mut network = Network::<f32>::new(&model, 0)?;
    let mut gradients = network.gradients();
    let image = numbers(counts.input as usize, 3);
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
        for (of, from, seconds) in &predicted {
            if *of == pass {
                let list: ParamList = &[("pass", &pass), ("from", from)];
                r.value("backprop.vgg.ratio", list, Unit::Ratio, one(median / seconds));
            }
        }
    }
    drop((network, gradients));

    // The largest of the pictures that are unrolled, alone.
    let sides = crate::conv::Sides::new([64, 224, 224], 3, 1, 1);
    let sides = sides.ok_or_else(|| lab::Error::message("VGG16 has changed"))?;
    let mut columns = vec![0.0f32; sides.window() * sides.places()];
    let mut picture = numbers(64 * 224 * 224, 4);
    r.seconds("backprop.vgg.unrolling", &[], || unroll(&mut columns, &mut picture, &sides));

    // The convolutions' products of the forward pass, alone.
    let mut products = 0.0;
    for row in counts.rows.iter().filter(|row| row.unrolled > 0) {
        let &[channels, height, width] = &row.output[..] else { continue };
        let (places, unrolled) = (height * width, row.unrolled as usize);
        let weights = numbers(channels * (unrolled / places), 5);
        let mut y = vec![0.0; channels * places];
        r.note("backprop.vgg.products", &[("places", &places)]);
        let samples = measure::time(Plan { time: Duration::ZERO, ..Plan::QUICK }, || {
            let product = MatMut::new(&mut y, channels, places).and_then(|y| {
                let w = MatRef::new(&weights, channels, unrolled / places)?;
                sgemm(y, w, MatRef::new(&columns[..unrolled], unrolled / places, places)?, options)
            });
            black_box(product.is_ok());
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
        let chapter = chapter();
        let experiment = chapter.experiments.iter().find(|e| e.key == key).unwrap();
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

    #[test]
    fn ratios_are_taken_round_by_round() {
        let slow = Samples(vec![2.0, 6.0]);
        assert_eq!(over(&slow, &Samples(vec![1.0, 2.0])).0, [2.0, 3.0]);
    }
}
