//! The model against steps that were measured here: data parallel training of chapter 3's network over threads, each on
//! a core of its own and each where the system puts it.

use super::{
    AlphaBeta,
    network::Network,
    simulate::{Buckets, Job, Layer},
};
use crate::{Communicator, Result, comm::cost, cores::keep_to_core, threads};
use backprop::{mlp::Mlp, random::SplitMix64, softmax::loss_and_gradient};
use lab::{Budget, Experiment, Recorder, Samples, Unit};
use std::{hint::black_box, time::Instant};

/// The networks and the pictures of a step, over all ranks.
pub const CASES: [(&str, &[usize], usize); 3] = [
    ("784-128-10", &[784, 128, 10], 128),
    ("784-512-10", &[784, 512, 10], 128),
    ("784-512-10", &[784, 512, 10], 512),
];

/// Numbers of ranks that are measured.
pub const RANKS: [usize; 3] = [1, 2, 4];

/// A rank's copy of the network and its share of the pictures. It descends in place: to copy parameters out and in, as
/// [`crate::split::data_parallel`] does for any optimizer, would be timed with the step.
struct Replica {
    model: Mlp<f32>,
    pixels: Vec<f32>,
    labels: Vec<u8>,
}

impl Replica {
    fn new(sizes: &[usize], batch: usize) -> Result<Self> {
        let mut random = SplitMix64::new(7);
        let pixels = (0..batch * sizes[0]).map(|_| random.unit() as f32).collect();
        let labels = (0..batch).map(|i| (i % 10) as u8).collect();
        Ok(Self { model: Mlp::new(sizes, 1)?, pixels, labels })
    }

    /// Forward and backward. Returns the gradient as one vector.
    fn gradient(&self) -> Result<Vec<f32>> {
        let pass = self.model.forward(&self.pixels, None)?;
        let (_, dscores) = loss_and_gradient(&pass.scores, &self.labels, self.model.classes())?;
        Ok(self.model.backward(&pass, &dscores, false)?.flat())
    }

