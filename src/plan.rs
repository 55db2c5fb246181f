//! `plan`: what a model needs before it runs, on one card or split over many; and which card to buy or rent.

use anyhow::{Context, Result, bail};
use backprop::{
    count::{Counts, Model},
    fits::{self, Bytes, Moves},
};
use clap::{Args, ValueEnum};
use hardware::{
    calculator::{self, Options},
    cards::Market,
    job::Job,
    readers::Reader,
};
use lab::{
    Unit,
    files::{open_regular, unmarked},
};
use multi_gpu::plan::{
    cards::{self, Card},
    model::{Precision, Transformer, Workload},
    report,
    search::{self, Question},
};
use serde_json::{Value, json};
use std::{fmt::Write as _, io, path::Path};

/// The options of `plan`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo run -- plan --model vgg16 --batch 32 --card 24GiB
  cargo run -- plan --model 784-512-128-10 --batch 128
  cargo run -- plan --model mine.json --card 8GiB --optimizer sgd --json
  cargo run -- plan --model gpt-7b --batch 64 --cards 8 --card h100
  cargo run -- plan --model vgg16 --batch 256 --cards 16 --card rtx4090 --links ethernet

  cargo run -- plan --buy --model vgg16 --batch 256 --examples 1000000
  cargo run -- plan --buy --reader laptop

With --cards, or a transformer, it looks for the best split over the cards. A transformer has a name
(gpt-125m, gpt-1.3b, gpt-7b, gpt-13b, gpt-175b, gpt-1t) or is described:
gpt:layers=32,width=4096,heads=32,sequence=2048,vocabulary=50257.

A description file names the input and the layers:
  {\"name\": \"mine\", \"input\": [1, 28, 28], \"layers\": [
    {\"conv\": {\"channels\": 8, \"size\": 3, \"padding\": 1}}, \"relu\", {\"pool\": {\"size\": 2}},
    \"flatten\", {\"dense\": {\"units\": 128}}, \"relu\", {\"dropout\": {\"rate\": 0.2}}, {\"dense\": {\"units\": 10}}]}
or a transformer:
  {\"name\": \"mine\", \"transformer\": {\"layers\": 2, \"width\": 64, \"heads\": 2, \"sequence\": 128, \"vocabulary\": 1000}}")]
pub struct Plan {
    /// vgg16, mlp (784-128-10), sizes such as 784-512-10, a transformer such as gpt-7b, or a file that describes a model
    #[arg(long, default_value = "mlp")]
    model: String,
    /// Images (or sequences) of one step, over all cards
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = crate::whole::<u64>(1..=1_000_000_000))]
    batch: u64,
    /// The card: its memory, such as 24GiB, or its name, such as h100, h200, a100, rtx4090 or t4
    #[arg(long, value_name = "MEMORY|NAME", conflicts_with = "buy")]
    card: Option<String>,
    /// How many cards: looks for the best split over them
    #[arg(long, value_name = "N", value_parser = crate::whole::<u64>(1..=search::MOST_CARDS as u64))]
    cards: Option<u64>,
    /// How the cards reach each other: nvlink, nvlink3, ib, pcie, pcie3 or ethernet; that of the card otherwise
    #[arg(long, value_name = "NAME", conflicts_with = "buy")]
    links: Option<String>,
    /// The numbers' bits: f32 for images and mixed for transformers, if not given
    #[arg(long, value_enum, conflicts_with = "buy")]
    precision: Option<Bits>,
    /// How the parameters move: sgd, momentum or adam; the optimizer's state also takes memory
    #[arg(long, default_value_t = Moves::Adam, conflicts_with = "buy")]
    optimizer: Moves,
    /// Which card of chapter 8's table to buy or rent for a run: hours, energy and money, the cheapest first
    #[arg(long)]
    buy: bool,
    /// With --buy: images (or tokens) of the whole run, repetitions counted [default: ten times MNIST's 60,000]
    #[arg(long, value_name = "N", requires = "buy", value_parser = crate::whole::<u64>(1..=u64::MAX))]
    examples: Option<u64>,
    /// With --buy: the job and the cards of one of the four readers, instead of a model: small, laptop, workstation or
    /// cluster
    #[arg(long, value_name = "NAME", requires = "buy", conflicts_with_all = ["model", "batch", "examples"])]
    reader: Option<String>,
    /// With --buy: at most so many US dollars
    #[arg(long, value_name = "USD", requires = "buy")]
    budget: Option<f64>,
    /// With --buy: at most so many hours
    #[arg(long, value_name = "H", requires = "buy")]
    hours: Option<f64>,
    /// With --buy: US dollars for a kilowatt-hour
    #[arg(long, value_name = "USD", requires = "buy")]
    electricity: Option<f64>,
    /// With --buy: only these cards, by the short names of the table, with commas between
    #[arg(long, value_name = "ID,ID", requires = "buy", value_delimiter = ',')]
    only: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The bits of a training step's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Bits {
    /// Everything in 32 bits.
    F32,
    /// Sixteen bits, and 32 for the optimizer.
    Mixed,
}

