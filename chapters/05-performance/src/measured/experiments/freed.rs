//! What it costs that the heap gives freed memory back between two steps.

use super::profile::BATCH;
use crate::{Result, profile::step::plain};
use dfdx::prelude::Cpu;
use lab::{
    Budget, Experiment, Recorder, Samples, Unit,
    heap::{self, Freed},
    record::ParamList,
};
use std::time::Instant;
use training::{Model, Settings, any::AllModels, engine::Resident};

/// The experiment's key.
pub const KEY: &str = "performance.freed";

/// The models, by what a step frees.
pub const MODELS: [Model; 5] =
    [Model::Mlp, Model::Rnn, Model::Transformer, Model::Cnn, Model::Resnet];

/// The experiment of this file.
pub fn experiments() -> Vec<Experiment> {
    vec![Experiment {
        key: KEY,
        shows: "a step of chapter 4's models with freed memory handed back to the system, and kept, in turns",
        values: &[KEY, "performance.freed.faults", "performance.freed.gain"],
        quick: true,
        run: |rec| Ok(run(rec)?),
    }]
}

fn run(rec: &mut Recorder) -> Result<()> {
    let asked = heap::set(Freed::Kept);
    if rec.device != lab::Device::Cpu || !asked {
        let why = if asked {
            "the steps of a GPU do not take memory from this heap"
        } else {
            "the heap of this system takes no such orders"
        };
        for key in [KEY, "performance.freed.faults", "performance.freed.gain"] {
            rec.skip(key, &[], why);
        }
        return Ok(());
    }
    let options = lab::data::Options { folder: rec.data.clone(), ..Default::default() };
    let data = Resident::new(&Cpu::default(), &lab::data::load(&options)?.train.first(BATCH))?;
    for model in MODELS {
        compare(rec, model, &data)?;
    }
    // As the command has it.
    heap::set(Freed::Kept);
    Ok(())
}

/// Steps of a model in batches of [`BATCH`], the heap's order changed from sample to sample. After a change one step is
/// not counted: what the one before it has handed back, it has to ask for again.
fn compare(rec: &mut Recorder, model: Model, data: &Resident<Cpu>) -> Result<()> {
    rec.note(KEY, &[("model", &model)]);
    let (rounds, steps) = match rec.budget {
        Budget::Full => (11, 4),
        Budget::Quick => (3, 1),
    };
    let index: Vec<usize> = (0..BATCH).collect();
    let mut learner = Cpu::seed_from_u64(1).learner(&Settings { model, ..Settings::default() })?;
    let (mut seconds, mut faults): ([Vec<f64>; 2], [Vec<f64>; 2]) = Default::default();
    for _ in 0..rounds {
        for (at, freed) in Freed::ALL.into_iter().enumerate() {
            heap::set(freed);
            plain(&mut *learner, data, &index)?;
            let (before, begun) = (heap::page_faults(), Instant::now());
            for _ in 0..steps {
                plain(&mut *learner, data, &index)?;
            }
            seconds[at].push(begun.elapsed().as_secs_f64() / f64::from(steps));
            let counted = heap::page_faults().zip(before).map(|(after, before)| after - before);
            faults[at].extend(counted.map(|counted| counted / f64::from(steps)));
        }
    }
    let gains = seconds[0].iter().zip(&seconds[1]).map(|(returned, kept)| returned / kept);
    let list: ParamList = &[("model", &model), ("batch", &BATCH)];
    rec.value("performance.freed.gain", list, Unit::Ratio, Samples(gains.collect()));
    for ((freed, seconds), faults) in Freed::ALL.iter().zip(seconds).zip(faults) {
        let list: ParamList = &[("model", &model), ("batch", &BATCH), ("freed", &freed.name())];
        rec.value(KEY, list, Unit::Seconds, Samples(seconds));
        if faults.is_empty() {
            rec.skip("performance.freed.faults", list, "this system does not count page faults");
        } else {
            rec.value("performance.freed.faults", list, Unit::Number, Samples(faults));
        }
    }
    Ok(())
}
