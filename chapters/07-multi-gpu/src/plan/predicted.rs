//! The model against steps that were measured here: data parallel training of chapter 3's network over threads, each on
//! a core of its own and each where the system puts it.

use super::{
    AlphaBeta,
    network::Network,
    simulate::{Buckets, Job, Layer},
};
use crate::{
    Communicator, Result,
    comm::cost,
    communicator::part_of,
    cores::keep_to_core,
    split::{
        data_parallel,
        job::{Batch, Job as Training, Rule, Update},
    },
    threads::{self, Threads},
};
use backprop::{random::SplitMix64, sgd::Sgd};
use lab::{Budget, Experiment, Recorder, Samples, Unit, machine};
use std::{hint::black_box, time::Instant};

/// The networks and the pictures of a step, over all ranks.
pub const CASES: [(&str, &[usize], usize); 3] = [
    ("784-128-10", &[784, 128, 10], 128),
    ("784-512-10", &[784, 512, 10], 128),
    ("784-512-10", &[784, 512, 10], 512),
];

/// Numbers of ranks that are measured.
pub const RANKS: [usize; 3] = [1, 2, 4];

/// A network that descends, and a batch for it of pictures by chance.
fn example(sizes: &[usize], batch: usize) -> (Training, Batch) {
    let mut random = SplitMix64::new(7);
    let x = (0..batch * sizes[0]).map(|_| random.unit() as f32).collect();
    let labels = (0..batch).map(|i| (i % sizes[sizes.len() - 1]) as u8).collect();
    let rule = Rule::Sgd(Sgd { lr: 1e-3, momentum: 0.0 });
    (Training { sizes: sizes.to_vec(), seed: 1, rule }, Batch { x, labels })
}

/// How the ranks of a step are set up.
#[derive(Clone, Copy, Debug)]
struct Setup {
    ranks: usize,
    /// Whether they train together; else each trains for itself with its share of the pictures.
    together: bool,
    /// Whether each keeps to a core.
    bound: bool,
}

/// Seconds of a step, the mean of `steps` steps of the slowest rank.
fn measured(job: &Training, batch: &Batch, steps: usize, setup: Setup) -> Result<f64> {
    let times = threads::run(setup.ranks, |mut rank| {
        if setup.bound {
            keep_to_core(rank.rank());
        }
        let mine = batch.part(part_of(batch.len(), rank.rank(), setup.ranks))?;
        let mut alone = Threads::ranks(1);
        let mut model = job.model()?;
        let mut update = Update::new(job.rule, model.parameters().len());
        let mut began = Instant::now();
        for step in 0..=steps {
            if step == 1 {
                rank.barrier()?; // the first step warmed up
                began = Instant::now();
            }
            if setup.together {
                data_parallel::step(&mut model, &mut update, batch, &mut rank)?;
            } else {
                data_parallel::step(&mut model, &mut update, &mine, &mut alone[0])?;
            }
        }
        black_box(&model);
        Ok(began.elapsed().as_secs_f64() / steps as f64)
    })?;
    Ok(times.into_iter().fold(0.0, f64::max))
}

/// α and β of a ring's steps between two ranks: half of the time of an all-reduce, against half of its bytes.
fn link(rounds: usize, bound: bool) -> Result<AlphaBeta> {
    let sizes = (0..20).step_by(2).map(|log| 2_usize << log);
    let mut points = Vec::new();
    for numbers in sizes {
        let times = threads::run(2, |mut rank| {
            if bound {
                keep_to_core(rank.rank());
            }
            let mut data = vec![1.0_f32; numbers];
            let mut samples = Vec::new();
            for _ in 0..rounds {
                data.fill(1.0);
                rank.barrier()?;
                let began = Instant::now();
                rank.all_reduce(&mut data)?;
                samples.push(began.elapsed().as_secs_f64());
            }
            Ok(Samples(samples).median())
        })?;
        let bytes = 4.0 * numbers as f64;
        points.push((bytes / 2.0, times.into_iter().fold(0.0, f64::max) / 2.0));
    }
    Ok(cost::fit(&points).unwrap_or(AlphaBeta { alpha: 0.0, beta: 0.0 }))
}

/// What the prediction is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Seconds that the ranks take side by side for their shares of the pictures, without a word to each other: they
    /// share memory and clock, and cores where there are fewer than ranks. Each keeps to a core.
    pub compute: f64,
    /// Between two ranks.
    pub link: AlphaBeta,
    /// Bytes of the gradient.
    pub bytes: f64,
    /// Cores of this machine.
    pub cores: usize,
}

impl Parts {
    /// Seconds of a step over `p` ranks, with nothing hidden.
    // ANCHOR: predict
    pub fn predict(&self, p: usize) -> f64 {
        // Ranks without a core of their own take turns at their messages.
        let turns = p.div_ceil(self.cores) as f64;
        let AlphaBeta { alpha, beta } = self.link;
        let link = AlphaBeta { alpha: alpha * turns, beta: beta * turns };
        let bytes = self.bytes;
        let layer = Layer { forward: 0.0, backward: self.compute, bytes };
        let job = Job {
            layers: vec![layer],
            buckets: Buckets::AtTheEnd,
            route: None,
            update: 0.0,
            jitter: 0.0,
        };
        job.step(&Network::flat(link), p).total
    }
    // ANCHOR_END: predict
}

