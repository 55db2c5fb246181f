//! What it costs that the heap returns freed memory between two steps.

use super::profile::BATCH;
use crate::{Result, profile::step::plain};
use dfdx::prelude::Cpu;
use lab::{
    Budget, Experiment, Race, Recorder, Samples,
    heap::{self, Freed},
    record::ParamList,
};
use std::{cell::RefCell, time::Instant};
use training::{Model, Settings, any::AllModels, engine::Resident};

lab::keys! {
    /// Seconds of a step.
    SECONDS: measured "performance.freed", Seconds, ["model", "batch", "freed"];
    /// Its page faults.
    FAULTS: measured "performance.freed.faults", Number, ["model", "batch", "freed"];
    /// How many times as long it takes with memory returned.
    GAIN: measured "performance.freed.gain", Ratio, ["model", "batch"];
}

/// The models, by what a step frees.
const MODELS: [Model; 5] = [Model::Mlp, Model::Rnn, Model::Transformer, Model::Cnn, Model::Resnet];

/// The experiment of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick SECONDS.name => &[SECONDS, FAULTS, GAIN], |rec| Ok(run(rec)?),
            "a step of chapter 4's models with freed memory returned to the system, and kept, in turns";
    }
}

fn run(rec: &mut Recorder) -> Result<()> {
    let asked = heap::set(Freed::Kept);
    if rec.device != lab::Device::Cpu || !asked {
        let why = if asked {
            "the steps of a GPU do not take memory from this heap"
        } else {
            "the heap of this system takes no such orders"
        };
        rec.skip_all(&[], why);
        return Ok(());
    }
    let data = Resident::new(&Cpu::default(), &rec.data_set()?.train.first(BATCH))?;
    for model in MODELS {
        compare(rec, model, &data)?;
    }
    // As the command has it.
    heap::set(Freed::Kept);
    Ok(())
}

/// Steps of a model in batches of [`BATCH`], the heap's order changed from sample to sample. After a change one step is
/// not counted: what the one before it has returned, it has to request again.
fn compare(rec: &mut Recorder, model: Model, data: &Resident<Cpu>) -> Result<()> {
    let list: ParamList = &[("model", &model), ("batch", &BATCH)];
    rec.note_at(SECONDS.at(list));
    let (rounds, steps) = match rec.budget {
        Budget::Full => (11, 4),
        Budget::Quick => (3, 1),
    };
    let index: Vec<usize> = (0..BATCH).collect();
    let learner = Cpu::seed_from_u64(1).learner(&Settings { model, ..Settings::default() })?;
    let learner = RefCell::new(learner);
    let mut race = Race::default();
    for freed in Freed::ALL {
        let (learner, index) = (&learner, &index);
        race.turn(freed.name(), move |_| {
            let mut learner = learner.borrow_mut();
            heap::set(freed);
            plain(&mut **learner, data, index)?;
            let (before, begun) = (heap::page_faults(), Instant::now());
            for _ in 0..steps {
                plain(&mut **learner, data, index)?;
            }
            let seconds = begun.elapsed().as_secs_f64() / f64::from(steps);
            let faults = heap::page_faults().zip(before).map(|(after, before)| after - before);
            Ok((seconds, faults.map(|faults| faults / f64::from(steps))))
        });
    }
    let results = race.rounds(rounds)?;
    let seconds = results.map(|(seconds, _)| *seconds);
    let [returned, kept] = Freed::ALL.map(Freed::name);
    rec.record(GAIN.at(list), seconds.ratio(returned, kept)?);
    for freed in [returned, kept] {
        rec.record(SECONDS.at(list).with("freed", freed), seconds.samples(freed)?);
        let faults: Vec<f64> =
            results.of(freed)?.iter().filter_map(|(_, faults)| *faults).collect();
        let quantity = FAULTS.at(list).with("freed", freed);
        if faults.is_empty() {
            rec.skip_at(quantity, "this system does not count page faults");
        } else {
            rec.record(quantity, Samples(faults));
        }
    }
    Ok(())
}