impl Plan {
    /// Prints the plan.
    pub fn run(&self) -> Result<()> {
        lab::out::say(&self.report()?);
        Ok(())
    }

    /// What is printed.
    fn report(&self) -> Result<String> {
        if self.buy {
            return self.which_card();
        }
        let transformer = self.transformer()?;
        if transformer.is_some() || self.cards.is_some() || self.links.is_some() {
            return self.split(transformer.map(|(_, work)| work));
        }
        if self.precision == Some(Bits::Mixed) {
            bail!(
                "--precision mixed is for a transformer or for --cards; leave it out, or add --cards 1"
            );
        }
        let counts = model(&self.model)?.count()?;
        let card = self.card()?.map(|card| card.memory as u64);
        if self.json {
            let value = self.json(&counts, card);
            return serde_json::to_string_pretty(&value).context("the plan can't be written");
        }
        Ok(self.text(&counts, card))
    }

    /// The model, if it is a transformer, and what it needs.
    fn transformer(&self) -> Result<Option<(Transformer, Workload)>> {
        let with_work = |found: Transformer, name: &str| {
            Ok(Some((found, found.workload(name, self.optimizer)?)))
        };
        let Some(text) = description(&self.model)? else {
            let found = Transformer::named(&self.model)?;
            return found.map_or(Ok(None), |found| with_work(found, &self.model));
        };
        let Ok(mut value) = serde_json::from_str::<Value>(&text) else {
            return Ok(None); // the error is reported where it is read as a list of layers
        };
        let Some(found) = value.get_mut("transformer").map(Value::take) else { return Ok(None) };
        let found: Transformer = serde_json::from_value(found)
            .with_context(|| format!("{} describes no transformer", self.model))?;
        with_work(found, value["name"].as_str().unwrap_or(&self.model))
    }

    /// Which card to buy or rent.
    fn which_card(&self) -> Result<String> {
        let mut options = match &self.reader {
            Some(name) => name.parse::<Reader>()?.options()?,
            None => Options::of(self.job()?),
        };
        options.cards = self.cards.map_or(options.cards, |cards| cards as u32);
        options.electricity = self.electricity.unwrap_or(options.electricity);
        if !self.only.is_empty() {
            options.only.clone_from(&self.only);
        }
        options.budget = self.budget.or(options.budget);
        options.hours = self.hours.or(options.hours);
        let report = calculator::buy(&Market::load()?, &options)?;
        if self.json {
            return serde_json::to_string_pretty(&report).context("the report can't be written");
        }
        Ok(report.to_string())
    }

    /// The run to be paid for.
    fn job(&self) -> Result<Job> {
        let examples = self.examples.unwrap_or(600_000);
        let Some((transformer, work)) = self.transformer()? else {
            return Ok(Job::of(&model(&self.model)?, self.batch, examples)?);
        };
        Ok(Job::language(
            work.parameters(),
            transformer.layers.into(),
            self.batch as f64 * f64::from(transformer.sequence), // a step's tokens
            examples as f64,
        )?)
    }

