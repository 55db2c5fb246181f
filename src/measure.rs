//! `measure`: run experiments and keep their records.

use crate::{chapters, course};
use anyhow::{Context, Result, anyhow, bail};
use bookbinder::{binder, quote::machine::YOURS};
use clap::{Args, ValueEnum};
use lab::{
    Chapter, Device, Experiment, Records, chapter, contribution,
    machine::{Machine, warn_if_unoptimised},
    names,
    out::say,
    progress::Progress,
    record,
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Instant,
};

/// The options of `measure`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo run -- measure                     every experiment, two minutes
  cargo run -- measure matmul --budget full
  cargo run -- measure --budget book       good figures of nearly everything
  cargo run -- measure matmul.ladder       one experiment
  cargo run -- measure --peers=python3 backprop.race32
                                           next to PyTorch
  cargo run -- measure --list              what there is to measure
  cargo run -- measure --send              one file of your numbers, to send in")]
pub struct Measure {
    /// Chapters (matmul, 1, 01-matmul) or single experiments (matmul.ladder); all of them if none is named
    what: Vec<String>,
    /// How much time to take: quick and book leave out long experiments, unless they are named
    #[arg(long, value_enum, default_value = "quick")]
    budget: Budget,
    /// The folder for records [default: book/records]
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// The machine's name: a folder in the folder for records [default: yours]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Where to compute: auto, cpu or cuda:N
    #[arg(long, env = "THROUGHPUT_DEVICE")]
    device: Option<String>,
    /// Also measure PyTorch and Keras where an experiment races them, with this Python [default: python3]
    #[arg(long, value_name = "PYTHON", num_args = 0..=1, require_equals = true, default_missing_value = "python3")]
    peers: Option<String>,
    /// Print each value that is measured
    #[arg(long)]
    verbose: bool,
    /// List the experiments and what each shows
    #[arg(long)]
    list: bool,
    /// Measure nothing; write what is measured into one file that you can send in
    #[arg(long, conflicts_with_all = ["what", "list"])]
    send: bool,
    /// Measure nothing; check a contributed file, and add its machine to the book's
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what", "list", "send"])]
    receive: Option<PathBuf>,
}

/// How much time to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Budget {
    /// About a minute for everything.
    Quick,
    /// Good figures, meant for an hour: without what trains for a quarter of an hour or more.
    Book,
    /// As long as good figures of everything need.
    Full,
}

/// Each of these trains for a quarter of an hour or more. Most find accuracies, which hardly depend on the machine.
const LONG: [&str; 8] = [
    "training.models",
    "performance.time_to",
    "performance.time_long",
    "performance.command",
    "mixed_precision.amp",
    "mixed_precision.ablations",
    "multi_gpu.claims",
    "multi_gpu.mistakes",
];

impl Measure {
    /// Runs the experiments that were asked for.
    pub fn run(self, data: Option<&Path>) -> Result<()> {
        let chapters = chapters::all();
        if self.list {
            for experiment in chapters.iter().flat_map(|chapter| &chapter.experiments) {
                say(&format!("{:32} {}", experiment.key, experiment.shows));
            }
            return Ok(());
        }
        let records = match &self.records {
            Some(folder) => folder.clone(),
            None => course::records()?,
        };
        if let Some(file) = &self.receive {
            return receive(file, self.machine.as_deref(), &chapters, &records);
        }
        let name = self.machine.as_deref().unwrap_or(YOURS);
        let folder = machine_folder(&records, name)?;
        if self.send {
            return send(&folder);
        }
        let chosen = choose(&chapters, &self.what, self.budget)?;
        let budget = match self.budget {
            Budget::Quick => lab::Budget::Quick,
            Budget::Book | Budget::Full => lab::Budget::Full,
        };
        warn_if_unoptimised();
        let device = Device::choose(self.device.as_deref(), training::gpus())?;
        if let Some(python) = &self.peers {
            backprop::peers::ask(python);
        }
        let how = How { budget, device, data, folder: &folder, verbose: self.verbose };
        measure(&chosen, &how)?;
        say(&format!("records are in {}", folder.display()));
        if budget == lab::Budget::Full && name == YOURS {
            say("to send them in: `cargo run -- measure --send`");
        }
        Ok(())
    }
}

