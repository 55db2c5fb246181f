//! What a faster engine gains: products, parts of a step, rungs, threads, and the race against PyTorch.

use crate::engine::{
    fast::InPlace,
    ladder::{MODELS, ladder},
    layer::{self, Behind, Sides, Team},
    mask::Mask,
    update,
};
use backprop::{
    adam::{Adam, Factors, Moments},
    ladder::Rung,
    order::order,
    softmax::loss_in_place,
    train::{Examples, Learner, Settings},
};
use dfdx::{losses::cross_entropy_with_logits_loss, optim::AdamConfig, prelude::*};
use lab::{
    Budget, Experiment, Key, Plan, Race, Recorder, Samples, heap,
    peak::{self, Traffic},
    random::numbers,
    record::{Limit, ParamList},
};
use matmul::{MatMut, MatRef, parallel, roofline, sgemm};
use std::{cell::Cell, hint::black_box};

pub mod models;
pub mod products;
pub mod race;

lab::keys! {
    /// Seconds of a part of a step, by who does it.
    PARTS: measured "performance.parts", Seconds, ["part", "batch", "who"];
    /// What the fused part saves.
    PARTS_SAVED: measured "performance.parts.saved", Seconds, ["part", "batch"];
    /// Images a second, by where there is more than one thread.
    THREADS: measured "performance.threads", ImagesPerSecond, ["model", "batch", "threads"];
    /// Images a second of each rung.
    pub RATE: measured "performance.ladder", ImagesPerSecond, ["model", "batch", "rung"];
    STEP: measured "performance.ladder.step", Seconds, ["model", "batch", "rung"];
    SAVED: measured "performance.ladder.saved", Seconds, ["model", "batch", "rung"];
    /// The gain over the rung before.
    pub GAIN: measured "performance.ladder.gain", Ratio, ["model", "batch", "rung"];
    /// The gain of the whole ladder.
    pub TOTAL: measured "performance.ladder.total", Ratio, ["model", "batch"];
    BOUND: calculated "performance.ladder.bound", Seconds, ["model", "batch", "limit"];
    FAULTS: measured "performance.ladder.faults", Number, ["model", "batch", "rung"];
}

/// The experiments of this part.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full products::RATE.name => &[products::RATE], products::measure,
            "the products of a training step: dfdx's gemm, the newer gemm and chapter 1's";
        full PARTS.name => &[PARTS, PARTS_SAVED], parts,
            "parts of a step of 784-128-10 alone: in dfdx's operations and fused";
        quick RATE.name => &[RATE, STEP, SAVED, GAIN, TOTAL, BOUND, FAULTS], rungs,
            "what each change of the engine gains, from stock dfdx to the fast network";
        full THREADS.name => &[THREADS], threads,
            "for which batches a second thread pays, in products and in passes";
        full race::KEYS.seconds.name => &race::KEYS.all, race::measure,
            "the fast network against stock dfdx, chapters 3 and 4, and PyTorch (with `measure --peers`)";
        full models::KEYS.seconds.name => &models::KEYS.all, models::measure,
            "what `train` reaches with each of chapter 4's models, beside PyTorch (with `measure --peers`)";
    }
}

/// The gradients of everything before `y`, if each derivative of `y` is one.
fn backward<S: Shape>(y: Tensor<S, f32, Cpu, OwnedTape<f32, Cpu>>) -> Gradients<f32, Cpu> {
    let (y, mut tape) = y.split_tape();
    let of_y = y.ghost();
    tape.add_backward_op(move |grads| {
        grads.get_or_alloc_mut(&of_y)?.fill(1.0);
        Ok(())
    });
    let end: Tensor<Rank0, f32, Cpu> = y.device().zeros();
    end.put_tape(tape).backward()
}

/// Rows of numbers on the CPU.
type Rows<const WIDTH: usize> = Tensor<(usize, Const<WIDTH>), f32, Cpu>;

/// Parts of a step of 784-128-10, each alone.
fn parts(r: &mut Recorder) -> lab::Result<()> {
    for batch in [128, 512] {
        first_layer(r, batch)?;
        dropout(r, batch)?;
        loss(r, batch)?;
        adam(r, batch)?;
        gradient_of_the_data(r, batch)?;
    }
    Ok(())
}

