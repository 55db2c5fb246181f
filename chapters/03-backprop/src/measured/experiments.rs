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
    ladder::{Rung, ladder},
    linear::{self, Regression},
    measured::{
        peers::{self, Job},
        race::{self, Keys},
    },
    mlp::Mlp,
    order::order,
    real::Real,
    softmax::loss_and_gradient,
    train::{Examples, Learner, Settings, test},
    vgg::Network,
};
use lab::{
    Budget, Experiment, Key, Plan, Race, Recorder, Result, Samples, Unit,
    data::DataSet,
    machine, measure,
    peak::{self, Traffic},
    random::{SplitMix64, numbers},
    record::{Limit, ParamList},
};
use matmul::{MatRef, Shape, parallel, roofline};
use std::{
    hint::black_box,
    iter,
    time::{Duration, Instant},
};

lab::keys! {
    /// The gradient's error against finite differences.
    pub CHECK: measured "backprop.check", Number, ["numbers"];
    /// The same, by the step of the differences.
    CHECK_STEP: measured "backprop.check.step", Number, ["numbers", "h"];
    /// The accuracy of one layer, and the seconds of its training.
    pub LINEAR: measured "backprop.linear", Share, ["data"];
    LINEAR_SECONDS: measured "backprop.linear.seconds", Seconds, ["data"];
    /// The seconds of a part of a step.
    pub STEP: measured "backprop.step", Seconds, ["part", "batch"];
    STEP_OPERATIONS: counted "backprop.step.operations", Count, ["part", "batch"];
    STEP_BYTES: counted "backprop.step.bytes", Bytes, ["part", "batch"];
    /// The least seconds of a part of a step, by its operations and bytes.
    pub STEP_BOUND: calculated "backprop.step.bound", Seconds, ["part", "batch"];
    RATE: measured "backprop.ladder", ImagesPerSecond, ["rung", "batch"];
    /// Seconds of an epoch of 60,000 images.
    pub EPOCH: measured "backprop.ladder.epoch", Seconds, ["rung", "batch"];
    /// Operations of the products per second, against the peak of all cores.
    pub FLOPS: measured "backprop.ladder.flops", FlopsPerSecond, ["rung", "batch"];
    /// The gain over the rung before.
    pub SPEEDUP: measured "backprop.ladder.speedup", Ratio, ["rung", "batch"];
    /// The gain of the whole ladder.
    pub TOTAL: measured "backprop.ladder.total", Ratio, ["batch"];
    /// The threads of the fast network.
    pub THREADS: counted "backprop.ladder.threads", Count, ["batch"];
    /// The parameters of a model.
    pub COUNT: counted "backprop.count", Count, ["model"];
    COUNT_OPERATIONS: counted "backprop.count.operations", Count, ["model", "pass"];
    /// The bytes of training a model.
    COUNT_BYTES: counted "backprop.count.bytes", Bytes, ["model", "batch", "what"];
    /// The largest batch that fits.
    pub COUNT_BATCH: counted "backprop.count.batch", Count, ["model", "gib"];
    VGG: measured "backprop.vgg", Seconds, ["pass"];
    VGG_PREDICTED: calculated "backprop.vgg.predicted", Seconds, ["pass", "from"];
    VGG_RATIO: measured "backprop.vgg.ratio", Ratio, ["pass", "from"];
    VGG_RATE: measured "backprop.vgg.rate", FlopsPerSecond, ["n"];
    VGG_UNROLLING: measured "backprop.vgg.unrolling", Seconds, [];
    VGG_PRODUCTS: measured "backprop.vgg.products", Seconds, [];
}

/// The race in batches of 32.
pub const RACE32: Keys = crate::race_keys!("backprop.race32", &["who", "version", "threads"]);
/// The race in batches of 128.
pub const RACE128: Keys = crate::race_keys!("backprop.race128", &["who", "version", "threads"]);

