//! `open`: the whole course on the reader's machine: measure, train, build the book, serve it.

use crate::{
    book::{PORT, digit_model},
    chapters, course,
    measure::{self, YOURS},
    train::{RUNS, Train},
};
use anyhow::Result;
use bookbinder::Binder;
use clap::Args;
use lab::{Budget, Chapter, Device, Experiment, Records, doctor, machine::Machine};
use std::path::Path;

/// The options of `open`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo run --release                      measure, train, build the book, serve it
  cargo run --release -- open --no-serve   the same, without serving
  cargo run --release -- open --again      measure again what is measured already")]
pub struct Open {
    /// Stop before serving the book
    #[arg(long)]
    no_serve: bool,
    /// The port; the next free one if it is taken
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// Measure again what is measured already
    #[arg(long)]
    again: bool,
}

impl Default for Open {
    fn default() -> Self {
        Self { no_serve: false, port: PORT, again: false }
    }
}

impl Open {
    /// Runs the course.
    pub fn run(self, data: Option<&Path>) -> Result<()> {
        let root = course::root()?;
        let records = course::records()?;
        let folder = records.join(YOURS);
        let chapters = chapters::all();
        let machine = Machine::detect();
        let device = Device::choose(None, training::gpus())?;

        println!("1/4 This machine");
        println!("{}", summary(&machine, &doctor::examine(data)));

        let (training, others): (Vec<_>, Vec<_>) = measure::choose(&chapters, &[], Budget::Quick)?
            .into_iter()
            .partition(|(_, experiment)| experiment.key == training::experiments::MLP);
        let measured = if self.again { None } else { Records::load(&folder).ok() };
        let wanted = unmeasured(others, measured.as_ref(), &machine);
        println!("\n2/4 Measuring it ({})", count(wanted.len()));
        measure::measure(&wanted, Budget::Quick, device, data, &folder)?;

        println!("\n3/4 Training a network to read handwritten digits, on {device}");
        let outcome = Train::default().train(data.map(Path::to_owned))?;
        for (chapter, experiment) in training {
            let run = training::experiments::run_of(experiment, &outcome)?;
            lab::record::save(&folder, &machine, chapter.name, run)?;
        }

        println!("\n4/4 The book, with your numbers");
        let mut binder = Binder::open(&root, chapters, &records)?;
        binder.files.push(digit_model(Path::new(RUNS))?);
        let index = binder.build()?;
        println!("the book is in {}", index.display());
        if self.no_serve {
            return Ok(());
        }
        binder.serve(self.port)
    }
}

/// A line on the machine, and one on what it lacks.
fn summary(machine: &Machine, rows: &[doctor::Row]) -> String {
    let memory = lab::Unit::Bytes.format(machine.memory as f64);
    let gpus = if machine.gpus.is_empty() { "no GPU".to_owned() } else { machine.gpus.join(", ") };
    let mut text = format!("{}, {} cores, {memory} of memory, {gpus}", machine.cpu, machine.cores);
    let missing: Vec<&str> =
        rows.iter().filter(|row| !row.found).map(|row| row.name.as_str()).collect();
    if !missing.is_empty() {
        text += &format!(
            "\nnot here: {} (the course runs without; `cargo run --release -- doctor` tells what each is for)",
            missing.join(", ")
        );
    }
    text
}

/// The experiments that this machine has not run yet: all of them if the records are another machine's.
fn unmeasured<'c>(
    chosen: Vec<(&'c Chapter, &'c Experiment)>,
    measured: Option<&Records>,
    machine: &Machine,
) -> Vec<(&'c Chapter, &'c Experiment)> {
    let Some(measured) = measured.filter(|records| records.machine == *machine) else {
        return chosen;
    };
    let ran = |key: &str| measured.runs().any(|run| run.experiment == key);
    chosen.into_iter().filter(|(_, experiment)| !ran(experiment.key)).collect()
}

fn count(experiments: usize) -> String {
    match experiments {
        0 => "measured already; --again measures anew".to_owned(),
        1 => "1 experiment".to_owned(),
        n => format!("{n} experiments, about a minute"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_measured_and_only_for_the_same_machine() {
        let chapters = chapters::all();
        let all = || measure::choose(&chapters, &[], Budget::Quick).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::detect();
        let (chapter, experiment) = all()[0];
        let progress = lab::progress::Progress::hidden();
        let nothing = Experiment { run: |_| Ok(()), ..*experiment };
        let run = lab::chapter::run(&nothing, Budget::Quick, Device::Cpu, None, &progress).unwrap();
        lab::record::save(folder.path(), &machine, chapter.name, run).unwrap();
        let records = Records::load(folder.path()).unwrap();

        let left = unmeasured(all(), Some(&records), &machine);
        assert_eq!(left.len(), all().len() - 1);
        assert!(left.iter().all(|(_, e)| e.key != experiment.key));
        let other = Machine { cpu: "another".into(), ..machine.clone() };
        assert_eq!(unmeasured(all(), Some(&records), &other).len(), all().len());
        assert_eq!(unmeasured(all(), None, &machine).len(), all().len());
    }

    #[test]
    fn the_summary_names_what_is_missing() {
        let rows = doctor::examine(None);
        let text = summary(&Machine::detect(), &rows);
        for row in rows.iter().filter(|row| !row.found) {
            assert!(text.contains(&row.name), "{text}");
        }
    }
}
