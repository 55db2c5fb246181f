//! What it costs that the heap gives freed memory back between two steps.

use super::{experiment::BATCH, step::Step};
use crate::Result;
use dfdx::prelude::Cpu;
use lab::{
    Budget, Error, Experiment, Recorder, Records, Samples, Table, TableData, Unit,
    heap::{self, Freed},
    record::ParamList,
};
use std::{fmt::Display, time::Instant};
use training::{
    Model, cnn::Cnn, engine::Resident, mlp::Mlp, model::Network, resnet::Resnet, rnn::Rnn,
    transformer::Transformer,
};

const KEY: &str = "performance.freed";

/// The models, by what a step frees.
const MODELS: [(Model, Compare); 5] = [
    (Model::Mlp, compare::<Mlp<Cpu>>),
    (Model::Rnn, compare::<Rnn<f32, Cpu>>),
    (Model::Transformer, compare::<Transformer<f32, Cpu>>),
    (Model::Cnn, compare::<Cnn<f32, Cpu>>),
    (Model::Resnet, compare::<Resnet<f32, Cpu>>),
];

/// Measures a model.
type Compare = fn(&mut Recorder, Model, &Resident<Cpu>) -> Result<()>;

/// The experiment of this file.
pub fn experiment() -> Experiment {
    Experiment {
        key: KEY,
        shows: "a step of chapter 4's models with freed memory handed back to the system, and kept, in turns",
        values: &[KEY, "performance.freed.faults", "performance.freed.gain"],
        quick: true,
        run: |rec| Ok(run(rec)?),
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
        for key in [KEY, "performance.freed.faults", "performance.freed.gain"] {
            rec.skip(key, &[], why);
        }
        return Ok(());
    }
    let options = lab::data::Options { folder: rec.data.clone(), ..Default::default() };
    let data = Resident::new(&Cpu::default(), &lab::data::load(&options)?.train.first(BATCH))?;
    for (model, compare) in MODELS {
        compare(rec, model, &data)?;
    }
    // As the command has it.
    heap::set(Freed::Kept);
    Ok(())
}

/// What a step takes both ways.
pub fn table() -> Table {
    Table { key: KEY, make }
}

fn make(records: &Records) -> lab::Result<TableData> {
    let mut rows = Vec::new();
    for (name, _) in &MODELS {
        let batch: (&str, &dyn Display) = ("batch", &BATCH);
        let model: (&str, &dyn Display) = ("model", name);
        let of = |key, freed: Freed| records.find(key, &[model, batch, ("freed", &freed.name())]);
        let mut row = vec![name.to_string()];
        for freed in Freed::ALL {
            row.push(Unit::Seconds.format(of(KEY, freed)?.median));
            row.push(match of("performance.freed.faults", freed) {
                Ok(faults) => Unit::Number.format(faults.median),
                Err(Error::Skipped { .. }) => "–".into(),
                Err(error) => return Err(error),
            });
        }
        let gain = records.find("performance.freed.gain", &[model, batch])?;
        row.push(Unit::Ratio.format(gain.median));
        rows.push(row);
    }
    let head = ["model", "handed back", "page faults", "kept", "page faults", "handed back / kept"];
    Ok(TableData {
        caption: format!(
            "A training step of {BATCH} pictures, with freed memory handed back to the system and kept, in turns, and the \
             page faults of a step."
        ),
        head: head.map(String::from).into(),
        rows,
    })
}

/// Steps of a model in batches of [`BATCH`], the heap's order changed from sample to sample. After a change one step is
/// not counted: what the one before it has handed back, it has to ask for again.
fn compare<M: Network<Cpu>>(rec: &mut Recorder, model: Model, data: &Resident<Cpu>) -> Result<()> {
    rec.note(KEY, &[("model", &model)]);
    let (rounds, steps) = match rec.budget {
        Budget::Full => (11, 4),
        Budget::Quick => (3, 1),
    };
    let index: Vec<usize> = (0..BATCH).collect();
    let mut step = Step::<M, Cpu>::new(&Cpu::seed_from_u64(1))?;
    let (mut seconds, mut faults): ([Vec<f64>; 2], [Vec<f64>; 2]) = Default::default();
    for _ in 0..rounds {
        for (at, freed) in Freed::ALL.into_iter().enumerate() {
            heap::set(freed);
            step.plain(data, &index)?;
            let (before, begun) = (heap::page_faults(), Instant::now());
            for _ in 0..steps {
                step.plain(data, &index)?;
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
