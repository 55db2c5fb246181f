//! `open`: the whole course on the reader's machine: measure, train, build the book, serve it.

use crate::{
    book::{PORT, models},
    card::card,
    chapters, course,
    measure::{self, How},
    train::{RUNS, Train},
};
use anyhow::Result;
use bookbinder::{
    Binder, binder,
    quote::machine::{YOURS, is_reference},
    serve::Server,
};
use clap::Args;
use lab::{
    Budget, Chapter, Device, Experiment, Records, doctor,
    machine::{Machine, warn_if_unoptimised},
    out::say,
    record,
    serve::host_name,
};
use std::{
    io::{IsTerminal as _, stdout},
    path::{Path, PathBuf},
};

/// The options of `open`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo run                      measure, train, build the book, serve it
  cargo run -- open --no-serve   the same, without serving
  cargo run -- open --again      measure again what is measured already
  cargo run -- open --verbose    print each value that is measured")]
pub struct Open {
    /// Stop before serving the book
    #[arg(long)]
    no_serve: bool,
    /// The port; the next free one if it is taken, any free one for 0
    #[arg(long, default_value_t = PORT, value_parser = crate::whole::<u16>(0..=65535))]
    port: u16,
    /// A name by which the server may be called, such as a proxy's, besides localhost and addresses; may be repeated
    #[arg(long = "host", value_name = "NAME", value_parser = host_name)]
    hosts: Vec<String>,
    /// Measure again what is measured already
    #[arg(long)]
    again: bool,
    /// Print each value that is measured, and each epoch of the training
    #[arg(long)]
    verbose: bool,
}

impl Default for Open {
    fn default() -> Self {
        Self { no_serve: false, port: PORT, hosts: Vec::new(), again: false, verbose: false }
    }
}

impl Open {
    /// Runs the course.
    pub fn run(self, data: Option<&Path>) -> Result<()> {
        warn_if_unoptimised();
        let at = Opening::new(&self, data)?;
        say("1/4 This machine");
        say(&format!("    {}", summary(&at.machine, &doctor::examine(data))));
        let server = at.first_book()?;

        at.measure()?;
        let run = at.train()?;

        say("4/4 The book, with your numbers");
        let (index, binder) = at.book()?;
        let server = match server {
            _ if self.no_serve => None,
            Some(server) => {
                server.changed();
                Some(server)
            }
            None => Some(Server::start(&binder.out, self.port, &self.hosts)?),
        };
        let address = server.as_ref().map_or_else(|| index.display().to_string(), address);
        say(&format!("\n{}", card(&at.folder, at.reference()?.as_ref(), &run, &address)?));
        match server {
            Some(server) => binder.watch(&server),
            None => Ok(()),
        }
    }
}

/// The reader's own numbers on the first page.
const FIVE: &str = "#your-machine-in-five-numbers";

/// Where they are.
fn address(server: &Server) -> String {
    format!("http://{}/{FIVE} (Ctrl-C ends it)", server.address())
}

/// What the steps have in common.
struct Opening<'a> {
    open: &'a Open,
    data: Option<&'a Path>,
    /// Where the records of all machines are, and those of this one.
    records: PathBuf,
    folder: PathBuf,
    chapters: Vec<Chapter>,
    machine: Machine,
    device: Device,
}

impl<'a> Opening<'a> {
    fn new(open: &'a Open, data: Option<&'a Path>) -> Result<Self> {
        let records = course::records()?;
        let (folder, chapters) = (records.join(YOURS), chapters::all());
        let (machine, device) = (Machine::detect(), Device::choose(None, training::gpus())?);
        Ok(Self { open, data, records, folder, chapters, machine, device })
    }

    /// What is to be measured before the training, which is an experiment of its own.
    fn wanted(&self) -> Result<Vec<(&Chapter, &Experiment)>> {
        let others = measure::choose(&self.chapters, &[], measure::Budget::Quick)?
            .into_iter()
            .filter(|(_, experiment)| experiment.key != training::experiments::MLP)
            .collect();
        let measured = Records::load(&self.folder).ok().filter(|_| !self.open.again);
        Ok(unmeasured(others, measured.as_ref(), &self.machine))
    }

