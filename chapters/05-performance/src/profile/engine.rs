//! The engine's step, call by call. Names, operations and bytes are the calls' own, so nothing has to be read out of a type.

use super::{
    cost::Cost,
    report::{Moment, Profile, Row},
    tape::Phase,
};
use crate::{
    Error, Result,
    engine::{
        cpu::{Loaded, Ways},
        program::Numbers,
        step::{Step, adam},
    },
    learner::operations,
};
use lab::{Samples, data::Split};
use matmul::parallel;
use std::time::Instant;
use training::{Model, model::PIXELS};

/// Steps before the first that counts.
const WARM_UP: usize = 3;

/// Profiles so many steps of a model on `batch` images: what each call takes of all threads, and a step with and without the
/// clock, in turns.
///
/// # Errors
/// [`Error::Config`] for a batch or a number of steps that is 0, or a batch larger than the data set.
pub fn profile(model: Model, data: &Split, batch: usize, steps: usize) -> Result<Profile> {
    if batch == 0 || steps == 0 || batch > data.labels.len() {
        return Err(Error::Config(format!(
            "a profile needs at least one step, and a batch from 1 to {} images, not {batch}",
            data.labels.len()
        )));
    }
    let pixels = data.scaled();
    let threads = parallel::available();
    let mut step = Step::new(operations(model, 0.2), threads, Ways::default(), 0, adam);
    let image = |at: usize| &pixels[at * PIXELS..][..PIXELS];
    step.gather(batch, image, |at| data.labels[at]);
    let (mut each, mut before): (Vec<Vec<f64>>, _) = (Vec::new(), Vec::new());
    let (mut total, mut plain) = (Vec::new(), Vec::new());
    for at in 0..WARM_UP + steps {
        for clock in [true, false] {
            step.cpu.clock = clock;
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
            let took = spent.iter().zip(&before).map(|(now, before)| now - before);
            each.push(took.map(|seconds: f64| seconds / threads as f64).collect());
        }
        before = spent;
    }
    let (mut rows, mut moments): (Vec<Row>, Vec<Moment>) = (Vec::new(), Vec::new());
    for (at, (call, _)) in calls(&step).flat_map(Loaded::profile).enumerate() {
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
        let cost = Cost { products, others, bytes };
        moments.push(Moment { phase, name: name.clone(), seconds: seconds.clone() });
        match rows.iter_mut().find(|row| row.phase == phase && row.name == name) {
            Some(row) => row.add(&cost, &seconds),
            None => rows.push(Row { phase, name, times: 1, seconds, cost }),
        }
    }
    rows.sort_by(|a, b| b.seconds.median().total_cmp(&a.seconds.median()));
    Ok(Profile { model, batch, rows, moments, total: Samples(total), plain: Samples(plain) })
}

/// What a step runs.
fn calls(step: &Step) -> impl Iterator<Item = &Loaded> {
    step.passes.values().chain([&step.update])
}
