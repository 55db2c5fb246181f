//! What a step needs, what the ways out save, and what they cost.

use crate::{
    Result,
    engine::{
        backend::Form, cpu::Ways, needs::Needs, program::Numbers, record::Pass, rule::adam,
        step::Step,
    },
    ladder::layers,
    learner::{Engine, needs, threads},
    memory::{
        meter::{Scope, peak_of},
        predict,
    },
};
use backprop::{
    check::error_f32,
    fits::{Bytes, Moves},
};
use dfdx::prelude::Cpu;
use lab::{Budget, Experiment, Race, Recorder, Samples, data::drawn, record::ParamList};
use std::time::Instant;
use training::{
    EngineKind, Model, Settings,
    engine::Resident,
    model::{CLASSES, PIXELS},
    step::{Batch, Learner as _, Stepper as _},
};
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
            recompute,
            "activation recomputing: memory against time, by the number of segments";
    }
}

/// The settings of a model by the engine.
fn of(model: Model, accumulate: Option<usize>) -> Settings {
    Settings { engine: EngineKind::Fast, accumulate, ..Settings::of(model) }
}

/// The peak of a step that is not the first of its kind: what products lay matrices out in stays with the threads.
fn peak(settings: &Settings, images: usize) -> Result<u64> {
    step(settings, images)?;
    Ok(step(settings, images)?.0)
}

/// The peak of a step, with what its engine has kept since it was made, and the seconds of the step.
fn step(settings: &Settings, images: usize) -> Result<(u64, f64)> {
    let data = Resident::new(&Cpu::default(), &drawn(images, 1, 1).train)?;
    let index: Vec<usize> = (0..images).collect();
    let scope = Scope::begin();
    let mut learner = Engine::new(&Cpu::seed_from_u64(1), settings)?;
    scope.reset(); // the first weights are made by chapter 4
    let mut seconds = 0.0;
    for _ in 0..3 {
        let start = Instant::now();
        learner.step_on(0.001, &Batch::of(&data, &index))?;
        seconds = start.elapsed().as_secs_f64(); // the last one is warm
    }
    Ok((scope.peak(), seconds))
}

fn memory(rec: &mut Recorder) -> Result<()> {
    let full = rec.budget == Budget::Full;
    let batches: [(_, _, &[usize]); 2] = [
        (
            Model::Mlp,
            predict::mlp()?,
            if full { &[1, 8, 32, 128, 512, 2048] } else { &[32, 128, 512] },
        ),
        (Model::Cnn, predict::cnn(), if full { &[1, 4, 16, 64, 128, 256] } else { &[16, 128] }),
    ];
    for (model, counted, batches) in batches {
        for count in batches {
            let list: ParamList = &[("model", &model), ("batch", count)];
            rec.note_at(MEMORY.at(list));
            let found = peak(&of(model, None), *count)?;
            // A step alone: predictions take no more images at a time.
            let needed = needs(&of(model, Some(*count)), *count);
            let least = predict::least(&counted, *count as u64, Moves::Adam)?;
            rec.one(MEMORY.at(list), found as f64);
            rec.one(PREDICTED.at(list), needed.total() as f64);
            rec.one(LEAST.at(list), least.total() as f64);
            let Bytes { weights, gradients, optimizer, activations, scratch } = least;
            let parts = [
                ("weights", weights),
                ("gradients", gradients),
                ("optimizer", optimizer),
                ("activations", activations),
                ("backward", scratch),
            ];
            for (part, count) in parts {
                rec.one(PART.at(list).with("part", part), count as f64);
            }
            if *count > 1 {
                let half = peak(&of(model, None), count / 2)?;
                rec.one(HALVED.at(list), half as f64 / found as f64);
            }
        }
    }
    Ok(())
}

/// The images of the batch that is taken in pieces.
const WHOLE: usize = 2048;

