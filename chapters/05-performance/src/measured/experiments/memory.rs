//! What a step needs, what the ways out save, and what they cost.

use crate::{
    Result,
    memory::{
        meter::peak_of,
        predict,
        recompute::Deep,
        step::{Learner, batch, distance, noise},
    },
};
use backprop::fits::{Bytes, Moves};
use dfdx::prelude::Cpu;
use lab::{Budget, Experiment, Recorder, Samples, record::ParamList};
use std::time::Instant;
use training::{cnn::Cnn, engine::Resident, mlp::Mlp, model::Network, resnet::Resnet};
lab::keys! {
    /// The peak memory of a step.
    pub MEMORY: measured "performance.memory", Bytes, ["model", "batch"];
    /// The same, before it runs.
    pub PREDICTED: calculated "performance.memory.predicted", Bytes, ["model", "batch"];
    /// What chapter 3 counts.
    pub LEAST: counted "performance.memory.least", Bytes, ["model", "batch"];
    /// Parts of that.
    pub PART: counted "performance.memory.part", Bytes, ["model", "batch", "part"];
    /// The fraction that is left with half the batch.
    pub HALVED: measured "performance.memory.halved", Share, ["model", "batch"];
    /// The peak memory of a step in pieces.
    pub PIECES: measured "performance.accumulate", Bytes, ["model", "piece"];
    /// The same, before it runs.
    pub PIECES_PREDICTED: calculated "performance.accumulate.predicted", Bytes, ["model", "piece"];
    /// Seconds of a step in pieces.
    PIECES_SECONDS: measured "performance.accumulate.seconds", Seconds, ["model", "piece"];
    /// How far its gradient is from the whole batch's.
    PIECES_OFF: measured "performance.accumulate.off", Number, ["model", "piece"];
    /// The peak memory of a step that recomputes.
    pub SEGMENTS: measured "performance.recompute", Bytes, ["layers", "units", "batch", "segments"];
    /// The same, before it runs.
    pub SEGMENTS_PREDICTED: calculated "performance.recompute.predicted", Bytes, ["layers", "units", "batch", "segments"];
    /// Seconds of a step that recomputes.
    SEGMENTS_SECONDS: measured "performance.recompute.seconds", Seconds, ["layers", "units", "batch", "segments"];
    /// The same over a step that keeps everything.
    SEGMENTS_SLOWER: measured "performance.recompute.slower", Ratio, ["layers", "units", "batch", "segments"];
}

/// This part's experiments.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick MEMORY.name => &[MEMORY, PREDICTED, LEAST, PART, HALVED], |rec| Ok(memory(rec)?),
            "the peak memory of a step, predicted and measured, by batch";
        quick PIECES.name => &[PIECES, PIECES_PREDICTED, PIECES_SECONDS, PIECES_OFF], |rec| Ok(accumulate(rec)?),
            "a batch in pieces: what memory it saves, what time it costs, and how far the gradients are from the whole";
        quick SEGMENTS.name =>
            &[SEGMENTS, SEGMENTS_PREDICTED, SEGMENTS_SECONDS, SEGMENTS_SLOWER],
            |rec| Ok(recompute(rec)?),
            "activation recomputing: memory against time, by the number of segments";
    }
}

fn bytes(count: u64) -> Samples {
    Samples::one(count as f64)
}

fn images(count: usize) -> Result<Resident<Cpu>> {
    Resident::new(&Cpu::default(), &noise(count, 1))
}

/// The peak of two steps from an empty heap, after a step that is not measured: since the first product, libraries keep
/// some memory for themselves.
fn peak<M: Network<Cpu>>(count: usize) -> Result<u64> {
    let data = images(count)?;
    let index: Vec<usize> = (0..count).collect();
    let steps = || -> Result<()> {
        let mut learner = Learner::<M>::new(&Cpu::seed_from_u64(1))?;
        for _ in 0..2 {
            let (x, y) = batch(&data, &index)?;
            learner.add(x, y, 1.0)?;
            learner.update(0.001)?;
        }
        Ok(())
    };
    steps()?;
    let (done, peak) = peak_of(steps);
    done?;
    Ok(peak)
}

/// [`peak`] for one model.
type Peak = fn(usize) -> Result<u64>;

fn memory(rec: &mut Recorder) -> Result<()> {
    let full = rec.budget == Budget::Full;
    let threads = rayon::current_num_threads() as u64;
    let models: [(_, Peak, &[usize]); 2] = [
        (
            predict::mlp()?,
            peak::<Mlp<Cpu>>,
            if full { &[1, 8, 32, 128, 512, 2048] } else { &[32, 128, 512] },
        ),
        (
            predict::cnn(),
            peak::<Cnn<f32, Cpu>>,
            if full { &[1, 4, 16, 64, 128, 256] } else { &[16, 128] },
        ),
    ];
    for (model, peak, batches) in models {
        for count in batches {
            let list: ParamList = &[("model", &model.name), ("batch", count)];
            rec.note_at(MEMORY.at(list));
            let found = peak(*count)?;
            let step = predict::timeline(&model, *count as u64, Moves::Adam, threads)?;
            let least = predict::least(&model, *count as u64, Moves::Adam)?;
            rec.record(MEMORY.at(list), bytes(found));
            rec.record(PREDICTED.at(list), bytes(step.peak()));
            rec.record(LEAST.at(list), bytes(least.total()));
            let Bytes { weights, gradients, optimizer, activations, scratch } = least;
            let parts = [
                ("weights", weights),
                ("gradients", gradients),
                ("optimizer", optimizer),
                ("activations", activations),
                ("backward", scratch),
            ];
            for (part, count) in parts {
                rec.record(PART.at(list).with("part", part), bytes(count));
            }
            if *count > 1 {
                rec.one(HALVED.at(list), peak(count / 2)? as f64 / found as f64);
            }
        }
    }
    Ok(())
}

