//! `plan`: what a model needs before anybody runs it.

use anyhow::{Context, Result};
use backprop::{
    count::{Counts, Model},
    fits::{self, Bytes, Moves},
};
use clap::{Args, ValueEnum, value_parser};
use lab::Unit;
use serde_json::{Value, json};
use std::{fmt::Write as _, fs, path::Path};

/// The options of `plan`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo run --release -- plan --model vgg16 --batch 32 --card 24GiB
  cargo run --release -- plan --model 784-512-128-10 --batch 128
  cargo run --release -- plan --model mine.json --card 8GiB --optimizer sgd --json

A description file names the input and the layers:
  {\"name\": \"mine\", \"input\": [1, 28, 28], \"layers\": [
    {\"conv\": {\"channels\": 8, \"size\": 3, \"padding\": 1}}, \"relu\", {\"pool\": {\"size\": 2}},
    \"flatten\", {\"dense\": {\"units\": 128}}, \"relu\", {\"dropout\": {\"rate\": 0.2}}, {\"dense\": {\"units\": 10}}]}")]
pub struct Plan {
    /// vgg16, mlp (784-128-10), sizes such as 784-512-10, or a file that describes a model
    #[arg(long, default_value = "mlp")]
    model: String,
    /// Pictures of one step
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = value_parser!(u64).range(1..))]
    batch: u64,
    /// The card's memory, such as 24GiB
    #[arg(long, value_name = "MEMORY")]
    card: Option<String>,
    /// How the parameters move: what the optimizer remembers takes memory, too
    #[arg(long, value_enum, default_value = "adam")]
    optimizer: Optimizer,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How the parameters move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Optimizer {
    /// Plain gradient descent.
    Sgd,
    /// With momentum.
    Momentum,
    /// Adam.
    Adam,
}

impl Optimizer {
    fn moves(self) -> Moves {
        match self {
            Self::Sgd => Moves::Sgd,
            Self::Momentum => Moves::Momentum,
            Self::Adam => Moves::Adam,
        }
    }
}

impl Plan {
    /// Prints the plan.
    pub fn run(&self) -> Result<()> {
        println!("{}", self.report()?);
        Ok(())
    }

    /// What is printed.
    fn report(&self) -> Result<String> {
        let counts = model(&self.model)?.count()?;
        let card = self.card.as_deref().map(fits::bytes).transpose()?;
        if self.json {
            let value = self.json(&counts, card);
            return serde_json::to_string_pretty(&value).context("the plan can't be written");
        }
        Ok(self.text(&counts, card))
    }

    fn json(&self, counts: &Counts, card: Option<u64>) -> Value {
        let moves = self.optimizer.moves();
        let bytes = Bytes::of(counts, self.batch, moves);
        let card = card.map(|card| {
            json!({
                "bytes": card,
                "fits": bytes.total() <= card,
                "largest_batch": fits::largest_batch(counts, card, moves),
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
        let moves = self.optimizer.moves();
        let bytes = Bytes::of(counts, self.batch, moves);
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
            let largest = fits::largest_batch(counts, card, moves);
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

/// The model with this name, or from this file.
fn model(name: &str) -> Result<Model> {
    let path = Path::new(name);
    if path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("json")) {
        return Ok(Model::named(name)?);
    }
    let text = fs::read_to_string(path).with_context(|| format!("{name} can't be read"))?;
    Model::from_json(&text).with_context(|| format!("{name} is no model"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(model: &str, batch: u64, card: Option<&str>, json: bool) -> Result<String> {
        let (model, card) = (model.to_owned(), card.map(str::to_owned));
        Plan { model, batch, card, optimizer: Optimizer::Adam, json }.report()
    }

    #[test]
    fn vgg16_on_a_card_in_words() {
        let text = plan("vgg16", 32, Some("24GiB"), false).unwrap();
        assert!(text.contains("138,357,544") && text.contains("It fits into 24.0 GiB"), "{text}");
        let text = plan("vgg16", 4096, Some("24GiB"), false).unwrap();
        assert!(text.contains("does not fit") && text.contains("The largest batch"), "{text}");
        let text = plan("vgg16", 1, Some("1GiB"), false).unwrap();
        assert!(text.contains("neither does a single image"), "{text}");
        assert!(!plan("mlp", 1, None, false).unwrap().contains("fit"));
    }

    #[test]
    fn json_says_the_same() {
        let text = plan("vgg16", 32, Some("24GiB"), true).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["model"]["parameters"], 138_357_544);
        assert_eq!(value["card"]["fits"], true);
        let of = |name: &str| value["bytes"][name].as_u64().unwrap();
        let parts = ["weights", "gradients", "optimizer", "activations", "scratch"].map(of);
        assert_eq!(parts.iter().sum::<u64>(), value["total_bytes"].as_u64().unwrap());
        assert!(plan("784-10", 1, None, true).unwrap().contains("\"card\": null"));
    }

    #[test]
    fn a_file_describes_a_model_and_mistakes_are_sentences() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.json");
        let description = r#"{"name": "mine", "input": [4], "layers": [{"dense": {"units": 3}}]}"#;
        fs::write(&path, description).unwrap();
        assert!(plan(&path.to_string_lossy(), 1, None, false).unwrap().contains("mine"));
        for (model, card) in [("none.json", None), ("vgg99", None), ("mlp", Some("24 giraffes"))] {
            assert!(plan(model, 1, card, false).is_err(), "{model}");
        }
    }
}
