//! What a faster engine gains: products, parts of a step, rungs, threads, and the race against PyTorch.

use crate::engine::{
    fast::InPlace,
    ladder::{MODELS, ladder},
    layer::{self, Behind, Sides, Team},
    mask::Mask,
    update::{self, Rows},
};
use backprop::{
    adam::{Adam, Factors, Moments},
    order::order,
    softmax::loss_in_place,
    train::{Examples, Learner, Settings},
};
use dfdx::{losses::cross_entropy_with_logits_loss, optim::AdamConfig, prelude::*};
use lab::{
    Budget, Experiment, Plan, Recorder, Samples, Unit,
    data::{self, Options},
    heap, measure,
    peak::{self, Traffic},
    record::{Limit, ParamList},
};
use matmul::{MatMut, MatRef, parallel, roofline, sgemm};
use products::numbers;
use std::{cell::RefCell, hint::black_box, time::Duration};

pub mod products;
pub mod race;

/// The experiments of this part.
pub fn experiments() -> Vec<Experiment> {
    vec![
        Experiment {
            key: "performance.products",
            shows: "the products of a training step: dfdx's gemm, the newer gemm and chapter 1's",
            values: &["performance.products"],
            quick: false,
            run: products::measure,
        },
        Experiment {
            key: "performance.parts",
            shows: "parts of a step of 784-128-10 alone: in dfdx's operations and fused",
            values: &["performance.parts", "performance.parts.saved"],
            quick: false,
            run: parts,
        },
        Experiment {
            key: "performance.ladder",
            shows: "what each change of the engine gains, from stock dfdx to the fast network",
            values: &[
                "performance.ladder",
                "performance.ladder.step",
                "performance.ladder.saved",
                "performance.ladder.gain",
                "performance.ladder.total",
                "performance.ladder.bound",
                "performance.ladder.faults",
            ],
            quick: true,
            run: rungs,
        },
        Experiment {
            key: "performance.threads",
            shows: "from which batch a second thread pays, in products and in passes",
            values: &["performance.threads"],
            quick: false,
            run: threads,
        },
        Experiment {
            key: race::KEY,
            shows: "the fast network against stock dfdx, chapters 3 and 4, and PyTorch (with `measure --peers`)",
            values: &race::VALUES,
            quick: false,
            run: race::measure,
        },
    ]
}