/// In the order in which `measure` runs them.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick CHECK.name => &[CHECK, CHECK_STEP], gradients,
            "how far the gradient is from finite differences, in f64 and in f32";
        quick LINEAR.name => &[LINEAR, LINEAR_SECONDS], regression,
            "how accurate one layer is on MNIST after 1,000 steps of gradient descent";
        quick STEP.name => &[STEP, STEP_OPERATIONS, STEP_BYTES, STEP_BOUND], parts_of_a_step,
            "what one step of 784-128-10 computes and moves, and how long its parts take on one core";
        quick RATE.name => &[RATE, EPOCH, FLOPS, SPEEDUP, TOTAL, THREADS], rungs,
            "what each change gains, from the textbook to the fast network";
        full RACE32.seconds.name => &RACE32.all, |r| race(r, &RACE32, 32, &r.data_set()?),
            "the fast network against PyTorch and Keras in batches of 32 (with `measure --peers`)";
        full RACE128.seconds.name => &RACE128.all, |r| race(r, &RACE128, 128, &r.data_set()?),
            "the fast network against PyTorch and Keras in batches of 128 (with `measure --peers`)";
        quick COUNT.name => &[COUNT, COUNT_OPERATIONS, COUNT_BYTES, COUNT_BATCH], counting,
            "parameters, operations and bytes of described models, counted";
        full VGG.name => &[VGG, VGG_PREDICTED, VGG_RATIO, VGG_RATE, VGG_UNROLLING, VGG_PRODUCTS], one_image,
            "one image through VGG16, forward and backward: predicted, then run";
    }
}

/// Runs with different random numbers: they show how much of an accuracy is chance.
const SEEDS: usize = 5;

/// The other contenders: name, program, further arguments.
const PEERS: [(&str, &str, &[&str]); 4] = [
    ("pytorch", "pytorch.py", &[]),
    ("pytorch-fused", "pytorch.py", &["--fused"]),
    ("pytorch-compiled", "pytorch.py", &["--fused", "--compile"]),
    ("keras", "keras.py", &[]),
];

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
        r.one(CHECK.at(&[("numbers", &numbers)]), check::error(found, &wanted));
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
            let step = CHECK_STEP.at(&[("numbers", &numbers), ("h", &format!("{h:e}"))]);
            r.one(step, check::error(&found, &ours));
        }
    }
    Ok(())
}

/// Steps of finite differences, from far too long to far too short.
const STEPS: [f64; 11] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11];

fn regression(r: &mut Recorder) -> Result<()> {
    let data = r.data_set()?;
    let (train, tested) = (Examples::of(&data.train), Examples::of(&data.test));
    let source = data.source.name();
    let list: ParamList = &[("data", &source)];
    r.note_at(LINEAR.at(list));
    let (mut shares, mut seconds) = (Vec::new(), Vec::new());
    for seed in 0..if r.budget == Budget::Full { SEEDS as u64 } else { 1 } {
        let start = Instant::now();
        let model = linear::train(&Regression { seed, ..Regression::default() }, &train, 10)?;
        seconds.push(start.elapsed().as_secs_f64());
        shares.push(test(&model, &tested)?);
    }
    r.record(LINEAR.at(list), Samples(shares));
    r.record(LINEAR_SECONDS.at(list), Samples(seconds));
    Ok(())
}

/// The example network.
pub const SIZES: [usize; 3] = [784, 128, 10];

/// Parameters of the example network.
pub const PARAMETERS: usize = 784 * 128 + 128 + 128 * 10 + 10;

/// Operations of its products for one image: two for each weight forward, as many for the weights' gradient,
/// and as many for the gradient of the hidden units.
pub const OPERATIONS: f64 = 2.0 * (2.0 * 784.0 * 128.0 + 3.0 * 128.0 * 10.0);

fn parts_of_a_step(r: &mut Recorder) -> Result<()> {
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
        // `read` bytes come from a set of `of` bytes, which lies in the smallest cache that it fits into.
        let mut part = |name: &str, operations: f64, read: f64, of: f64, work: &mut dyn FnMut()| {
            let list: ParamList = &[("part", &name), ("batch", &batch)];
            r.time(STEP.at(list), &mut *work);
            r.one(STEP_OPERATIONS.at(list), operations);
            r.one(STEP_BYTES.at(list), read);
            let bandwidth = roofline::read_bandwidth(Plan::QUICK, of as usize).quantile(1.0);
            r.one(STEP_BOUND.at(list), (operations / peak.value).max(read / bandwidth));
        };
        let (images, all) = (4.0 * (batch * inputs) as f64, size_of_val(&data[..]) as f64);
        part("gather", 0.0, images, all, &mut {
            let (mut to, mut random) = (vec![0.0; batch * inputs], SplitMix64::new(5));
            let data = &data;
            move || {
                for row in to.chunks_exact_mut(inputs) {
                    row.copy_from_slice(&data[random.below(4096) * inputs..][..inputs]);
                }
                black_box(&to);
            }
        });
        let read = images + 4.0 * (inputs * hidden) as f64;
        part("forward", forward.operations(), read, forward.bytes(), &mut || {
            black_box(f32::product(&mut h, x_view, w_view).is_ok());
        });
        let read = images + 4.0 * (batch * hidden) as f64;
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
    let full = r.budget == Budget::Full;
    let data = r.data_set()?;
    let mut train = Examples::of(&data.train);
    let images = if full { train.len() } else { 6400.min(train.len()) };
    train.labels.truncate(images);
    train.pixels.truncate(images * train.width);
    let plan = Plan::times(if full { 7 } else { 3 });
    for batch in if full { &[32, 128][..] } else { &[32] } {
        rungs_in_batches(r, plan, &train, *batch)?;
    }
    if !full {
        r.skip_all(&[("batch", &128)], "the quick budget leaves larger batches out");
    }
    Ok(())
}

