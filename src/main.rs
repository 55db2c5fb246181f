//! Throughput's command: the whole course on the reader's machine.
//!
//! `cargo run` measures this machine, trains a network on handwritten digits, builds the book
//! with the reader's own numbers and serves it. Each of these steps is a subcommand of its own.

#![deny(clippy::print_stdout, clippy::print_stderr)] // they end the program when the output is closed: see `lab::out`

mod book;
mod card;
mod chapters;
mod check;
mod course;
mod doctor;
mod generate;
mod gpt;
mod measure;
mod notebooks;
mod open;
mod plan;
mod predict;
mod serve;
mod stop;
mod trace;
mod train;

use anyhow::Result;
use clap::{
    Arg, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, builder::Resettable,
};
use lab::{limits, names::text_of, out};
use multi_gpu::replicas::member::alone;
use std::{
    env, fs, io,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Throughput: training neural networks on GPUs, in Rust.
///
/// Without a subcommand it measures this machine, trains a network on handwritten digits, builds the
/// book with these numbers and serves it.
#[derive(Parser)]
#[command(
    name = "throughput",
    version,
    after_help = "\
Examples:
  cargo run                           the whole course on your machine
  cargo run -- doctor                 what this machine has, and what is missing
  cargo run -- measure matmul         run the experiments of one chapter
  cargo run -- train --epochs 3       train the digit classifier
  cargo run -- predict digit.png      classify a digit in your image
  cargo run -- generate --seed 7      what a language model writes
  cargo run -- trace --model cnn      where a step takes its time
  cargo run -- plan --model vgg16     what a model needs, before it runs
  cargo run -- check                  the next exercise"
)]
struct Cli {
    /// The folder with the data set (IDX files, plain or gzip), or fashion-mnist, to download that; otherwise MNIST from
    /// the cache or a download, or drawn digits
    #[arg(long, global = true, value_name = "DIR", env = "MNIST_DIR")]
    data: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Measure, train, build the book and serve it (what happens without a subcommand)
    Open(open::Open),
    /// What this machine has, what each part is for, and how to get what is missing
    Doctor(doctor::Doctor),
    /// Run the experiments of the chapters and keep their records
    Measure(measure::Measure),
    /// Train a model
    Train(train::Train),
    /// Classify the digit in an image
    Predict(predict::Predict),
    /// Let a language model continue a text
    Generate(generate::Generate),
    /// Serve a language model over HTTP, with a page to type in
    Serve(serve::Serve),
    /// Where one training step takes its time, call by call: a table, and a file for a viewer
    Trace(trace::Trace),
    /// What a model needs before it runs: parameters, operations, memory; will it fit?
    Plan(plan::Plan),
    /// Build or serve the book
    #[command(subcommand)]
    Book(book::Book),
    /// Set up Jupyter, execute the notebooks, or regenerate them from the pages
    #[command(subcommand)]
    Notebooks(notebooks::Notebooks),
    /// The exercises: what is solved, what comes next, a hint
    Check(check::Check),
}

impl Command {
    /// What comes before the work: the refusal to be one of many that measure each other, and the threads, before anything
    /// asks for them and so starts as many as Rayon likes.
    fn begin(&self) -> Result<()> {
        if let Self::Open(_) | Self::Measure(_) | Self::Trace(_) = self {
            alone(text_of, "measuring")?;
        }
        match self {
            // Each process of a training has its part of the cores, and learns first which it is. The others compute nothing, and
            // are of use where hardly a thread can be started.
            Self::Train(_)
            | Self::Doctor(_)
            | Self::Plan(_)
            | Self::Notebooks(_)
            | Self::Check(_) => Ok(()),
            _ => Ok(limits::start_threads(None)?),
        }
    }
}

/// The options of a command, from its words.
#[cfg(test)]
fn parsed<A: clap::Args>(words: &[&str]) -> Result<A> {
    let command = A::augment_args(clap::Command::new("throughput").no_binary_name(true));
    Ok(A::from_arg_matches(&set(command).try_get_matches_from(words)?)?)
}

/// The command with its options. A variable of the environment that is empty is one that is not set.
fn cli() -> Cli {
    let matches = set(Cli::command()).get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The parser of an option that is a whole number: each says in the same words what it takes.
fn whole<N: TryFrom<u64>>(of: RangeInclusive<u64>) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text: &str| {
        let number = text.parse::<u64>().ok().filter(|number| of.contains(number));
        number.and_then(|number| N::try_from(number).ok()).ok_or_else(|| match *of.end() {
            u64::MAX if text.parse::<f64>().is_err() => {
                format!("give a whole number from {}", of.start())
            }
            most => format!("give a whole number from {} to {most}", of.start()),
        })
    }
}