fn accumulate(rec: &mut Recorder) -> Result<()> {
    let full = rec.budget == Budget::Full;
    let whole = gradient(&of(Model::Mlp, None), WHOLE)?;
    let pieces: &[usize] =
        if full { &[2048, 1024, 512, 256, 128, 64, 32, 16, 8] } else { &[2048, 512, 128, 32] };
    for piece in pieces {
        let list: ParamList = &[("model", &"mlp"), ("piece", piece)];
        rec.note_at(PIECES.at(list));
        let settings = of(Model::Mlp, Some(*piece));
        let (mut peak, mut seconds) = (u64::MAX, Vec::new());
        for _ in 0..if full { 11 } else { 3 } {
            let (found, took) = step(&settings, WHOLE)?;
            peak = peak.min(found);
            seconds.push(took);
        }
        rec.one(PIECES.at(list), peak as f64);
        rec.one(PIECES_PREDICTED.at(list), needs(&settings, WHOLE).total() as f64);
        rec.record(PIECES_SECONDS.at(list), Samples(seconds));
        rec.one(PIECES_OFF.at(list), error_f32(&gradient(&settings, WHOLE)?, &whole));
    }
    // What a batch in pieces can't equal: means over the images at hand.
    let [part, all] = [Some(16), None].map(|most| gradient(&of(Model::Resnet, most), 64));
    rec.one(PIECES_OFF.at(&[("model", &"resnet")]), error_f32(&part?, &all?));
    Ok(())
}

/// The gradient of so many images.
fn gradient(settings: &Settings, images: usize) -> Result<Vec<f32>> {
    let data = Resident::new(&Cpu::default(), &drawn(images, 1, 1).train)?;
    let index: Vec<usize> = (0..images).collect();
    let mut learner = Engine::new(&Cpu::seed_from_u64(1), settings)?;
    learner.gradients(data.images(&index)?, data.targets(&index)?)?;
    let mut row = Vec::new();
    learner.pack(&mut row)?;
    Ok(row)
}

/// Hidden layers of the deep model, and units of each.
const LAYERS: usize = 16;
const UNITS: usize = 256;

fn recompute(rec: &mut Recorder) -> lab::Result<()> {
    let full = rec.budget == Budget::Full;
    let (count, times) = if full { (2048, 7) } else { (512, 3) };
    let segments = [0, 1, 2, 4, 6, 8, 12, 16];
    let pass = Pass::piece(&(0..count), Numbers::F32);
    let sizes = [&[PIXELS][..], &[UNITS; LAYERS], &[CLASSES]].concat();
    let mut peaks = Vec::new();
    let mut race = Race::new();
    for segments in segments {
        rec.note_at(SEGMENTS.at(&[("segments", &segments)]));
        let model = || layers(&sizes, 0.0).recomputed(segments);
        let predicted = Needs::of(&model(), &[pass], Form::CPU, threads()).total();
        let made = || {
            let mut step = Step::new(model(), threads(), Ways::default(), 1, adam);
            whole(&mut step, count);
            step
        };
        drop(made());
        let (mut step, peak) = peak_of(made);
        peaks.push((peak, predicted));
        race.add(segments.to_string(), move || {
            whole(&mut step, count);
            Ok(())
        });
    }
    // In turns, so that a change of the clock meets all alike.
    let results = race.rounds(times)?;
    for (segments, (peak, predicted)) in segments.into_iter().zip(peaks) {
        let list: ParamList =
            &[("layers", &LAYERS), ("units", &UNITS), ("batch", &count), ("segments", &segments)];
        let who = segments.to_string();
        rec.one(SEGMENTS.at(list), peak as f64);
        rec.one(SEGMENTS_PREDICTED.at(list), predicted as f64);
        rec.record(SEGMENTS_SLOWER.at(list), results.ratio(&who, "0")?);
        rec.record(SEGMENTS_SECONDS.at(list), results.samples(&who)?);
    }
    Ok(())
}

/// A whole step on images that look like nothing: no time depends on them.
fn whole(step: &mut Step, images: usize) {
    let (pixels, labels) = step.batch(images);
    pixels.iter_mut().enumerate().for_each(|(at, pixel)| *pixel = (at % 251) as f32 / 251.0);
    labels.iter_mut().enumerate().for_each(|(at, label)| *label = at as u32 % 10);
    step.gradient(images, Numbers::F32);
    step.update(0.001);
}