    /// The card by its name, or one of so much memory.
    fn card(&self) -> Result<Option<Card>> {
        let Some(name) = self.card.as_deref() else { return Ok(None) };
        if Card::NAMES.contains(&name) || name.parse::<f64>().is_err() && fits::bytes(name).is_err()
        {
            return Ok(Some(Card::named(name)?));
        }
        let memory = fits::bytes(name)? as f64;
        let name = format!("{name} card with an H100's rates");
        Ok(Some(Card { name, memory, ..Card::named("h100")? }))
    }

    /// The best split over many cards.
    fn split(&self, transformer: Option<Workload>) -> Result<String> {
        let moves = self.optimizer;
        let mut work = match transformer {
            Some(work) => work,
            None => Workload::of_counts(&model(&self.model)?.count()?, moves)?,
        };
        match self.precision {
            Some(Bits::F32) => work.precision = Precision::single(moves),
            Some(Bits::Mixed) => work.precision = Precision::mixed(moves),
            None => {}
        }
        let mut card = self.card()?.map_or_else(|| Card::named("h100"), Ok)?;
        if let Some(links) = &self.links {
            card.network = cards::network(links)?;
        }
        let (cards, batch) = (self.cards.unwrap_or(1) as usize, self.batch as usize);
        let question = Question { work, card, cards, batch };
        let plan = search::best(&question)?;
        if self.json {
            let value = json!({
                "model": question.work.name,
                "parameters": question.work.parameters(),
                "batch": batch,
                "cards": cards,
                "card": question.card,
                "plan": plan,
                "total_bytes": plan.best.memory.total(),
                "seconds": plan.best.terms.total(),
                "bubble_share": plan.best.terms.bubble_share(),
                "communication_share": plan.best.terms.communication_share(),
            });
            return serde_json::to_string_pretty(&value).context("the plan can't be written");
        }
        Ok(report::text(&question, &plan))
    }

    fn json(&self, counts: &Counts, card: Option<u64>) -> Value {
        let bytes = Bytes::of(counts, self.batch, self.optimizer);
        let card = card.map(|card| {
            json!({
                "bytes": card,
                "fits": bytes.total() <= card,
                "largest_batch": fits::largest_batch(counts, card, self.optimizer),
            })
        });
        json!({
            "model": counts,
            "batch": self.batch,
            "bytes": bytes,
            "total_bytes": bytes.total(),
            "card": card,
        })
    }

