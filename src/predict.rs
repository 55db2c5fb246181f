//! `predict`: a digit from an image.

use crate::train::RUNS;
use anyhow::{Context, Result};
use clap::Args;
use lab::{
    out::{harmless, put},
    run::{Kind, MODEL, latest},
};
use serde_json::json;
use std::{
    io::{IsTerminal, stdout},
    path::{Path, PathBuf},
};
use training::{Classifier, picture};

/// The options of `predict`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo run -- predict digit.png              what the latest run reads in your image
  cargo run -- predict photo.jpg --run runs/a what the run in this folder reads in it
  cargo run -- predict digit.png --json       the probabilities, for programs
  cargo run -- predict t10k-images-idx3-ubyte --index 7   an image of MNIST's files

One digit in an image, of any size, dark on light or light on dark. It is made into the form of the images
that the model learned from (MNIST's, if its file does not say); what can't be one digit is refused. An image
of an IDX file goes in as it is. On a terminal you see what the model sees.")]
pub struct Predict {
    /// A PNG or JPEG image, or an IDX file of images (plain or gzip)
    image: PathBuf,
    /// The model's file [default: the latest in runs]
    #[arg(long, value_name = "PATH", conflicts_with = "run")]
    model_file: Option<PathBuf>,
    /// The folder of the run whose model reads it
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Which image of an IDX file, from 0; need not be said of the only one
    #[arg(long, value_name = "N", value_parser = crate::whole::<usize>(0..=u64::MAX))]
    index: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Predict {
    /// Prints what the model reads.
    pub fn run(&self) -> Result<()> {
        put(&harmless(&self.report(Path::new(RUNS), stdout().is_terminal())?));
        Ok(())
    }

    /// What is printed, with a model from the folder `runs` unless the reader names another one; `shown` is
    /// whether the image is.
    fn report(&self, runs: &Path, shown: bool) -> Result<String> {
        let (file, classifier) = self.model(runs)?;
        let pixels = picture::read(&self.image, self.index, classifier.form())?;
        let probabilities = classifier.probabilities(&pixels)?.concat();
        let digit = classifier.digits(&pixels)?[0];
        if self.json {
            let value = json!({
                "digit": digit,
                "probabilities": probabilities,
                "model": classifier.kind().name(),
                "model_file": file.to_string_lossy(), // a path need not be text
            });
            let text = serde_json::to_string_pretty(&value);
            return Ok(text.context("the prediction can't be written")? + "\n");
        }
        let mut text = String::new();
        if shown {
            text += &format!("What the model sees:\n{}\n", picture::ascii(&pixels));
        }
        let percent = |digit: usize| 100.0 * probabilities[digit];
        text += &format!("{} from {}\n", classifier.kind(), file.display());
        text += &format!("It reads a {digit} ({:.1}%).\n", percent(digit));
        for digit in 0..probabilities.len() {
            text += &format!("  {digit}  {:6.2}%\n", percent(digit));
        }
        Ok(text)
    }

    /// The model that reads the image, and its file.
    fn model(&self, runs: &Path) -> Result<(PathBuf, Classifier)> {
        let named = self.run.as_ref().map(|run| run.join(MODEL));
        if let Some(file) = self.model_file.clone().or(named) {
            let classifier = Classifier::load(&file)?;
            return Ok((file, classifier));
        }
        let found = latest(runs, Some(Kind::Digits), |run| Classifier::load(&run.join(MODEL)));
        let (run, classifier) = found.with_context(|| {
            format!(
                "there is no trained model in {}; train one: cargo run -- train; or name one with --model-file",
                runs.display()
            )
        })?;
        Ok((run.join(MODEL), classifier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsed;
    use std::fs;
    use training::Model;

    fn said(words: &[&str], runs: &Path, shown: bool) -> Result<String> {
        parsed::<Predict>(words)?.report(runs, shown)
    }

    /// A folder with two runs and an IDX file of three drawn digits.
    fn folder() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        for (seed, kind) in [(1, Model::Mlp), (2, Model::Linear)] {
            let run = folder.path().join(format!("runs/{seed}"));
            fs::create_dir_all(&run).unwrap();
            Classifier::random(kind, seed).unwrap().save(&run.join(MODEL)).unwrap();
        }
        // A later run that has no model yet, and a language model's.
        for (name, model) in [("3", None), ("4", Some(b"of another kind"))] {
            let run = folder.path().join(format!("runs/{name}"));
            let form = if model.is_some() { "TPGPT002" } else { "TPTRAIN4" };
            lab::testing::put(&run, "checkpoint", form);
            if let Some(bytes) = model {
                fs::write(run.join(MODEL), bytes).unwrap();
            }
        }
        let file = folder.path().join("digits");
        let header = [0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 28, 0, 0, 0, 28];
        let digits = lab::data::drawn(3, 0, 1).train.images;
        fs::write(&file, [&header[..], &digits].concat()).unwrap();
        (folder, file.to_string_lossy().into_owned())
    }

    #[test]
    fn the_latest_model_classifies_the_image() {
        let (folder, file) = folder();
        let runs = folder.path().join("runs");
        let text = said(&[&file, "--index", "2"], &runs, false).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 12, "{text}");
        assert!(lines[0].starts_with("linear from ") && lines[0].contains("2/model"), "{text}");
        let model = Classifier::load(&runs.join("2").join(MODEL)).unwrap();
        let pixels = lab::data::drawn(3, 0, 1).train.scaled();
        let wanted = model.probabilities(&pixels).unwrap().remove(2);
        let digit = model.digits(&pixels).unwrap()[2];
        assert_eq!(lines[1], format!("It reads a {digit} ({:.1}%).", 100.0 * wanted[digit]));
        for (digit, line) in lines[2..].iter().enumerate() {
            assert_eq!(*line, format!("  {digit}  {:6.2}%", 100.0 * wanted[digit]));
        }
        let seen = said(&[&file, "--index", "2"], &runs, true).unwrap();
        assert!(seen.starts_with("What the model sees:\n") && seen.ends_with(&text), "{seen}");
        assert!(seen.contains('@'), "{seen}");
    }

    #[test]
    fn another_model_can_be_named_and_json_says_the_same() {
        let (folder, file) = folder();
        let run = folder.path().join("runs/1");
        let (run, model) = (run.to_string_lossy(), run.join(MODEL));
        let none = Path::new("none");
        let text = said(&[&file, "--index", "0", "--run", &run, "--json"], none, true).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["model"], &value["model_file"]), (&json!("mlp"), &json!(model)));
        let probabilities: Vec<f64> =
            serde_json::from_value(value["probabilities"].clone()).unwrap();
        assert_eq!(probabilities.len(), 10);
        let largest = probabilities.iter().copied().fold(0.0, f64::max);
        let digit = value["digit"].as_u64().unwrap() as usize;
        assert_eq!(probabilities[digit].to_bits(), largest.to_bits());
        let named = ["--index", "0", "--model-file", model.to_str().unwrap(), "--json"];
        let named = said(&[&named[..], &[file.as_str()]].concat(), none, true);
        assert_eq!(named.unwrap(), text);
        assert!(said(&[&file, "--run", &run, "--model-file", "a"], none, true).is_err());
    }

    #[test]
    fn what_is_missing_gets_a_sentence_with_the_way_out() {
        let (folder, file) = folder();
        let runs = folder.path().join("runs");
        let none = folder.path().join("none");
        let error = said(&[&file], &none, false).unwrap_err().to_string();
        assert!(error.contains("cargo run -- train"), "{error}");
        let error = said(&["none.png"], &runs, false).unwrap_err().to_string();
        assert!(error.contains("none.png") && error.contains("can't be read"), "{error}");
        let run = none.to_string_lossy();
        let error = said(&[&file, "--run", &run], &runs, false).unwrap_err().to_string();
        assert!(error.contains("none") && error.contains("can't be read"), "{error}");
        let error = said(&[&file, "--index", "-1"], &runs, false).unwrap_err().to_string();
        assert!(error.contains("give a whole number from 0"), "{error}");
        let error = said(&[&file], &runs, false).unwrap_err().to_string();
        assert!(error.contains("--index 2"), "{error}");
    }
}