/// The folder of the machine of this name.
fn machine_folder(records: &Path, name: &str) -> Result<PathBuf> {
    if !contribution::is_name(name) {
        bail!(
            "`{name}` can't be a machine's name; use letters, digits, - and _, at most 40, and no name that the book or \
             a system has taken"
        );
    }
    if let Some(other) = contribution::same_name(records, name).filter(|other| other != name) {
        bail!("there is a machine `{other}` already, which not every system tells from `{name}`");
    }
    Ok(records.join(name))
}

/// Writes the records in `folder` into one file in the current folder.
fn send(folder: &Path) -> Result<()> {
    if !folder.join("machine.json").is_file() {
        bail!(
            "{} has no records; run `cargo run -- measure --budget book` first",
            folder.display()
        );
    }
    let made = contribution::pack(&Records::load(folder)?)?;
    let (text, file) = (made.text()?, PathBuf::from(format!("throughput-{}.json", made.name)));
    crate::write(&file, &text).with_context(|| {
        format!("can't write {}; make room, or run it in another folder", file.display())
    })?;
    say(&format!(
        "{} ({}) contains the machine ({}) and {} values with date, commit and compiler, and no paths. It is plain \
         text: read it, then attach it to an issue.",
        file.display(),
        lab::Unit::Bytes.format(text.len() as f64),
        made.machine.in_words(),
        made.values().count()
    ));
    for name in made.traces(&own_names())? {
        say(&format!(
            "note: the word `{name}`, a name of yours or of this computer, is in it; look whether it should be"
        ));
    }
    Ok(())
}