fn one(value: f64) -> Samples {
    Samples(vec![value])
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

/// Parts of a step, each alone: dfdx's way and this chapter's, taking turns.
fn parts(r: &mut Recorder) -> lab::Result<()> {
    for batch in [128, 512] {
        let dev = Cpu::seed_from_u64(1);
        let team = Team::of_products();
        let sides = Sides { inputs: 784, outputs: 128 };
        let x: Tensor<(usize, Const<784>), f32, _> = dev.sample_uniform_like(&(batch, Const));
        let w: Tensor<Rank2<784, 128>, f32, _> = dev.sample_normal();
        let b: Tensor<Rank1<128>, f32, _> = dev.sample_normal();
        let units: Tensor<(usize, Const<128>), f32, _> = dev.sample_normal_like(&(batch, Const));
        let scores: Tensor<(usize, Const<10>), f32, _> = dev.sample_normal_like(&(batch, Const));
        let labels: Vec<u8> = (0..batch).map(|i| (i % 10) as u8).collect();
        let mut truth = vec![0.0; batch * 10];
        for (row, label) in truth.chunks_exact_mut(10).zip(&labels) {
            row[usize::from(*label)] = 1.0;
        }
        let truth = dev.tensor_from_vec(truth, (batch, Const::<10>));
        let (xs, ws, bs) = (x.as_vec(), w.as_vec(), b.as_vec());
        let (mut y, mut dx) = (vec![0.0; batch * 128], vec![0.0; batch * 784]);
        let none = Mask::new(0.0, 0)?;

        both(
            r,
            ("layer", batch),
            || {
                let units = x.clone().matmul(w.clone());
                let bias = b.clone().broadcast_like(units.shape());
                black_box((units + bias).relu());
            },
            || {
                let done = layer::forward(&mut y, &xs, (&ws, &bs), sides, Behind::Relu(none), team);
                black_box(done.is_ok());
            },
        );
        // What comes down from the loss, and a place for it that each call fills anew.
        let given: Vec<f32> = units.as_vec().iter().rev().copied().collect();
        let (mut seed, mut kept, mut up) = (0, units.as_vec(), given.clone());
        let (mut bias, positive) = (vec![0.0; 128], units.as_vec());
        both(
            r,
            ("dropout", batch),
            || drop(black_box(backward(units.leaky_trace().relu().dropout(0.2)))),
            || {
                seed += 1;
                kept.copy_from_slice(&positive);
                up.copy_from_slice(&given);
                if let Ok(mask) = Mask::new(0.2, seed) {
                    mask.apply(0, &mut kept);
                    layer::through_relu(&mut up, &kept, mask.scale(), &mut bias);
                }
                black_box((&kept, &up));
            },
        );
        let (mut slopes, given) = (scores.as_vec(), scores.as_vec());
        both(
            r,
            ("loss", batch),
            || {
                let scores = scores.leaky_trace();
                drop(black_box(cross_entropy_with_logits_loss(scores, truth.clone()).backward()));
            },
            || {
                slopes.copy_from_slice(&given);
                black_box(loss_in_place(&mut slopes, &labels, 10, 10));
            },
        );
        let (mut p, mut t) = (w.clone(), 0);
        let [mut m, mut v, mut g] = [0; 3].map(|_| Gradients::<f32, Cpu>::leaky());
        let mut own = numbers(784 * 128, 3);
        let (mut moments, mut slopes) = (Moments::zeros(own.len()), numbers(784 * 128, 4));
        let given = numbers(784 * 128, 4);
        let mut failed = false;
        both(
            r,
            ("update", batch),
            || {
                t += 1;
                let config = AdamConfig::default();
                let done = (|| {
                    let (m, v) = (m.get_or_alloc_mut(&w)?, v.get_or_alloc_mut(&w)?);
                    let g = g.get_or_alloc_mut(&w)?;
                    g.copy_from_slice(&given); // both sides pay for it
                    config.try_update(t, &mut p, m, v, g)?;
                    g.fill(0.0);
                    Ok::<_, CpuError>(())
                })();
                failed |= done.is_err();
            },
            {
                let (mut t, given) = (0, given.clone());
                move || {
                    t += 1;
                    slopes.copy_from_slice(&given);
                    let rows = Rows { p: &mut own, moments: moments.slices(), g: &mut slopes };
                    update::shared(rows, Factors::new(&Adam::default(), t), true, 1);
                }
            },
        );
        if failed {
            return Err(lab::Error::message("dfdx's Adam failed"));
        }
        // The product that the first layer leaves out.
        let list: ParamList = &[("part", &"data"), ("batch", &batch)];
        let dy = MatRef::new(&positive, batch, 128).map_err(backprop::Error::from)?;
        let w = MatRef::new(&ws, 784, 128).map_err(backprop::Error::from)?;
        r.seconds("performance.parts.saved", list, || {
            let done = MatMut::new(&mut dx, batch, 784)
                .and_then(|dx| sgemm(dx, dy, w.t(), team.options()));
            black_box(done.is_ok());
        });
    }
    Ok(())
}

/// Both ways of a part, taking turns, and what the second one saves.
fn both(
    r: &mut Recorder,
    (part, batch): (&str, usize),
    mut dfdx: impl FnMut(),
    mut fused: impl FnMut(),
) {
    const KEY: &str = "performance.parts";
    r.note(KEY, &[("part", &part), ("batch", &batch)]);
    let samples = measure::time_interleaved(r.budget.plan(), &mut [&mut dfdx, &mut fused]);
    let saved = samples[0].0.iter().zip(&samples[1].0).map(|(slow, fast)| slow - fast).collect();
    for (who, samples) in ["dfdx", "fused"].into_iter().zip(samples) {
        r.value(KEY, &[("part", &part), ("batch", &batch), ("who", &who)], Unit::Seconds, samples);
    }
    let list: ParamList = &[("part", &part), ("batch", &batch)];
    r.value("performance.parts.saved", list, Unit::Seconds, Samples(saved));
}

/// Operations of the products for one picture: two for each weight forward, as many for the weights' derivatives, and as
/// many for those of the units between the layers.
fn operations(sizes: &[usize]) -> f64 {
    let weights = |sizes: &[usize]| -> usize { sizes.windows(2).map(|w| w[0] * w[1]).sum() };
    2.0 * (2 * weights(sizes) + weights(&sizes[1..])) as f64
}

/// Parameters of a network.
fn parameters(sizes: &[usize]) -> usize {
    sizes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum()
}

/// The least time of a step: by the operations of its products, and by the bytes of the pictures (from memory) and of
/// Adam's update (four numbers read and three written for each parameter, from the cache that they fit into).
fn bounds(sizes: &[usize], batch: usize, threads: usize) -> [(&'static str, f64); 2] {
    let work = operations(sizes) * batch as f64 / peak::fma_f32(threads).value;
    let pictures = (4 * sizes[0] * batch) as f64 / peak::bandwidth(Traffic::Read, threads).value;
    let kept = 16 * parameters(sizes);
    let cache = roofline::read_bandwidth(Plan::QUICK, kept).quantile(1.0) * threads as f64;
    let update = (28 * parameters(sizes)) as f64 / cache;
    [("operations", work), ("bytes", pictures + update)]
}

fn examples(r: &Recorder) -> lab::Result<Examples> {
    let data = data::load(&Options { folder: r.data.clone(), ..Options::default() })?;
    Ok(Examples::of(&data.train))
}

/// All rungs, taking turns.
fn rungs(r: &mut Recorder) -> lab::Result<()> {
    const KEY: &str = "performance.ladder";
    let full = r.budget == Budget::Full;
    let data = examples(r)?;
    let pictures = data.len().min(if full { 12_800 } else { 2_560 });
    let threads = parallel::available();
    let plan = Plan {
        warm_up: Duration::ZERO,
        time: Duration::ZERO,
        min_samples: if full { 9 } else { 3 },
        max_samples: 9,
    };
    let models = if full { &MODELS[..] } else { &MODELS[..1] };
    for (name, sizes) in models {
        for batch in if full { &race::BATCHES[..] } else { &race::BATCHES[..1] } {
            let steps = pictures.div_ceil(*batch);
            let mut limit = Limit { name: String::new(), value: f64::INFINITY };
            for (what, seconds) in bounds(sizes, *batch, threads) {
                let list: ParamList = &[("model", name), ("batch", batch), ("limit", &what)];
                r.value("performance.ladder.bound", list, Unit::Seconds, one(seconds));
                let rate = *batch as f64 / seconds;
                if rate < limit.value {
                    limit = Limit { name: format!("bound by the step's {what}"), value: rate };
                }
            }
            r.note(KEY, &[("model", name), ("batch", batch)]);
            let settings = Settings { sizes: sizes.to_vec(), batch: *batch, ..Settings::default() };
            let failed = RefCell::new(None);
            let faults = RefCell::new(vec![f64::NAN; ladder().len()]);
            let mut epochs = Vec::new();
            for (at, rung) in ladder().into_iter().enumerate() {
                let mut learner = (rung.learner)(settings.clone())?;
                let (data, failed, faults, mut epoch) = (&data, &failed, &faults, 0);
                epochs.push(move || {
                    epoch += 1;
                    let order = order(0, epoch, data.len());
                    let before = heap::page_faults();
                    if let Err(error) = learner.epoch(data, &order[..pictures], epoch) {
                        *failed.borrow_mut() = Some(error);
                    }
                    // The last round counts: by then nothing is new.
                    let after =
                        heap::page_faults().zip(before).map(|(after, before)| after - before);
                    faults.borrow_mut()[at] = after.unwrap_or(f64::NAN) / steps as f64;
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
            let pairs = |one: &Samples, two: &Samples, of: fn(f64, f64) -> f64| {
                Samples(one.0.iter().zip(&two.0).map(|(one, two)| of(*one, *two)).collect())
            };
            for ((rung, seconds), faults) in ladder().iter().zip(&samples).zip(faults.take()) {
                let list: ParamList = &[("model", name), ("batch", batch), ("rung", &rung.key)];
                let rate = seconds.map(|s| pictures as f64 / s);
                r.limited(KEY, list, Unit::ImagesPerSecond, rate, Some(limit.clone()));
                let step = seconds.map(|s| s / steps as f64);
                r.value("performance.ladder.step", list, Unit::Seconds, step);
                if faults.is_nan() {
                    let why = "this system does not count page faults";
                    r.skip("performance.ladder.faults", list, why);
                } else {
                    r.value("performance.ladder.faults", list, Unit::Number, one(faults));
                }
                if let Some(before) = before {
                    let gain = pairs(before, seconds, |before, after| before / after);
                    r.value("performance.ladder.gain", list, Unit::Ratio, gain);
                    let saved = pairs(before, seconds, |before, after| before - after);
                    let saved = saved.map(|s| s / steps as f64);
                    r.value("performance.ladder.saved", list, Unit::Seconds, saved);
                }
                before = Some(seconds);
            }
            if let (Some(first), Some(last)) = (samples.first(), samples.last()) {
                let list: ParamList = &[("model", name), ("batch", batch)];
                let total = pairs(first, last, |first, last| first / last);
                r.value("performance.ladder.total", list, Unit::Ratio, total);
            }
        }
    }
    if !full {
        let why = "the quick budget leaves larger batches and networks out";
        for (model, _) in MODELS {
            for batch in race::BATCHES {
                let measured = model == MODELS[0].0 && batch == race::BATCHES[0];
                for rung in ladder().iter().filter(|_| !measured) {
                    let list: ParamList =
                        &[("model", &model), ("batch", &batch), ("rung", &rung.key)];
                    for suffix in ["", ".step", ".saved", ".gain", ".faults"] {
                        r.skip(&format!("{KEY}{suffix}"), list, why);
                    }
                }
                if !measured {
                    let list: ParamList = &[("model", &model), ("batch", &batch)];
                    r.skip("performance.ladder.total", list, why);
                    r.skip("performance.ladder.bound", list, why);
                }
            }
        }
    }
    Ok(())
}

/// The network in place with one thread, with more in products, and with more in all.
fn threads(r: &mut Recorder) -> lab::Result<()> {
    const KEY: &str = "performance.threads";
    let data = examples(r)?;
    let all = parallel::available();
    let ways = [("one", 1, 1), ("products", all, 1), ("all", all, all)];
    let (name, sizes) = MODELS[0];
    for batch in [8, 32, 128, 512] {
        let pictures = data.len().min(batch * 100).min(25_600);
        r.note(KEY, &[("batch", &batch)]);
        let failed = RefCell::new(None);
        let settings = Settings { sizes: sizes.to_vec(), batch, ..Settings::default() };
        let mut epochs = Vec::new();
        for (_, products, passes) in ways {
            let mut learner = InPlace::new(settings.clone(), Team { products, passes })?;
            let (data, failed) = (&data, &failed);
            let order = order(0, 1, data.len());
            epochs.push(move || {
                if let Err(error) = learner.epoch(data, &order[..pictures], 1) {
                    *failed.borrow_mut() = Some(error);
                }
            });
        }
        let mut contenders: Vec<&mut dyn FnMut()> =
            epochs.iter_mut().map(|epoch| epoch as &mut dyn FnMut()).collect();
        let plan = Plan { min_samples: 9, max_samples: 50, ..r.budget.plan() };
        let samples = measure::time_interleaved(plan, &mut contenders);
        drop(contenders);
        drop(epochs);
        if let Some(error) = failed.take() {
            return Err(error.into());
        }
        for ((way, ..), seconds) in ways.into_iter().zip(samples) {
            let list: ParamList = &[("model", &name), ("batch", &batch), ("threads", &way)];
            let rate = seconds.map(|s| pictures as f64 / s);
            r.value(KEY, list, Unit::ImagesPerSecond, rate);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use backprop::count::Model;

    #[test]
    fn operations_and_parameters_are_those_that_chapter_3_counts() {
        for (_, sizes) in MODELS {
            let counts = Model::mlp(sizes).unwrap().count().unwrap();
            let (found, wanted) = (operations(sizes), counts.forward + counts.backward);
            assert!((found - wanted).abs() < 0.5, "{found}, not {wanted}");
            assert_eq!(parameters(sizes) as u64, counts.parameters);
        }
    }
}