fn first_layer(r: &mut Recorder, batch: usize) -> lab::Result<()> {
    let dev = Cpu::seed_from_u64(1);
    let x: Rows<784> = dev.sample_uniform_like(&(batch, Const));
    let w: Tensor<Rank2<784, 128>, f32, _> = dev.sample_normal();
    let b: Tensor<Rank1<128>, f32, _> = dev.sample_normal();
    let (xs, ws, bs) = (x.as_vec(), w.as_vec(), b.as_vec());
    let mut y = vec![0.0; batch * 128];
    let (sides, team) = (Sides { inputs: 784, outputs: 128 }, Team::of_products());
    let none = Mask::new(0.0, 0)?;
    both(
        r,
        ("layer", batch),
        || {
            let units = x.clone().matmul(w.clone());
            let bias = b.clone().broadcast_like(units.shape());
            black_box((units + bias).relu());
            Ok(())
        },
        || Ok(layer::forward(&mut y, &xs, (&ws, &bs), sides, Behind::Relu(none), team)?),
    )
}

fn dropout(r: &mut Recorder, batch: usize) -> lab::Result<()> {
    let units: Rows<128> = Cpu::seed_from_u64(1).sample_normal_like(&(batch, Const));
    // The upstream gradient, and a buffer for it that each call fills anew.
    let given: Vec<f32> = units.as_vec().iter().rev().copied().collect();
    let (mut seed, mut kept, mut up) = (0, units.as_vec(), given.clone());
    let (mut bias, positive) = (vec![0.0; 128], units.as_vec());
    both(
        r,
        ("dropout", batch),
        || {
            drop(black_box(backward(units.leaky_trace().relu().dropout(0.2))));
            Ok(())
        },
        || {
            seed += 1;
            kept.copy_from_slice(&positive);
            up.copy_from_slice(&given);
            let mask = Mask::new(0.2, seed)?;
            mask.apply(0, &mut kept);
            layer::through_relu(&mut up, &kept, mask.scale(), &mut bias);
            black_box((&kept, &up));
            Ok(())
        },
    )
}

fn loss(r: &mut Recorder, batch: usize) -> lab::Result<()> {
    let dev = Cpu::seed_from_u64(1);
    let scores: Rows<10> = dev.sample_normal_like(&(batch, Const));
    let labels: Vec<u8> = (0..batch).map(|i| (i % 10) as u8).collect();
    let mut truth = vec![0.0; batch * 10];
    for (row, label) in truth.chunks_exact_mut(10).zip(&labels) {
        row[usize::from(*label)] = 1.0;
    }
    let truth = dev.tensor_from_vec(truth, (batch, Const::<10>));
    let (mut slopes, given) = (scores.as_vec(), scores.as_vec());
    both(
        r,
        ("loss", batch),
        || {
            let scores = scores.leaky_trace();
            drop(black_box(cross_entropy_with_logits_loss(scores, truth.clone()).backward()));
            Ok(())
        },
        || {
            slopes.copy_from_slice(&given);
            black_box(loss_in_place(&mut slopes, &labels, 10, 10));
            Ok(())
        },
    )
}

fn adam(r: &mut Recorder, batch: usize) -> lab::Result<()> {
    let mut p: Tensor<Rank2<784, 128>, f32, _> = Cpu::seed_from_u64(1).sample_normal();
    let (w, given) = (p.clone(), numbers(784 * 128, 4));
    let [mut m, mut v, mut g] = [0; 3].map(|_| Gradients::<f32, Cpu>::leaky());
    let mut own = numbers(784 * 128, 3);
    let (mut moments, mut slopes) = (Moments::zeros(own.len()), given.clone());
    let (mut steps, mut own_steps) = (0, 0);
    let mut dfdx = || {
        steps += 1;
        let (m, v) = (m.get_or_alloc_mut(&w)?, v.get_or_alloc_mut(&w)?);
        let g = g.get_or_alloc_mut(&w)?;
        g.copy_from_slice(&given); // both sides include it
        AdamConfig::default().try_update(steps, &mut p, m, v, g)?;
        g.fill(0.0);
        Ok::<_, CpuError>(())
    };
    both(
        r,
        ("update", batch),
        || dfdx().map_err(|error| lab::Error::message(format!("dfdx's Adam: {error:?}"))),
        || {
            own_steps += 1;
            slopes.copy_from_slice(&given);
            let rows = update::Rows { p: &mut own, moments: moments.slices(), g: &mut slopes };
            update::shared(rows, Factors::new(&Adam::default(), own_steps), true, 1);
            Ok(())
        },
    )
}

