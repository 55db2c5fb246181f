//! What the engine gains: products, savings, threads, and the race against PyTorch.

use crate::{
    engine::cpu::Ways,
    ladder::{NAME, SIZES, Trained, ladder},
};
use backprop::{
    ladder::Rung,
    order::order,
    train::{Examples, Learner, Settings},
};
use lab::{
    Budget, Experiment, Key, Plan, Race, Recorder, Samples, heap,
    peak::{self, Traffic},
    record::{Limit, ParamList},
};
use matmul::{parallel, roofline};
use std::cell::Cell;

pub mod models;
pub mod products;
pub mod race;

lab::keys! {
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
        quick RATE.name => &[RATE, STEP, SAVED, GAIN, TOTAL, BOUND, FAULTS], rungs,
            "what each saving of the engine is worth, from stock dfdx to all of them";
        full THREADS.name => &[THREADS], threads,
            "for which batches more threads pay";
        full race::KEYS.seconds.name => &race::KEYS.all, race::measure,
            "the engine against chapters 3 and 4, and PyTorch (with `measure --peers`)";
        full models::KEYS.seconds.name => &models::KEYS.all, models::measure,
            "what `train` reaches with each of chapter 4's models, beside PyTorch (with `measure --peers`)";
    }
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
    for batch in [race::BATCHES[0], race::BATCHES[1]] {
        if full || batch == race::BATCHES[0] {
            rungs_of(r, batch, &data)?;
            continue;
        }
        let why = "the quick budget leaves larger batches out";
        r.skip_all(&[("model", &NAME), ("batch", &batch)], why);
    }
    Ok(())
}

/// The rungs of a network in batches of one size.
fn rungs_of(r: &mut Recorder, batch: usize, data: &Examples) -> lab::Result<()> {
    let full = r.budget == Budget::Full;
    let images = data.len().min(if full { 12_800 } else { 2_560 });
    let steps = images.div_ceil(batch) as f64;
    let list: ParamList = &[("model", &NAME), ("batch", &batch)];
    let limit = bound(r, list, &SIZES, batch);
    r.note_at(RATE.at(list));
    let settings = Settings { sizes: SIZES.to_vec(), batch, ..Settings::default() };
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

/// The engine with one thread, and with all of them where they pay.
fn threads(r: &mut Recorder) -> lab::Result<()> {
    let data = Examples::of(&r.data_set()?.train);
    let all = parallel::available();
    let ways = [("one", 1), ("all", all)];
    for batch in [8, 32, 128, 512] {
        let images = data.len().min(batch * 100).min(25_600);
        let order = &order(0, 1, data.len())[..images];
        r.note_at(THREADS.at(&[("batch", &batch)]));
        let settings = Settings { sizes: SIZES.to_vec(), batch, ..Settings::default() };
        let mut race = Race::new();
        for (way, threads) in ways {
            let mut learner = Trained::new(settings.clone(), threads, Ways::default())?;
            let data = &data;
            race.add(way, move || {
                learner.epoch(data, order, 1)?;
                Ok(())
            });
        }
        let plan = Plan { min_samples: 9, max_samples: 50, ..r.budget.plan() };
        let results = race.run(plan)?;
        for (way, _) in ways {
            let list: ParamList = &[("model", &NAME), ("batch", &batch), ("threads", &way)];
            r.record(THREADS.at(list), results.rate(way, images as f64)?);
        }
    }
    Ok(())
}
