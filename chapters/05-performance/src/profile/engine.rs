//! The engine's step, call by call. Names, operations and bytes are the calls' own, so nothing has to be read out of a type.

use super::{
    cost::Cost,
    report::{Moment, Profile, WARM_UP, check},
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
use std::time::Instant;
use training::{Model, model::PIXELS};

/// Profiles so many steps of a model on `batch` images: what each call takes of the step, and a step with and without the
/// clock, in turns.
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
    let (mut each, mut before): (Vec<Vec<f64>>, Vec<f64>) = (Vec::new(), Vec::new());
    let (mut total, mut plain) = (Vec::new(), Vec::new());
    for at in 0..WARM_UP + steps {
        for clock in [true, false] {
            step.device.clock = clock;
            let start = Instant::now();
            step.gradient(batch, Numbers::F32);
            step.update(1e-3);
            let seconds = start.elapsed().as_secs_f64();
            if at >= WARM_UP {
                if clock { &mut total } else { &mut plain }.push(seconds);
            }
        }
        let spent: Vec<f64> =
            calls(&step).flat_map(Loaded::profile).map(|(_, spent)| spent).collect();
        if at >= WARM_UP {
            each.push(spent.iter().zip(&before).map(|(now, before)| now - before).collect());
        }
        before = spent;
    }
    let event = |(at, (call, _)): (usize, (&Call, f64))| {
        let (op, phase) = match call.op.strip_suffix(" backward") {
            Some(op) => (op, Phase::Backward),
            None if call.op == "loss" => ("", Phase::Loss),
            None if call.op == "update" => ("", Phase::Update),
            None => (&*call.op, Phase::Forward),
        };
        let name = format!("{op} {}", call.name).trim_start().to_owned();
        let seconds = Samples(each.iter().map(|step| step[at]).collect());
        let products = if call.name == "product" { call.flops } else { 0.0 };
        let (others, bytes) = (call.flops - products, call.bytes() as f64);
        (Moment { phase, name, seconds }, Cost { products, others, bytes })
    };
    let events = calls(&step).flat_map(Loaded::profile).enumerate().map(event).collect();
    Ok(Profile::of((model, batch), events, [total, plain].map(Samples)))
}

/// What a step runs.
fn calls(step: &Step) -> impl Iterator<Item = &Loaded> {
    step.passes.values().chain([&step.update])
}