fn rungs_in_batches(r: &mut Recorder, plan: Plan, train: &Examples, batch: usize) -> Result<()> {
    let settings = Settings { batch, ..Settings::default() };
    let threads = Fast::new(settings.clone(), Ways::default())?.threads();
    r.one(THREADS.at(&[("batch", &batch)]), threads as f64);
    r.note_at(RATE.at(&[("batch", &batch)]));
    let mut race = Race::new();
    for rung in ladder() {
        let (mut learner, mut epoch) = ((rung.learner)(settings.clone())?, 0);
        race.add(rung.key, move || {
            epoch += 1;
            learner.epoch(train, &order(0, epoch, train.len()), epoch)?;
            Ok(())
        });
    }
    let results = race.run(plan)?;
    let (rungs, mut before) = (ladder(), None);
    for Rung { key: rung, .. } in &rungs {
        let list: ParamList = &[("rung", rung), ("batch", &batch)];
        let rate = results.rate(rung, train.len() as f64)?;
        let peak = peak::fma_f32(parallel::available());
        r.record(FLOPS.at(list).against(peak), rate.map(|rate| OPERATIONS * rate));
        r.record(EPOCH.at(list), rate.map(|rate| 6e4 / rate));
        r.record(RATE.at(list), rate);
        if let Some(before) = before.replace(rung) {
            r.record(SPEEDUP.at(list), results.ratio(before, rung)?);
        }
    }
    if let [first, .., last] = &rungs[..] {
        r.record(TOTAL.at(&[("batch", &batch)]), results.ratio(first.key, last.key)?);
    }
    Ok(())
}

/// Our epochs and the peers', in turns.
///
/// # Errors
/// Of our own network. A peer that fails is skipped.
pub fn race(r: &mut Recorder, keys: &Keys, batch: usize, data: &DataSet) -> Result<()> {
    let (train, tested) = (Examples::of(&data.train), Examples::of(&data.test));
    let threads = parallel::available().to_string();
    let mut peers = PEERS.map(|(who, program, more)| {
        r.note(keys.seconds.name, &[("warming up", &who)]);
        let arguments = [&["--threads", &threads], more].concat();
        let first = Job { batch, epochs: 1, seed: 0 };
        let ready = peers::ready(&peers::folder().join(program), &data.source, &arguments, first);
        (who, ready.map(|(peer, _)| peer))
    });
    let settings = Settings { batch, ..Settings::default() };
    let mut race = Race::default()
        .telling(|seed, who| r.note(keys.seconds.name, &[("seed", &seed), ("who", &who)]));
    race.turn(race::OURS, |seed| {
        let settings = Settings { seed: seed as u64, ..settings.clone() };
        race::training(fast, &settings, (&train, &tested))
    });
    race::add_peers(&mut race, &mut peers, (batch, settings.epochs));
    let results = race.rounds(SEEDS)?;
    let everyone = iter::once(race::OURS).chain(PEERS.map(|(who, ..)| who));
    race::record(r, keys, &[], everyone, (&results, train.len()))
}

/// The last rung of the ladder.
fn fast(settings: Settings) -> crate::Result<Box<dyn Learner>> {
    Ok(Box::new(Fast::new(settings, Ways::default())?))
}

fn counting(r: &mut Recorder) -> Result<()> {
    for name in ["mlp", "vgg16"] {
        let counts = Model::named(name)?.count()?;
        let of = |key: Key| key.at(&[("model", &name)]);
        r.one(of(COUNT), counts.parameters as f64);
        for (pass, operations) in [("forward", counts.forward), ("backward", counts.backward)] {
            r.one(of(COUNT_OPERATIONS).with("pass", pass), operations);
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
            r.one(of(COUNT_BYTES).with("batch", 32).with("what", what), bytes as f64);
        }
        for gib in [8u64, 24, 80] {
            let batch = fits::largest_batch(&counts, gib << 30, Moves::Adam);
            r.one(of(COUNT_BATCH).with("gib", gib), batch as f64);
        }
    }
    Ok(())
}