/// What this computer and its user are called. Common names reveal nothing.
fn own_names() -> Vec<String> {
    let asked = lab::probe::ask("hostname", &[]);
    ["USER", "LOGNAME", "USERNAME", "HOSTNAME", "COMPUTERNAME"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .chain(asked)
        // Of a whole address the first part is the computer's.
        .flat_map(|name| {
            [name.trim(), name.trim().split('.').next().unwrap_or_default()].map(str::to_owned)
        })
        .filter(|name| name.len() > 2 && !["root", "localhost"].contains(&name.as_str()))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// Checks a contributed file and adds its machine to the reference machines.
fn receive(file: &Path, machine: Option<&str>, chapters: &[Chapter], records: &Path) -> Result<()> {
    // The units that keys have: those of the machines that are here.
    let known = binder::records(records)?;
    let made = contribution::unpack(&contribution::read(file)?, chapters, &known)?;
    let made = match machine {
        Some(name) => made.named(name)?,
        None => made,
    };
    let folder = made.write(records)?;
    if !made.left_out.is_empty() {
        let keys: Vec<&str> = made.left_out.iter().map(String::as_str).collect();
        say(&format!("left out, since this version has no such values: {}", keys.join(", ")));
    }
    say(&format!(
        "{} values of {} are in {}. Look at them in the book (`cargo run -- book serve`), then commit the \
         folder.",
        made.values().count(),
        made.machine.in_words(),
        folder.display()
    ));
    Ok(())
}

/// How to measure, and where the records go.
pub struct How<'a> {
    /// How much time to take.
    pub budget: lab::Budget,
    /// Where to compute.
    pub device: Device,
    /// Where the reader keeps the data set, if given.
    pub data: Option<&'a Path>,
    /// The machine's folder.
    pub folder: &'a Path,
    /// Whether to print each value.
    pub verbose: bool,
}

/// Runs `chosen` one after the other, saves the record of each as soon as it is there, and tells of it.
pub fn measure(chosen: &[(&Chapter, &Experiment)], how: &How) -> Result<()> {
    let (machine, all) = (Machine::detect(), chosen.len());
    record::can_save(how.folder, &machine, chosen.iter().map(|(chapter, _)| chapter.name))?;
    let whole = if how.verbose || chosen.is_empty() {
        Progress::hidden()
    } else {
        Progress::brief("measuring", all as u64)
    };
    for (at, &(chapter, experiment)) in chosen.iter().enumerate() {
        let title = || format!("[{}/{all}] {}", at + 1, experiment.key);
        // One for all experiments, or one for each, which shows its values.
        let own = how.verbose.then(|| Progress::spinner(title()));
        let progress = own.as_ref().unwrap_or(&whole);
        progress.note(experiment.key);
        let began = Instant::now();
        let mut save = |run| record::save(how.folder, &machine, chapter.name, run);
        let run =
            chapter::run_keeping(experiment, how.budget, how.device, how.data, progress, &mut save)
                .with_context(|| format!("the experiment {} failed", experiment.key))?;
        let (values, skipped) = (run.values.len(), run.skipped.len());
        save(run)?;
        if let Some(own) = &own {
            own.finish();
        }
        whole.inc(1);
        // A bar shows as much, and the values are there with --verbose.
        if progress.width().is_none() && !how.verbose {
            let skipped = match skipped {
                0 => String::new(),
                n => format!(", {n} can't be measured here,"),
            };
            let seconds = began.elapsed().as_secs_f64();
            say(&format!("{}: {values} values{skipped} in {seconds:.1} s", title()));
        }
    }
    whole.finish();
    Ok(())
}

/// The experiments that `what` names: chapters, single experiments, or all of them. The smaller budgets leave
/// out the long ones unless they are named one by one.
pub fn choose<'c>(
    chapters: &'c [Chapter],
    what: &[String],
    budget: Budget,
) -> Result<Vec<(&'c Chapter, &'c Experiment)>> {
    let fits = |experiment: &&Experiment| match budget {
        Budget::Quick => experiment.quick,
        Budget::Book => !LONG.contains(&experiment.key),
        Budget::Full => true,
    };
    let of =
        |chapter: &'c Chapter| chapter.experiments.iter().filter(fits).map(move |e| (chapter, e));
    if what.is_empty() {
        return Ok(chapters.iter().flat_map(of).collect());
    }
    let all: Vec<_> =
        chapters.iter().flat_map(|c| c.experiments.iter().map(move |e| (c, e))).collect();
    let keys: Vec<&str> = all.iter().map(|(_, experiment)| experiment.key).collect();
    let mut chosen = Vec::new();
    for name in what {
        if name.contains('.') {
            let at = names::named("experiment", name, &keys);
            chosen
                .push(all[at.map_err(|why| anyhow!("{why}; `measure --list` shows all of them"))?]);
        } else {
            chosen.extend(of(chapter::named(chapters, name)?));
        }
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(what: &[&str], budget: Budget) -> Result<Vec<&'static str>> {
        let chapters = chapters::all();
        let what: Vec<String> = what.iter().map(ToString::to_string).collect();
        Ok(choose(&chapters, &what, budget)?.iter().map(|(_, experiment)| experiment.key).collect())
    }

    #[test]
    fn names_choose_chapters_and_experiments() {
        let all = keys(&[], Budget::Full).unwrap();
        let by_name = keys(&["matmul"], Budget::Full).unwrap();
        assert!(!by_name.is_empty() && by_name.iter().all(|key| key.starts_with("matmul.")));
        assert_eq!(by_name, keys(&["1"], Budget::Full).unwrap());
        assert_eq!(by_name, keys(&["01-matmul"], Budget::Full).unwrap());
        assert!(all.len() > by_name.len());
        assert_eq!(by_name, keys(&["mat"], Budget::Full).unwrap());
        assert_eq!(keys(&["matmul.ladder"], Budget::Quick).unwrap(), ["matmul.ladder"]);
    }

    #[test]
    fn each_budget_is_a_part_of_the_next() {
        let [quick, book, full] =
            [Budget::Quick, Budget::Book, Budget::Full].map(|budget| keys(&[], budget).unwrap());
        assert!(!quick.is_empty() && quick.len() < book.len());
        assert!(quick.iter().all(|key| book.contains(key)));
        assert_eq!(book.len() + LONG.len(), full.len());
    }

    #[test]
    fn unknown_names_are_refused_with_the_way_out() {
        let error = format!("{:#}", keys(&["matmul.lader"], Budget::Full).unwrap_err());
        assert!(error.contains("--list") && error.contains("matmul.ladder"), "{error}");
        let error = keys(&["cooking"], Budget::Full).unwrap_err().to_string();
        assert!(error.contains("matmul"), "{error}");
    }
}