    fn text(&self, counts: &Counts, card: Option<u64>) -> String {
        let count = |n: f64| Unit::Count.format(n);
        let size = |bytes: u64| Unit::Bytes.format(bytes as f64);
        let mut text = format!("{}\n\n", counts.name);
        let _ = writeln!(
            text,
            "  {:8} {:>14} {:>13} {:>14} {:>14} {:>12}",
            "layer", "output", "parameters", "forward", "backward", "kept"
        );
        let mega = |operations: f64| {
            if operations == 0.0 { String::new() } else { format!("{:.1}M", operations / 1e6) }
        };
        for row in &counts.rows {
            let shape: Vec<String> = row.output.iter().map(ToString::to_string).collect();
            let parameters =
                if row.parameters == 0 { String::new() } else { count(row.parameters as f64) };
            let line = format!(
                "  {:8} {:>14} {:>13} {:>14} {:>14} {:>12}",
                row.kind,
                shape.join("x"),
                parameters,
                mega(row.forward),
                mega(row.backward),
                if row.kept == 0 { "in place".to_owned() } else { size(4 * row.kept) }
            );
            let _ = writeln!(text, "{line}");
        }
        let both = (counts.forward + counts.backward) * self.batch as f64;
        let _ = write!(
            text,
            "\nparameters              {}\noperations of one image {:.4} GFLOP forward, {:.4} GFLOP backward\noperations of a step    {:.4} GFLOP for {} images\n",
            count(counts.parameters as f64),
            counts.forward / 1e9,
            counts.backward / 1e9,
            both / 1e9,
            self.batch,
        );
        let bytes = Bytes::of(counts, self.batch, self.optimizer);
        let _ = writeln!(text, "\nmemory of a step in f32");
        for (what, bytes) in [
            ("weights", bytes.weights),
            ("gradients", bytes.gradients),
            ("optimizer", bytes.optimizer),
            ("activations", bytes.activations),
            ("scratch", bytes.scratch),
            ("together", bytes.total()),
        ] {
            let _ = writeln!(text, "  {what:12} {:>12}", size(bytes));
        }
        if let Some(card) = card {
            let largest = fits::largest_batch(counts, card, self.optimizer);
            let _ = match (bytes.total() <= card, largest) {
                (true, _) => write!(
                    text,
                    "\nIt fits into {}: {} remain. The largest batch that fits is {}.",
                    size(card),
                    size(card - bytes.total()),
                    count(largest as f64)
                ),
                (false, 0) => write!(
                    text,
                    "\nIt does not fit into {}, and neither does a single image. An optimizer that remembers less needs less memory (--optimizer sgd).",
                    size(card)
                ),
                (false, _) => write!(
                    text,
                    "\nIt does not fit into {}: {} are missing. The largest batch that fits is {}.",
                    size(card),
                    size(bytes.total() - card),
                    count(largest as f64)
                ),
            };
        }
        text.trim_end().to_owned()
    }
}

/// The text of a description, if this is the name of a file and not of a model.
fn description(name: &str) -> Result<Option<String>> {
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("json")) {
        return Ok(None);
    }
    let text = open_regular(path)
        .and_then(io::read_to_string)
        .with_context(|| format!("{name} can't be read"))?;
    Ok(Some(unmarked(&text).to_owned()))
}