/// Bytes that a pass moves for one image at least: each weight once (three times backward: read for the
/// input's gradient, and its own gradient written, which a cache first reads), and each unrolled image written and
/// read (backward it is unrolled again, and its derivatives are also written and read).
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
        r.skip_all(&[], why);
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

/// The seconds of both passes: by their operations at the rate of a large product, and with the bytes that they move.
fn predicted(r: &mut Recorder, counts: &Counts) -> Result<Vec<Predicted>> {
    // Chapter 1's record again, in this run: all cores, n = 1024.
    let n = 1024;
    let (a, b, mut c) = (numbers(n * n, 1), numbers(n * n, 2), vec![0.0; n * n]);
    let square = |values| MatRef::new(values, n, n).map_err(ChapterError::from);
    let (a, b) = (square(&a[..])?, square(&b[..])?);
    let peak = peak::fma_f32(parallel::available());
    let rate = VGG_RATE.at(&[("n", &n)]).against(peak);
    let rate = r.time_rate(rate, Shape::square(n).operations(), || {
        black_box(f32::product_on_all(&mut c, a, b).is_ok());
    });
    let Limit { value: bandwidth, .. } = peak::bandwidth(Traffic::Read, parallel::available());
    let mut predicted = Vec::new();
    for (pass, operations, backward) in
        [("forward", counts.forward, false), ("backward", counts.backward, true)]
    {
        let work = operations / rate;
        let moved = bytes_moved(counts, backward) / bandwidth;
        for (from, seconds) in [("operations", work), ("bytes", work + moved)] {
            r.one(VGG_PREDICTED.at(&[("pass", &pass), ("from", &from)]), seconds);
            predicted.push(Predicted { pass, from, seconds });
        }
    }
    Ok(predicted)
}

/// The seconds of both passes of one image, as they are.
fn passes(r: &mut Recorder, model: &Model, pixels: usize, predicted: &[Predicted]) -> Result<()> {
    let mut network = Network::<f32>::new(model, 0)?;
    let mut gradients = network.gradients();
    let image = numbers(pixels, 3);
    let (mut forward, mut backward) = (Vec::new(), Vec::new());
    for at in 0..6 {
        r.note(VGG.name, &[("image", &at)]);
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
        let median = r.record(VGG.at(&[("pass", &pass)]), Samples(samples));
        for Predicted { from, seconds, .. } in predicted.iter().filter(|p| p.pass == pass) {
            r.one(VGG_RATIO.at(&[("pass", &pass), ("from", from)]), median / seconds);
        }
    }
    Ok(())
}

/// What a convolution consists of, each alone: unrolling, for the largest image, and all products of the forward pass.
fn convolutions(r: &mut Recorder, counts: &Counts) -> Result<()> {
    let sides = Sides::new([64, 224, 224], 3, 1, 1);
    let sides = sides.ok_or_else(|| lab::Error::message("VGG16 has changed"))?;
    let mut columns = vec![0.0f32; sides.window() * sides.places()];
    let mut image = numbers(64 * 224 * 224, 4);
    r.time(VGG_UNROLLING.at(&[]), || unroll(&mut columns, &mut image, &sides));

    let mut products = 0.0;
    for row in counts.rows.iter().filter(|row| row.unrolled > 0) {
        let &[channels, height, width] = &row.output[..] else { continue };
        let (places, unrolled) = (height * width, row.unrolled as usize);
        let window = unrolled / places;
        let (weights, mut y) = (numbers(channels * window, 5), vec![0.0; channels * places]);
        let at = |values, rows, cols| MatRef::new(values, rows, cols).map_err(ChapterError::from);
        let w = at(&weights[..], channels, window)?;
        let x = at(&columns[..unrolled], window, places)?;
        r.note(VGG_PRODUCTS.name, &[("places", &places)]);
        let samples = measure::time(Plan { time: Duration::ZERO, ..Plan::QUICK }, || {
            black_box(f32::product_on_all(&mut y, w, x).is_ok());
        });
        products += samples.median();
    }
    r.one(VGG_PRODUCTS.at(&[]), products);
    Ok(())
}
