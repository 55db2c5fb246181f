//! The engine's step, call by call. Names, operations and bytes are the calls' own, so nothing has to be read out of a type.

use super::{
    cost::Cost,
    report::{Moment, Profile, WARM_UP, check, on_images},
    tape::Phase,
};
use crate::{
    Result,
    engine::{
        cpu::{Loaded, Ways},
        program::{Call, Numbers},
        rule::adam,
        step::Step,
    },
    learner::operations,
};
use lab::{Samples, data::Split};
use matmul::parallel;
use std::{sync::atomic::Ordering::Relaxed, time::Instant};
use training::{Model, model::PIXELS};

/// Profiles so many steps of a model on `batch` images.
///
/// # Errors
/// [`crate::Error::Config`] for a batch or a number of steps that is 0, or a batch larger than the data set.
pub fn profile(model: Model, data: &Split, batch: usize, steps: usize) -> Result<Profile> {
    check(data.labels.len(), batch, steps)?;
    let pixels = data.scaled();
    let mut step =
        Step::new(operations(model, 0.2), parallel::available(), Ways::default(), 0, adam);
    let image = |at: usize| &pixels[at * PIXELS..][..PIXELS];
    step.gather(batch, image, |at| data.labels[at]);
    let turn = |step: &mut Step| -> Result<()> {
        step.gradient(batch, Numbers::F32);
        step.update(1e-3);
        Ok(())
    };
    of(on_images(model, batch), &mut step, |step| step, steps, turn)
}

/// Profiles so many steps of whoever owns an engine: what each call takes of the step, and a step with and without the clock,
/// in turns. A call's row has what all its runs cost.
///
/// # Errors
/// Those of `turn`, which takes a step.
pub fn of<T, E>(
    what: String,
    own: &mut T,
    engine: impl Fn(&mut T) -> &mut Step,
    steps: usize,
    mut turn: impl FnMut(&mut T) -> Result<(), E>,
) -> Result<Profile, E> {
    let (mut each, mut before): (Vec<Vec<f64>>, Vec<f64>) = (Vec::new(), Vec::new());
    let (mut total, mut plain) = (Vec::new(), Vec::new());
    for at in 0..WARM_UP + steps {
        for clock in [true, false] {
            engine(own).device.clock = clock;
            let start = Instant::now();
            turn(own)?;
            let seconds = start.elapsed().as_secs_f64();
            if at >= WARM_UP {
                if clock { &mut total } else { &mut plain }.push(seconds);
            }
        }
        let spent = engine(own).programs().flat_map(Loaded::profile).map(|(_, spent)| spent);
        let spent: Vec<f64> = spent.collect();
        if at >= WARM_UP {
            each.push(spent.iter().zip(&before).map(|(now, before)| now - before).collect());
        }
        before = spent;
    }
    let runs = |loaded: &Loaded| loaded.runs.load(Relaxed) as usize / (WARM_UP + steps);
    let programs = engine(own).programs();
    let calls = programs.flat_map(|one| one.calls.iter().map(move |call| (call, runs(one))));
    let event = |(at, (call, times)): (usize, (&Call, usize))| {
        let (phase, name) = named(&call.op, call.name);
        let cost = Cost::of(call.name, call.flops, call.bytes() as f64).times(times);
        let seconds = Samples(each.iter().map(|step| step[at]).collect());
        (Moment { phase, name, times, seconds }, cost)
    };
    let events = calls.enumerate().map(event).collect();
    Ok(Profile::of(what, events, [total, plain].map(Samples)))
}

/// The phase and the name of a call: its operation's, but for which of many layers alike it is of, and its own.
pub fn named(op: &str, call: &str) -> (Phase, String) {
    let (op, phase) = match op.strip_suffix(" backward") {
        Some(op) => (op, Phase::Backward),
        None if op == "batch" => ("", Phase::Gather),
        None if op == "loss" => ("", Phase::Loss),
        None if ["norm", "update"].contains(&op) => ("", Phase::Update),
        None => (op, Phase::Forward),
    };
    let layer = op.strip_prefix("layers.").and_then(|layer| layer.split_once('.'));
    let op = layer.map_or(op, |(_, part)| part);
    (phase, format!("{op} {call}").trim_start().to_owned())
}