/// The model with this name, or from this file.
fn model(name: &str) -> Result<Model> {
    match description(name)? {
        None => Ok(Model::named(name)?),
        Some(text) => Model::from_json(&text).with_context(|| format!("{name} is no model")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsed;

    /// What `plan` says to these words.
    fn plan(words: &str) -> Result<String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        parsed::<Plan>(&words)?.report()
    }

    fn json(words: &str) -> Value {
        serde_json::from_str(&plan(&format!("{words} --json")).unwrap()).unwrap()
    }

    #[test]
    fn a_plan_says_what_is_asked_for() {
        for (words, says) in [
            (
                "--model vgg16 --batch 32 --card 24GiB",
                &["138,357,544", "It fits into 24.0 GiB"][..],
            ),
            ("--model vgg16 --batch 4096 --card 24GiB", &["does not fit", "The largest batch"]),
            ("--model vgg16 --batch 1 --card 1GiB", &["neither does a single image"]),
            ("--buy --model vgg16 --batch 64", &["H100"]),
            ("--buy --model vgg16 --batch 64 --only t4 --hours 0.001", &["hours, more than"]),
            ("--buy --reader laptop", &[]),
            // 64 sequences of 2,048 tokens are 131,072 a step, and 10⁹ tokens 7,630 such steps.
            (
                "--buy --model gpt-7b --batch 64 --examples 1000000000 --cards 8 --only h100",
                &["7 billion weights: 1,000,000,000 tokens in 7,630 steps", "8 × NVIDIA H100"],
            ),
            ("--buy --model gpt-125m --batch 8", &[" million weights"]),
            ("--model gpt-7b --batch 64 --card h100 --cards 8", &["best split", "runner-up"]),
            ("--model mlp --batch 32 --card 24GiB --cards 4", &["1 of 4 cards", "24.0 GiB"]),
            // A transformer alone is also planned for.
            ("--model gpt-125m --batch 4 --card t4", &["1 × t4"]),
        ] {
            let text = plan(words).unwrap();
            assert!(!text.is_empty(), "{words}");
            assert!(says.iter().all(|says| text.contains(says)), "{words}: {text}");
        }
        for (words, lacks) in [
            ("--model mlp --batch 1", "fit"),
            ("--buy --model vgg16 --batch 64 --only t4 --hours 0.001", "H100"),
        ] {
            let text = plan(words).unwrap();
            assert!(!text.contains(lacks), "{words}: {text}");
        }
    }

    #[test]
    fn what_is_wrong_gets_a_sentence() {
        for (words, says) in [
            ("--buy --reader king", "small, laptop, workstation"),
            ("--buy --model mlp --batch 32 --only abacus", "abacus"),
            ("--buy --card h100", "--card"),
            ("--buy --links pcie", "--links"),
            ("--buy --precision f32", "--precision"),
            ("--buy --optimizer sgd", "--optimizer"),
            ("--model mlp --precision mixed", "leave it out, or add --cards"),
            ("--model gpt-175b --batch 64 --card h100 --cards 8", "--cards"),
            ("--model vgg16 --batch 256 --card rtx4090 --cards 8 --links rope", "rope"),
            ("--model gpt-7b --batch 1 --card abacus", "abacus"),
            ("--model none.json --batch 1", "none.json"),
            ("--model vgg99 --batch 1", "vgg99"),
            ("--model gpt:layers=2,layers=3", "duplicate field `layers`"),
            ("--model gpt:layers=2", "missing field `width`"),
            ("--model mlp --card 99999999999999999999GiB", "an amount of memory"),
            ("--model mlp --batch 1 --card 24giraffes", "24giraffes"),
            ("--model mlp --batch 1 --card abacus", "abacus"),
        ] {
            let said = format!("{:#}", plan(words).unwrap_err());
            assert!(said.contains(says), "{words}: {said}");
        }
    }

    #[test]
    fn links_and_precision_change_the_plan() {
        let seconds = |more: &str| {
            let plan = json(&format!("--model vgg16 --batch 256 --card rtx4090 --cards 8 {more}"));
            plan["seconds"].as_f64().unwrap()
        };
        assert!(seconds("--links nvlink") < seconds("--links ethernet"));
        let of = |bits: &str| seconds(&format!("--links nvlink --precision {bits}"));
        assert!(of("mixed") < of("f32"));
    }

    #[test]
    fn json_says_the_same() {
        let value = json("--model vgg16 --batch 32 --card 24GiB");
        assert_eq!(value["model"]["parameters"], 138_357_544);
        assert_eq!(value["card"]["fits"], true);
        let of = |name: &str| value["bytes"][name].as_u64().unwrap();
        let parts = ["weights", "gradients", "optimizer", "activations", "scratch"].map(of);
        assert_eq!(parts.iter().sum::<u64>(), value["total_bytes"].as_u64().unwrap());
        assert_eq!(json("--model 784-10 --batch 1")["card"], Value::Null);
        // One card in f32 takes what chapter 3 counts.
        let one = "--model vgg16 --batch 32 --card h100";
        let split = json(&format!("{one} --cards 1"))["total_bytes"].as_f64().unwrap();
        assert_eq!(Some(split), json(one)["total_bytes"].as_f64());
    }

    #[test]
    fn a_file_describes_a_model() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.json");
        let of = |description: &str| {
            std::fs::write(&path, description).unwrap();
            plan(&format!("--batch 4 --model {}", path.display()))
        };
        let layers = r#"{"name": "mine", "input": [4], "layers": [{"dense": {"units": 3}}]}"#;
        let transformer = r#"{"name": "mine", "transformer":
            {"layers": 2, "width": 64, "heads": 2, "sequence": 128, "vocabulary": 1000}}"#;
        for description in [layers, transformer] {
            // An editor may have put a byte order mark before it.
            for mark in ["", "\u{feff}"] {
                assert!(of(&format!("{mark}{description}")).unwrap().contains("mine"));
            }
        }
        assert!(of(r#"{"name": "mine", "transformer": {"layers": 2}}"#).is_err());
    }
}