/// The images of the batch that is taken in pieces.
const WHOLE: usize = 2048;

fn accumulate(rec: &mut Recorder) -> Result<()> {
    let full = rec.budget == Budget::Full;
    let data = images(WHOLE)?;
    let index: Vec<usize> = (0..WHOLE).collect();
    let model = predict::mlp()?;
    let threads = rayon::current_num_threads() as u64;
    let gradient = |piece: usize| gradient::<Mlp<Cpu>>((1, 0.0), WHOLE, piece);
    let whole = gradient(WHOLE)?;
    let pieces: &[usize] =
        if full { &[2048, 1024, 512, 256, 128, 64, 32, 16, 8] } else { &[2048, 512, 128, 32] };
    for piece in pieces {
        let list: ParamList = &[("model", &"mlp"), ("piece", piece)];
        rec.note_at(PIECES.at(list));
        let steps = || -> Result<f64> {
            let mut learner = Learner::<Mlp<Cpu>>::new(&Cpu::seed_from_u64(1))?;
            let mut seconds = 0.0;
            for _ in 0..2 {
                let start = Instant::now();
                learner.accumulate(&data, &index, *piece)?;
                learner.update(0.001)?;
                seconds = start.elapsed().as_secs_f64(); // the second one is warm
            }
            Ok(seconds)
        };
        let mut seconds = vec![steps()?];
        let (done, peak) = peak_of(steps);
        done?;
        for _ in 1..if full { 11 } else { 3 } {
            seconds.push(steps()?);
        }
        let predicted = predict::timeline(&model, *piece as u64, Moves::Adam, threads)?.peak();
        rec.record(PIECES.at(list), bytes(peak));
        rec.record(PIECES_PREDICTED.at(list), bytes(predicted));
        rec.record(PIECES_SECONDS.at(list), Samples(seconds));
        rec.one(PIECES_OFF.at(list), distance(&gradient(*piece)?, &whole));
    }
    // What a batch in pieces can't equal: masks that are drawn for each pass, and means over the images at hand.
    rec.record(PIECES_OFF.at(&[("model", &"dropout")]), off::<Mlp<Cpu>>(0.2)?);
    rec.record(PIECES_OFF.at(&[("model", &"resnet")]), off::<Resnet<f32, Cpu>>(0.0)?);
    Ok(())
}

/// The gradient of so many images in pieces, by a model of a seed.
fn gradient<M: Network<Cpu>>(
    (seed, dropout): (u64, f32),
    count: usize,
    piece: usize,
) -> Result<Vec<f32>> {
    let mut learner = Learner::<M>::new(&Cpu::seed_from_u64(seed))?;
    learner.model.set_dropout(dropout);
    learner.accumulate(&images(count)?, &(0..count).collect::<Vec<_>>(), piece)?;
    learner.gradients()
}

/// How far four quarters of 64 images are from the whole, for models of three seeds.
fn off<M: Network<Cpu>>(dropout: f32) -> Result<Samples> {
    let of = |seed, piece| gradient::<M>((seed, dropout), 64, piece);
    let far = (0..3).map(|seed| Ok(distance(&of(seed, 16)?, &of(seed, 64)?)));
    Ok(Samples(far.collect::<Result<_>>()?))
}

/// Layers of the deep model, and units of each.
const LAYERS: usize = 16;
const UNITS: usize = 256;

fn recompute(rec: &mut Recorder) -> Result<()> {
    let full = rec.budget == Budget::Full;
    let (count, times) = if full { (2048, 7) } else { (512, 3) };
    let dev = Cpu::seed_from_u64(1);
    let mut deep = Deep::<UNITS>::new(&dev, LAYERS, 0.0)?;
    let data = images(count)?;
    let index: Vec<usize> = (0..count).collect();
    let segments = [0, 1, 2, 4, 6, 8, 12, 16];
    let mut step = |segments: usize| -> Result<f64> {
        let start = Instant::now();
        let (x, y) = batch(&data, &index)?;
        deep.gradients(x, y, segments, 0)?;
        Ok(start.elapsed().as_secs_f64())
    };
    let mut peaks = Vec::new();
    for segments in segments {
        rec.note_at(SEGMENTS.at(&[("segments", &segments)]));
        step(segments)?;
        let (done, peak) = peak_of(|| step(segments));
        done?;
        peaks.push(peak);
    }
    // In turns, so that a change of the clock meets all alike.
    let mut seconds = vec![Vec::new(); segments.len()];
    for _ in 0..times {
        for (segments, seconds) in segments.into_iter().zip(&mut seconds) {
            seconds.push(step(segments)?);
        }
    }
    let plain = Samples(seconds[0].clone());
    for ((segments, seconds), peak) in segments.into_iter().zip(seconds).zip(peaks) {
        let list: ParamList =
            &[("layers", &LAYERS), ("units", &UNITS), ("batch", &count), ("segments", &segments)];
        let seconds = Samples(seconds);
        rec.record(SEGMENTS.at(list), bytes(peak));
        rec.record(SEGMENTS_PREDICTED.at(list), bytes(deep.predicted(count as u64, segments)));
        rec.record(SEGMENTS_SLOWER.at(list), seconds.paired(&plain, |s, plain| s / plain));
        rec.record(SEGMENTS_SECONDS.at(list), seconds);
    }
    Ok(())
}
