//! `generate`: a language model continues a text.

use crate::train::RUNS;
use anyhow::{Context, Result, bail};
use clap::Args;
use lab::out::{harmless, put, unread, warn};
use language_model::{
    Tokenizer,
    generate::{Decoder, Sampling, Stop, generate, latest_model, load},
};
use serde_json::json;
use std::{
    io::{IsTerminal, Read, stderr, stdin, stdout},
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Instant,
};

/// The most bytes of a prompt from standard input.
const LONGEST: u64 = 64 << 20;

/// The options of `generate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo run -- generate --prompt \"fn main() {\"        what the latest model writes after it
  cargo run -- generate --seed 7 --tokens 500         a text from nothing; another seed, another text
  cargo run -- generate --temperature 0 --prompt \"let\"    the likeliest token, always
  cargo run -- generate --model runs/a --top-k 40     the model of this run, among 40 tokens
  cargo run -- generate --prompt-file - < src/main.rs a prompt of any bytes, from a pipe
  cargo run -- generate --prompt \"pub fn\" --int8 --json    weights in 8 bits; one JSON object

Train a model first: cargo run -- train --model gpt. Chapter 9 explains each option.")]
pub struct Generate {
    #[command(flatten)]
    which: Which,
    /// The text to continue, without a space at its end; without one the model begins a file
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt_file")]
    prompt: Option<String>,
    /// The file with the text to continue, of any bytes; - for standard input
    #[arg(long, value_name = "PATH")]
    prompt_file: Option<PathBuf>,
    /// The most tokens of the answer
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = crate::whole::<usize>(0..=u64::MAX))]
    tokens: usize,
    /// What scores are divided by: below 1 likely tokens gain, above 1 they lose, 0 takes the likeliest
    #[arg(long, value_name = "T", default_value_t = Sampling::default().temperature)]
    temperature: f64,
    /// Only the K likeliest tokens; 0 for all
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = crate::whole::<usize>(0..=u64::MAX))]
    top_k: usize,
    /// Only the likeliest tokens that together have the probability P; 1 for all
    #[arg(long, value_name = "P", default_value_t = Sampling::default().top_p)]
    top_p: f64,
    /// Where the chance comes from: the same seed gives the same text
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = crate::whole::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Print one JSON object at the end instead of the text as it comes
    #[arg(long)]
    json: bool,
}

/// Which model, and in which numbers.
#[derive(Args)]
pub(crate) struct Which {
    /// The run's folder or the model's file, with tokenizer.json beside it [default: the latest in runs]
    #[arg(long, value_name = "RUN_OR_FILE")]
    model: Option<PathBuf>,
    /// Weights in 8 bits: a quarter of the bytes, nearly the same text
    #[arg(long)]
    int8: bool,
}

impl Which {
    /// The model, ready to decode, its tokenizer, and where it is from.
    pub(crate) fn load(&self, runs: &Path) -> Result<(Decoder, Tokenizer, PathBuf)> {
        let (from, (model, tokenizer)) = match &self.model {
            Some(named) => (named.clone(), load(named)?),
            None => latest_model(runs).with_context(|| {
                format!(
                    "there is no language model in {}; train one: cargo run -- train --model gpt; or name one with --model",
                    runs.display()
                )
            })?,
        };
        let make = if self.int8 { Decoder::in_8_bits } else { Decoder::new };
        Ok((make(&model.config, &model.parameters)?, tokenizer, from))
    }
}

impl Generate {
    /// Prints the text.
    pub fn run(&self) -> Result<()> {
        let terminal = stdout().is_terminal();
        let show = |text: &str| if terminal { put(&harmless(text)) } else { put(text) };
        self.told(Path::new(RUNS), show)
    }