/// The product that the first layer leaves out.
fn gradient_of_the_data(r: &mut Recorder, batch: usize) -> lab::Result<()> {
    let (dy, w) = (numbers(batch * 128, 5), numbers(784 * 128, 6));
    let mut dx = vec![0.0; batch * 784];
    let dy = MatRef::new(&dy, batch, 128).map_err(backprop::Error::from)?;
    let w = MatRef::new(&w, 784, 128).map_err(backprop::Error::from)?;
    let options = Team::of_products().options();
    r.time(PARTS_SAVED.at(&[("part", &"data"), ("batch", &batch)]), || {
        let done = MatMut::new(&mut dx, batch, 784).and_then(|dx| sgemm(dx, dy, w.t(), options));
        black_box(done.is_ok());
    });
    Ok(())
}

/// Both ways of a part, taking turns, and what the second one saves.
fn both(
    r: &mut Recorder,
    (part, batch): (&str, usize),
    dfdx: impl FnMut() -> lab::Result<()>,
    fused: impl FnMut() -> lab::Result<()>,
) -> lab::Result<()> {
    let list: ParamList = &[("part", &part), ("batch", &batch)];
    r.note_at(PARTS.at(list));
    let mut race = Race::new();
    race.add("dfdx", dfdx);
    race.add("fused", fused);
    let results = race.run(r.budget.plan())?;
    let [dfdx, fused] = [results.samples("dfdx")?, results.samples("fused")?];
    r.record(PARTS_SAVED.at(list), dfdx.paired(&fused, |slow, fast| slow - fast));
    for (who, seconds) in [("dfdx", dfdx), ("fused", fused)] {
        r.record(PARTS.at(list).with("who", who), seconds);
    }
    Ok(())
}

/// Operations of the products for one image: two for each weight forward, as many for the weights' derivatives, and as
/// many for those of the units between the layers.
pub fn operations(sizes: &[usize]) -> f64 {
    let weights = |sizes: &[usize]| -> usize { sizes.windows(2).map(|w| w[0] * w[1]).sum() };
    2.0 * (2 * weights(sizes) + weights(&sizes[1..])) as f64
}

/// Parameters of a network.
pub fn parameters(sizes: &[usize]) -> usize {
    sizes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum()
}