    /// The book with the numbers that are here already. It is built before anything is measured, and not at the same
    /// time: two programs at once measure each other.
    fn first_book(&self) -> Result<Option<Server>> {
        // A terminal is there to read on.
        if self.open.no_serve || !stdout().is_terminal() {
            return Ok(None);
        }
        let (_, binder) = self.book()?;
        let server = Server::start(&binder.out, self.open.port, &self.open.hosts)?;
        say(&format!(
            "    The book is at http://{}/{FIVE} already, with the numbers so far; yours come into it at the end.",
            server.address()
        ));
        Ok(Some(server))
    }

    fn measure(&self) -> Result<()> {
        let Self { open, data, device, .. } = *self;
        let wanted = self.wanted()?;
        say(&format!("2/4 Measuring it: {}", count(wanted.len())));
        let (budget, folder, verbose) = (Budget::Quick, &*self.folder, open.verbose);
        measure::measure(&wanted, &How { budget, device, data, folder, verbose })
    }

    /// Trains the digit classifier, keeps that as a record, and returns the run's folder.
    fn train(&self) -> Result<PathBuf> {
        say(&format!("3/4 Training a network to classify handwritten digits, on {}", self.device));
        let outcome = Train::usual(!self.open.verbose).train(self.data.map(Path::to_owned))?;
        let own = [training::experiments::MLP.to_owned()];
        for (chapter, experiment) in measure::choose(&self.chapters, &own, measure::Budget::Full)? {
            let run = training::experiments::run_of(experiment, &outcome)?;
            record::save(&self.folder, &self.machine, chapter.name, run)?;
        }
        Ok(outcome.run.unwrap_or_default())
    }

    /// The book from the records as they are now: its first page, and what builds it again.
    fn book(&self) -> Result<(PathBuf, Binder)> {
        let mut binder = Binder::open(&course::root()?, chapters::all(), &self.records)?;
        binder.files.extend(models(Path::new(RUNS))?);
        let index = binder.build()?;
        Ok((index, binder))
    }

    /// The first of the reference machines that has records.
    fn reference(&self) -> Result<Option<Records>> {
        Ok(binder::records(&self.records)?.into_iter().find(is_reference))
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
            "\n    not here: {} (the course runs without; `cargo run -- doctor` tells what each is for)",
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
    let ran = |key: &str| measured.runs().any(|run| run.experiment == key && !run.unfinished);
    chosen.into_iter().filter(|(_, experiment)| !ran(experiment.key)).collect()
}

fn count(experiments: usize) -> String {
    match experiments {
        0 => "all of it before; --again measures anew".to_owned(),
        1 => "1 experiment".to_owned(),
        n => format!("{n} experiments"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_measured_and_only_for_the_same_machine() {
        let chapters = chapters::all();
        let all = || measure::choose(&chapters, &[], measure::Budget::Quick).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::detect();
        let (chapter, experiment) = all()[0];
        let nothing = Experiment { run: |_| Ok(()), values: &[], ..*experiment };
        let run = lab::testing::run(&nothing);
        record::save(folder.path(), &machine, chapter.name, run).unwrap();
        let records = Records::load(folder.path()).unwrap();

        let left = unmeasured(all(), Some(&records), &machine);
        assert_eq!(left.len(), all().len() - 1);
        assert!(left.iter().all(|(_, e)| e.key != experiment.key));
        let other = Machine { cpu: "another".into(), ..machine.clone() };
        assert_eq!(unmeasured(all(), Some(&records), &other).len(), all().len());
        assert_eq!(unmeasured(all(), None, &machine).len(), all().len());
        let mut cut = records;
        cut.chapters.values_mut().for_each(|chapter| chapter.runs[0].unfinished = true);
        assert_eq!(unmeasured(all(), Some(&cut), &machine).len(), all().len());
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