/// Writes a file that a reader named: a new one is whole at every moment, also where a link leads; a terminal or a pipe takes the
/// bytes as they come.
fn write(to: &Path, text: &str) -> io::Result<()> {
    if to.exists() && !to.is_file() {
        return fs::write(to, text);
    }
    let to = to.canonicalize().unwrap_or_else(|_| to.to_owned());
    lab::run::files::replace(&to, text.as_bytes())
}

/// A command whose options, and those of its subcommands, take nothing from empty variables, and numbers below 0 as numbers, to
/// be refused by those who know what is right.
fn set(command: clap::Command) -> clap::Command {
    let of = |arg: Arg| {
        let takes = arg.get_action().takes_values();
        let arg = arg.allow_negative_numbers(takes);
        let empty = arg.get_env().and_then(env::var_os).is_some_and(|value| value.is_empty());
        if empty { arg.env(Resettable::Reset) } else { arg }
    };
    command.mut_args(of).mut_subcommands(set)
}

fn main() -> ExitCode {
    stop::begin();
    // The features come before the words that records repeat.
    lab::machine::is_the_command(&[
        #[cfg(feature = "cuda")]
        "cuda",
        #[cfg(feature = "mpi")]
        "mpi",
        #[cfg(feature = "peers")]
        "peers",
    ]);
    let cli = cli();
    if let Some(limited) = limits::mind() {
        out::warn(format!("note: {limited}"));
    }
    // Each training step asks for the memory that the one before gave back (chapter 5).
    lab::heap::set(lab::heap::Freed::Kept);
    let command = cli.command.unwrap_or_else(|| Command::Open(open::Open::default()));
    let done = command.begin().and_then(|()| match command {
        Command::Open(open) => open.run(cli.data.as_deref()),
        Command::Doctor(doctor) => doctor.run(cli.data.as_deref()),
        Command::Measure(measure) => measure.run(cli.data.as_deref()),
        Command::Train(train) => train.run(cli.data),
        Command::Predict(predict) => predict.run(),
        Command::Generate(generate) => generate.run(),
        Command::Serve(serve) => serve.run(),
        Command::Trace(trace) => trace.run(),
        Command::Plan(plan) => plan.run(),
        Command::Book(book) => book.run(),
        Command::Notebooks(notebooks) => notebooks.run(),
        Command::Check(check) => check.run(),
    });
    match done.and_then(|()| Ok(out::finish()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // One line: what failed, then why, outermost first.
            out::warn(format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Where two have one name, the first one is never heard of.
    #[test]
    fn no_command_has_an_option_twice() {
        fn look(command: &clap::Command) {
            let names: Vec<_> = command.get_arguments().map(Arg::get_id).collect();
            let once: BTreeSet<_> = names.iter().collect();
            assert_eq!(once.len(), names.len(), "{}: {names:?}", command.get_name());
            command.get_subcommands().for_each(look);
        }
        look(&Cli::command());
    }

    /// What is no whole number is refused in the course's words, by each option of each command.
    #[test]
    fn a_whole_number_is_asked_for_in_words() {
        fn look(command: &clap::Command, words: &[&str], said: &dyn Fn(&[&str]) -> Option<String>) {
            for name in command.get_arguments().filter_map(Arg::get_long) {
                let option = format!("--{name}=1x");
                let said = said(&[words, &[option.as_str()]].concat()).unwrap_or_default();
                assert!(!said.contains("invalid digit"), "{said}");
            }
            for sub in command.get_subcommands() {
                look(sub, &[words, &[sub.get_name()]].concat(), said);
            }
        }
        let said = |words: &[&str]| {
            set(Cli::command()).try_get_matches_from(words).err().map(|error| error.to_string())
        };
        for (option, text, says) in [
            ("--epochs", "many", "'--epochs <N>': give a whole number from 1"),
            ("--seed", "-1", "'--seed <N>': give a whole number from 0"),
            ("--limit", "0", "a whole number from 1"),
            ("--limit", "99999999999999999999", "a whole number from 1 to 18446744073709551615"),
            ("--recompute", "0", "a whole number from 1"),
        ] {
            let said = said(&["throughput", "train", option, text]).unwrap();
            assert!(said.contains(says), "{said}");
        }
        look(&Cli::command(), &["throughput"], &said);
    }
}