/// The least time of a step: by the operations of its products, and by the bytes of the images (from memory) and of
/// Adam's update (four floats read and three written for each parameter, from the cache that they fit into).
fn bounds(sizes: &[usize], batch: usize, threads: usize) -> [(&'static str, f64); 2] {
    let work = operations(sizes) * batch as f64 / peak::fma_f32(threads).value;
    let images = (4 * sizes[0] * batch) as f64 / peak::bandwidth(Traffic::Read, threads).value;
    let kept = 16 * parameters(sizes);
    let cache = roofline::read_bandwidth(Plan::QUICK, kept).quantile(1.0) * threads as f64;
    let update = (28 * parameters(sizes)) as f64 / cache;
    [("operations", work), ("bytes", images + update)]
}

/// All rungs, taking turns.
fn rungs(r: &mut Recorder) -> lab::Result<()> {
    let data = Examples::of(&r.data_set()?.train);
    let full = r.budget == Budget::Full;
    for (name, sizes) in MODELS {
        for batch in race::BATCHES {
            if full || (name, batch) == (MODELS[0].0, race::BATCHES[0]) {
                rungs_of(r, (name, sizes), batch, &data)?;
                continue;
            }
            for key in [RATE, STEP, SAVED, GAIN, FAULTS, TOTAL, BOUND] {
                let why = "the quick budget leaves larger batches and networks out";
                r.skip_at(key.at(&[("model", &name), ("batch", &batch)]), why);
            }
        }
    }
    Ok(())
}

/// The rungs of a network in batches of one size.
fn rungs_of(
    r: &mut Recorder,
    (name, sizes): (&str, &[usize]),
    batch: usize,
    data: &Examples,
) -> lab::Result<()> {
    let full = r.budget == Budget::Full;
    let images = data.len().min(if full { 12_800 } else { 2_560 });
    let steps = images.div_ceil(batch) as f64;
    let list: ParamList = &[("model", &name), ("batch", &batch)];
    let limit = bound(r, list, sizes, batch);
    r.note_at(RATE.at(list));
    let settings = Settings { sizes: sizes.to_vec(), batch, ..Settings::default() };
    let rungs = ladder();
    let faults = vec![Cell::new(None); rungs.len()];
    let mut race = Race::new();
    for (rung, faults) in rungs.iter().zip(&faults) {
        let (mut learner, mut epoch) = ((rung.learner)(settings.clone())?, 0);
        race.add(rung.key, move || {
            epoch += 1;
            let order = order(0, epoch, data.len());
            let before = heap::page_faults();
            learner.epoch(data, &order[..images], epoch)?;
            // The last turn counts: by then nothing is new.
            faults.set(heap::page_faults().zip(before).map(|(after, before)| after - before));
            Ok(())
        });
    }
    let results = race.run(Plan::times(if full { 9 } else { 3 }))?;
    let mut before: Option<Samples> = None;
    for (Rung { key: rung, .. }, faults) in rungs.iter().zip(faults) {
        let of = |key: Key| key.at(list).with("rung", rung);
        let seconds = results.samples(rung)?;
        r.record(of(RATE).against(limit.clone()), seconds.map(|s| images as f64 / s));
        r.record(of(STEP), seconds.map(|s| s / steps));
        match faults.get() {
            Some(faults) => {
                r.one(of(FAULTS), faults / steps);
            }
            None => r.skip_at(of(FAULTS), "this system does not count page faults"),
        }
        if let Some(before) = before.replace(seconds.clone()) {
            r.record(of(GAIN), before.paired(&seconds, |before, after| before / after));
            r.record(of(SAVED), before.paired(&seconds, |before, after| (before - after) / steps));
        }
    }
    if let [first, .., last] = &rungs[..] {
        r.record(TOTAL.at(list), results.ratio(first.key, last.key)?);
    }
    Ok(())
}

/// Images a second at most: by the operations of a step or by its bytes, whichever takes longer.
fn bound(r: &mut Recorder, list: ParamList, sizes: &[usize], batch: usize) -> Limit {
    let mut limit = Limit { name: String::new(), value: f64::INFINITY };
    for (what, seconds) in bounds(sizes, batch, parallel::available()) {
        r.one(BOUND.at(list).with("limit", what), seconds);
        let rate = batch as f64 / seconds;
        if rate < limit.value {
            limit = Limit { name: format!("bound by the step's {what}"), value: rate };
        }
    }
    limit
}

/// The in-place network with one thread, with more in products, and with more in everything.
fn threads(r: &mut Recorder) -> lab::Result<()> {
    let data = Examples::of(&r.data_set()?.train);
    let all = parallel::available();
    let ways = [("one", 1, 1), ("products", all, 1), ("all", all, all)];
    let (name, sizes) = MODELS[0];
    for batch in [8, 32, 128, 512] {
        let images = data.len().min(batch * 100).min(25_600);
        let order = &order(0, 1, data.len())[..images];
        r.note_at(THREADS.at(&[("batch", &batch)]));
        let settings = Settings { sizes: sizes.to_vec(), batch, ..Settings::default() };
        let mut race = Race::new();
        for (way, products, passes) in ways {
            let mut learner = InPlace::new(settings.clone(), Team { products, passes })?;
            let data = &data;
            race.add(way, move || {
                learner.epoch(data, order, 1)?;
                Ok(())
            });
        }
        let plan = Plan { min_samples: 9, max_samples: 50, ..r.budget.plan() };
        let results = race.run(plan)?;
        for (way, ..) in ways {
            let list: ParamList = &[("model", &name), ("batch", &batch), ("threads", &way)];
            r.record(THREADS.at(list), results.rate(way, images as f64)?);
        }
    }
    Ok(())
}