    /// The same, with a model from the folder `runs` unless the user names another one.
    fn told(&self, runs: &Path, show: impl Fn(&str)) -> Result<()> {
        let prompt = self.prompt()?;
        let how = Sampling {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            seed: self.seed,
        };
        how.check()?;
        let (decoder, tokenizer, from) = self.which.load(runs)?;
        if !self.json {
            show(&String::from_utf8_lossy(&prompt));
        }
        let began = Instant::now();
        let mut first = None;
        let answer = generate(&decoder, &tokenizer, &prompt, self.tokens, how, |text| {
            first.get_or_insert_with(|| began.elapsed());
            if !self.json {
                show(text);
            }
            if unread() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .inspect_err(|_| show(if self.json { "" } else { "\n" }))?;
        let seconds = began.elapsed().as_secs_f64();
        if self.json {
            let value = json!({
                "text": answer.text,
                "tokens": answer.tokens,
                "stop": answer.stop,
                "forgotten": answer.forgotten,
                "seconds": seconds,
                "seed": self.seed,
                "model": from.to_string_lossy(), // a path need not be text
            });
            let text = serde_json::to_string_pretty(&value);
            show(&(text.context("the answer can't be written")? + "\n"));
            return Ok(());
        }
        if !answer.text.ends_with('\n') {
            show("\n");
        }
        if stderr().is_terminal() {
            let end =
                if answer.stop == Some(Stop::End) { "; the model ended the text" } else { "" };
            let first = 1e3 * first.unwrap_or_default().as_secs_f64();
            let rate = answer.tokens as f64 / seconds;
            warn(format!(
                "{} tokens in {seconds:.2} s ({rate:.0} a second, the first after {first:.0} ms){end}",
                answer.tokens
            ));
        }
        if prompt.ends_with(b" ") && !prompt.ends_with(b"  ") {
            warn(
                "note: the prompt ends with a space, which is the beginning of the next word's token; without it the model knows \
                 more about what comes",
            );
        }
        if answer.forgotten {
            let context = decoder.config().context;
            warn(format!(
                "note: the model sees {context} tokens, and prompt and text had more; it forgot the beginning"
            ));
        }
        Ok(())
    }

    fn prompt(&self) -> Result<Vec<u8>> {
        match (&self.prompt, &self.prompt_file) {
            (Some(text), _) => Ok(text.clone().into_bytes()),
            (None, None) => Ok(Vec::new()),
            (None, Some(path)) if path.as_os_str() == "-" => {
                let mut bytes = Vec::new();
                let read = stdin().take(LONGEST + 1).read_to_end(&mut bytes);
                if read.context("standard input can't be read")? as u64 > LONGEST {
                    bail!("standard input has more than 64 MiB of prompt; give less of it");
                }
                Ok(bytes)
            }
            (None, Some(path)) => lab::files::read_regular(path)
                .with_context(|| format!("{} can't be read", path.display())),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::parsed;
    use lab::{run::MODEL, testing::put};
    use language_model::{Config, Model, generate::TOKENIZER};
    use std::{cell::RefCell, fs};

    fn said(words: &[&str], runs: &Path) -> Result<String> {
        let text = RefCell::new(String::new());
        parsed::<Generate>(words)?.told(runs, |more| *text.borrow_mut() += more)?;
        Ok(text.into_inner())
    }

    /// A folder with two runs: an untrained language model, and, younger, a run of another kind.
    pub(crate) fn runs() -> tempfile::TempDir {
        let runs = tempfile::tempdir().unwrap();
        let run = runs.path().join("gpt");
        fs::create_dir(&run).unwrap();
        let tokenizer = Tokenizer::train(&[b"fn main() {}\n"], 260).unwrap();
        let vocabulary = tokenizer.vocabulary();
        let config = Config { vocabulary, context: 16, width: 8, heads: 2, layers: 1, hidden: 12 };
        let mut model = Model::new(config, 1).unwrap();
        model.tokenizer = tokenizer.digest();
        model.save(&run.join(MODEL)).unwrap();
        tokenizer.save(&run.join(TOKENIZER)).unwrap();
        put(&runs.path().join("mlp"), MODEL, "no language model");
        // A run that has only just begun.
        let begun = runs.path().join("new");
        put(&begun, "checkpoint", "TPGPT002");
        tokenizer.save(&begun.join(TOKENIZER)).unwrap();
        runs
    }

    #[test]
    fn the_latest_language_model_goes_on_with_the_prompt() {
        let runs = runs();
        let text = said(&["--prompt", "fn main", "--tokens", "20"], runs.path()).unwrap();
        assert!(text.starts_with("fn main") && text.ends_with('\n') && text.len() > 20, "{text}");
        let again = said(&["--prompt", "fn main", "--tokens", "20"], runs.path()).unwrap();
        assert_eq!(text, again);
        let run = runs.path().join("gpt");
        let (run, file) = (run.to_str().unwrap(), run.join(MODEL));
        for model in [run, file.to_str().unwrap()] {
            let words = ["--model", model, "--prompt", "fn main", "--tokens", "20"];
            assert_eq!(said(&words, Path::new("none")).unwrap(), text);
        }
        let json = ["--prompt", "fn main", "--tokens", "20", "--json"];
        let json: serde_json::Value =
            serde_json::from_str(&said(&json, runs.path()).unwrap()).unwrap();
        let told = format!("fn main{}", json["text"].as_str().unwrap());
        assert_eq!(told.trim_end(), text.trim_end());
        assert!(json["tokens"].as_u64().unwrap() <= 20 && json["stop"].is_string());
        assert!(said(&["--int8", "--tokens", "5"], runs.path()).is_ok());
    }

    #[test]
    fn a_prompt_may_be_a_file_of_any_bytes() {
        let runs = runs();
        let file = runs.path().join("prompt");
        for bytes in [&b""[..], b"\xff\x00\x1b[31m", &b"let x = 1;\n".repeat(100_000)] {
            fs::write(&file, bytes).unwrap();
            let text =
                said(&["--prompt-file", file.to_str().unwrap(), "--tokens", "3"], runs.path());
            assert!(text.unwrap().starts_with(&*String::from_utf8_lossy(bytes)));
        }
    }

    #[test]
    fn errors_get_a_sentence_with_the_way_out() {
        let runs = runs();
        let fails = |words: &[&str], at: &Path| format!("{:#}", said(words, at).unwrap_err());
        assert!(fails(&[], Path::new("none")).contains("train --model gpt"));
        assert!(fails(&["--prompt-file", "none.rs"], runs.path()).contains("none.rs"));
        let folder = fails(&["--prompt-file", runs.path().to_str().unwrap()], runs.path());
        assert!(folder.contains("not a regular file"), "{folder}");
        assert!(fails(&["--temperature", "-1"], runs.path()).contains("temperature"));
        assert!(fails(&["--top-p", "0"], runs.path()).contains("top-p"));
        assert!(fails(&["--prompt", "a", "--prompt-file", "b"], runs.path()).contains("--prompt"));
        let digits = runs.path().join("mlp");
        assert!(fails(&["--model", digits.to_str().unwrap()], runs.path()).contains("safetensors"));
        // The tokenizer of another model.
        let run = runs.path().join("gpt");
        let other = Tokenizer::train(&[b"let let let let\n"], 258).unwrap();
        other.save(&run.join(TOKENIZER)).unwrap();
        let error = fails(&["--model", run.to_str().unwrap()], runs.path());
        assert!(error.contains("not the tokenizer") && error.contains("train again"), "{error}");
        fs::remove_file(run.join(TOKENIZER)).unwrap();
        assert!(fails(&["--model", run.to_str().unwrap()], runs.path()).contains(TOKENIZER));
    }
}