/// The experiment `multi_gpu.predicted`.
pub fn experiment() -> Experiment {
    Experiment {
        key: "multi_gpu.predicted",
        shows: "the time of a data parallel step over 1, 2 and 4 threads: predicted from computing time, α and β, and measured",
        values: &[
            "multi_gpu.predicted",
            "multi_gpu.predicted.measured",
            "multi_gpu.predicted.error",
            "multi_gpu.predicted.free",
            "multi_gpu.predicted.free.error",
            "multi_gpu.predicted.alpha",
            "multi_gpu.predicted.alpha.free",
            "multi_gpu.predicted.bandwidth",
            "multi_gpu.predicted.shared",
            "multi_gpu.predicted.worst",
            "multi_gpu.predicted.right",
        ],
        quick: true,
        run: |recorder| Ok(predicted(recorder)?),
    }
}

fn predicted(recorder: &mut Recorder) -> Result<()> {
    let (rounds, repeats, rows) = match recorder.budget {
        Budget::Quick => (5, 20, 800),
        Budget::Full => (25, 200, 1500),
    };
    let cores = machine::cores();
    recorder.note("multi_gpu.predicted.alpha", &[]);
    let unbound = link(repeats, false)?;
    let link = link(repeats, true)?;
    let one = |value: f64| Samples(vec![value]);
    recorder.value("multi_gpu.predicted.alpha", &[], Unit::Seconds, one(link.alpha));
    recorder.value("multi_gpu.predicted.alpha.free", &[], Unit::Seconds, one(unbound.alpha));
    recorder.value(
        "multi_gpu.predicted.bandwidth",
        &[],
        Unit::BytesPerSecond,
        one(1.0 / link.beta),
    );
    let (mut worst, mut right) = (0.0_f64, 0);
    for (model, sizes, batch) in CASES {
        recorder.note("multi_gpu.predicted", &[("model", &model), ("batch", &batch)]);
        let steps = (rows / batch).max(4);
        let (job, pictures) = example(sizes, batch);
        // In turns: one rank alone with its share of the pictures, all side by side without a word, the step, and the
        // step of ranks that the system may move.
        let mut alone = vec![Vec::new(); RANKS.len()];
        let (mut beside, mut real, mut free) = (alone.clone(), alone.clone(), alone.clone());
        for _ in 0..rounds {
            for (at, ranks) in RANKS.into_iter().enumerate() {
                let seconds = |batch: &Batch, ranks: usize, together: bool, bound: bool| {
                    measured(&job, batch, steps, Setup { ranks, together, bound })
                };
                let share = pictures.part(0..batch / ranks)?;
                alone[at].push(seconds(&share, 1, false, true)?);
                beside[at].push(seconds(&pictures, ranks, false, true)?);
                real[at].push(seconds(&pictures, ranks, true, true)?);
                free[at].push(seconds(&pictures, ranks, true, false)?);
            }
        }
        let weights: usize = sizes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum();
        let (mut planned, mut fastest) = ((f64::INFINITY, 0), (f64::INFINITY, 0));
        for (at, p) in RANKS.into_iter().enumerate() {
            let list: lab::record::ParamList =
                &[("model", &model), ("batch", &batch), ("ranks", &p)];
            let slower = beside[at].iter().zip(&alone[at]).map(|(side, alone)| side / alone);
            let slower = Samples(slower.collect());
            recorder.value("multi_gpu.predicted.shared", list, Unit::Ratio, slower);
            let compute = Samples(beside[at].clone()).median();
            let bytes = 4.0 * (weights as f64 + 1.0); // and the loss
            let parts = Parts { compute, link, bytes, cores };
            let predicted = parts.predict(p);
            recorder.value("multi_gpu.predicted", list, Unit::Seconds, one(predicted));
            let real = Samples(real[at].clone());
            let error = predicted / real.median() - 1.0;
            planned = if predicted < planned.0 { (predicted, p) } else { planned };
            fastest = if real.median() < fastest.0 { (real.median(), p) } else { fastest };
            recorder.value("multi_gpu.predicted.measured", list, Unit::Seconds, real);
            recorder.value("multi_gpu.predicted.error", list, Unit::Share, one(error));
            let free = Samples(free[at].clone());
            let error_free = predicted / free.median() - 1.0;
            recorder.value("multi_gpu.predicted.free", list, Unit::Seconds, free);
            recorder.value("multi_gpu.predicted.free.error", list, Unit::Share, one(error_free));
            worst = worst.max(error.abs());
        }
        right += usize::from(planned.1 == fastest.1);
    }
    recorder.value("multi_gpu.predicted.right", &[], Unit::Count, one(right as f64));
    recorder.value("multi_gpu.predicted.worst", &[], Unit::Share, one(worst));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_by_hand() {
        let link = AlphaBeta { alpha: 0.5, beta: 0.25 };
        let parts = Parts { compute: 10.0, link, bytes: 8.0, cores: 2 };
        assert_eq!(parts.predict(1), 10.0);
        // Two messages of four bytes.
        assert!((parts.predict(2) - (10.0 + 2.0 * (0.5 + 1.0))).abs() < 1e-12);
        // Six messages of two bytes, in turns.
        assert!((parts.predict(4) - (10.0 + 6.0 * (1.0 + 1.0))).abs() < 1e-12);
    }

    #[test]
    fn a_step_takes_time_however_the_ranks_are_set_up() {
        let (job, batch) = example(&[20, 9, 10], 12);
        for (together, bound) in [(true, true), (true, false), (false, true)] {
            let setup = Setup { ranks: 3, together, bound };
            assert!(measured(&job, &batch, 2, setup).unwrap() > 0.0, "{setup:?}");
        }
    }

    #[test]
    fn a_link_has_latency_or_bandwidth() {
        for bound in [false, true] {
            let link = link(3, bound).unwrap();
            assert!(link.alpha >= 0.0 && link.beta >= 0.0 && link.alpha + link.beta > 0.0);
        }
    }
}