    /// Plain gradient descent with the mean over `p` ranks.
    fn update(&mut self, gradient: &[f32], p: usize) {
        let rate = 1e-3 / p as f32;
        let mut gradient = gradient.iter();
        for tensor in self.model.tensors_mut() {
            tensor.iter_mut().zip(&mut gradient).for_each(|(w, g)| *w -= rate * g);
        }
    }
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

/// Seconds of a step of `batch` pictures, the mean of `steps` steps of the slowest rank.
fn measured(sizes: &[usize], batch: usize, steps: usize, setup: Setup) -> Result<f64> {
    let times = threads::run(setup.ranks, |mut rank| {
        if setup.bound {
            keep_to_core(rank.rank());
        }
        let mut replica = Replica::new(sizes, batch / setup.ranks)?;
        let mut began = Instant::now();
        for step in 0..=steps {
            if step == 1 {
                rank.barrier()?; // the first step warmed up
                began = Instant::now();
            }
            let mut gradient = replica.gradient()?;
            if setup.together {
                rank.all_reduce(&mut gradient)?;
            }
            replica.update(&gradient, setup.ranks);
        }
        black_box(&replica.model);
        Ok(began.elapsed().as_secs_f64() / steps as f64)
    })?;
    Ok(times.into_iter().fold(0.0, f64::max))
}

/// α and β of a ring's messages between so many ranks: the time of an all-reduce over its 2(p − 1) messages, against
/// the bytes of one. Ranks that share a core are another link than ranks that do not.
fn link(ranks: usize, rounds: usize, bound: bool) -> Result<AlphaBeta> {
    let messages = 2.0 * (ranks - 1) as f64;
    let sizes = (0..20).step_by(2).map(|log| 2_usize << log);
    let mut points = Vec::new();
    for numbers in sizes {
        let times = threads::run(ranks, |mut rank| {
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
        let seconds = times.into_iter().fold(0.0, f64::max);
        points.push((bytes / ranks as f64, seconds / messages));
    }
    Ok(cost::fit(&points).unwrap_or(AlphaBeta { alpha: 0.0, beta: 0.0 }))
}

/// What the prediction is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Seconds that the ranks take side by side for their shares of the pictures, without a word to each other: they
    /// share memory and clock, and cores where there are fewer than ranks. Each keeps to a core.
    pub compute: f64,
    /// Between the ranks of the ring.
    pub link: AlphaBeta,
    /// Bytes of the gradient.
    pub bytes: f64,
}

impl Parts {
    /// Seconds of a step over `p` ranks, with nothing hidden.
    // ANCHOR: predict
    pub fn predict(&self, p: usize) -> f64 {
        let bytes = self.bytes;
        let layer = Layer { forward: 0.0, backward: self.compute, bytes };
        let job = Job {
            layers: vec![layer],
            buckets: Buckets::AtTheEnd,
            route: None,
            update: 0.0,
            jitter: 0.0,
        };
        job.step(&Network::flat(self.link), p).total
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
    let (rounds, repeats, pictures) = match recorder.budget {
        Budget::Quick => (5, 20, 800),
        Budget::Full => (25, 200, 1500),
    };
    let one = |value: f64| Samples(vec![value]);
    let mut links = Vec::new();
    for p in RANKS {
        if p == 1 {
            links.push(AlphaBeta { alpha: 0.0, beta: 0.0 }); // it sends nothing
            continue;
        }
        let list: lab::record::ParamList = &[("ranks", &p)];
        recorder.note("multi_gpu.predicted.alpha", list);
        let (free, bound) = (link(p, repeats, false)?, link(p, repeats, true)?);
        recorder.value("multi_gpu.predicted.alpha", list, Unit::Seconds, one(bound.alpha));
        recorder.value("multi_gpu.predicted.alpha.free", list, Unit::Seconds, one(free.alpha));
        let bandwidth = one(1.0 / bound.beta);
        recorder.value("multi_gpu.predicted.bandwidth", list, Unit::BytesPerSecond, bandwidth);
        links.push(bound);
    }
    let (mut worst, mut right) = (0.0_f64, 0);
    for (model, sizes, batch) in CASES {
        recorder.note("multi_gpu.predicted", &[("model", &model), ("batch", &batch)]);
        let steps = (pictures / batch).max(4);
        // In turns: one rank alone with its share of the pictures, all side by side without a word, the step, and the
        // step of ranks that the system may move.
        let mut alone = vec![Vec::new(); RANKS.len()];
        let (mut beside, mut real, mut free) = (alone.clone(), alone.clone(), alone.clone());
        for _ in 0..rounds {
            for (at, ranks) in RANKS.into_iter().enumerate() {
                let seconds = |batch: usize, ranks: usize, together: bool, bound: bool| {
                    measured(sizes, batch, steps, Setup { ranks, together, bound })
                };
                alone[at].push(seconds(batch / ranks, 1, false, true)?);
                beside[at].push(seconds(batch, ranks, false, true)?);
                real[at].push(seconds(batch, ranks, true, true)?);
                free[at].push(seconds(batch, ranks, true, false)?);
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
            let bytes = 4.0 * weights as f64;
            let parts = Parts { compute, link: links[at], bytes };
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
        let parts = Parts { compute: 10.0, link, bytes: 8.0 };
        assert_eq!(parts.predict(1), 10.0);
        // Two messages of four bytes.
        assert!((parts.predict(2) - (10.0 + 2.0 * (0.5 + 1.0))).abs() < 1e-12);
        // Six messages of two bytes.
        assert!((parts.predict(4) - (10.0 + 6.0 * (0.5 + 0.5))).abs() < 1e-12);
    }

    #[test]
    fn ranks_that_talk_stay_equal_and_take_time() {
        let sizes = [20, 9, 10];
        for (together, bound) in [(true, true), (true, false), (false, true)] {
            let setup = Setup { ranks: 3, together, bound };
            assert!(measured(&sizes, 12, 2, setup).unwrap() > 0.0, "{setup:?}");
        }
        let models = threads::run(3, |mut rank| {
            let mut replica = Replica::new(&sizes, 4 + rank.rank().0)?;
            for _ in 0..3 {
                let mut gradient = replica.gradient()?;
                rank.all_reduce(&mut gradient)?;
                replica.update(&gradient, 3);
            }
            Ok(replica.model.parameters())
        })
        .unwrap();
        assert!(models[1..].iter().all(|model| *model == models[0]));
        assert!(models[0] != Replica::new(&sizes, 4).unwrap().model.parameters());
    }

    #[test]
    fn a_link_has_latency_or_bandwidth() {
        for (ranks, bound) in [(2, false), (2, true), (3, true)] {
            let link = link(ranks, 3, bound).unwrap();
            assert!(link.alpha >= 0.0 && link.beta >= 0.0 && link.alpha + link.beta > 0.0);
        }
    }
}
