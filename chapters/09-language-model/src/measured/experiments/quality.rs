//! What a trained model is worth: what it wrote on its way, bits per byte, samples that parse, and recitation. The model is the
//! latest in `runs`, the text that of the crates that it was not trained on.

use crate::{
    Model, Result, Tokenizer,
    corpus::{Corpus, Source},
    evaluate::{
        self, Bits, bits, copies,
        parses::{Verdict, first_lines, verdicts},
    },
    generate::{Decoder, Sampling, latest_model},
    runner::report,
};
use lab::{Budget, Experiment, Recorder, Samples, record::ParamList};
use std::path::{Path, PathBuf};

lab::keys! {
    /// Bits per byte of the validation text.
    pub BITS: measured "language_model.quality.bits", Number, ["who"];
    /// What 8 bits add to a trained model's bits per byte on text that it has not seen, as a fraction.
    pub INT8_LOSS: measured "language_model.int8.loss", Share, [];
    /// The share of samples that parse, by who has written them and how strictly they are read.
    pub PARSES: measured "language_model.quality", Share, ["who", "how"];
    /// The longest part of the samples that the training text contains: its bytes, how it reads, and a crate that has it.
    pub COPY: measured "language_model.quality.copy", Bytes, ["who", "text", "crate"];
    /// The same in the middle one of the samples.
    pub COPY_MEDIAN: measured "language_model.quality.copy.median", Bytes, ["who"];
    /// Seconds of the model's run, its tests and samples on the way included.
    pub SECONDS: measured "language_model.quality.seconds", Seconds, [];
    /// Bits per byte of the validation text at the first point of a run after so many minutes of it, and what the model wrote there.
    pub WRITTEN: measured "language_model.written", Number, ["after", "tokens", "sample"];
}

/// When a reader would look: the name, and the minutes.
pub const LOOKED: [(&str, f64); 3] =
    [("1 minute", 1.0), ("3 minutes", 3.0), ("the end", f64::INFINITY)];
/// Lines of what it wrote that are kept.
pub const LINES: usize = 6;

/// The experiments of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full WRITTEN.name => &[WRITTEN], |rec| {
                match latest() {
                    Some((run, _)) => written(rec, &run),
                    None => rec.skip_all(&[], NONE),
                }
                Ok(())
            },
            "what the latest trained model wrote after its first minutes, and how well it guessed";
        full PARSES.name => &[PARSES, BITS, COPY, COPY_MEDIAN, SECONDS], |rec| Ok(quality(rec)?),
            "what the latest trained model is worth: bits per byte, samples that parse, the longest copy";
    }
}

/// Why there is nothing to measure.
const NONE: &str = "no language model was trained here; `cargo run -- train --model gpt` does";

/// The latest run of a language model in the course's `runs`, and the model.
fn latest() -> Option<(PathBuf, (Model, Tokenizer))> {
    latest_model(&Corpus::root().join("runs"))
}

/// What a run's metrics say about the first point after each time of [`LOOKED`], and about the last one.
pub fn written(rec: &mut Recorder, run: &Path) {
    let points = report::read(run);
    for (after, minutes) in LOOKED {
        let end = points.last().filter(|_| minutes.is_infinite());
        let Some(point) = end.or(points.iter().find(|point| point.seconds >= 60.0 * minutes))
        else {
            rec.skip_at(WRITTEN.at(&[("after", &after)]), "the run was shorter");
            continue;
        };
        let sample = readable(first_lines(&point.sample, LINES));
        let list: ParamList = &[("after", &after), ("tokens", &point.tokens), ("sample", &sample)];
        rec.one(WRITTEN.at(list), point.bits_per_byte);
    }
}

/// Some of the sources, spread over all of them, with about so many bytes together.
pub fn spread(sources: &[Source], bytes: usize) -> Vec<&Source> {
    let all: usize = sources.iter().map(|source| source.text.len()).sum();
    let each = (all / bytes.max(1)).max(1);
    sources.iter().step_by(each).collect()
}

/// Validation text that the budget has time for.
pub fn text(budget: Budget) -> usize {
    if budget == Budget::Full { 512 << 10 } else { 32 << 10 }
}

/// A temperature at which the likely tokens are drawn more often than usual.
const CAUTIOUS: Sampling = Sampling { temperature: 0.4, top_k: 0, top_p: 0.95, seed: 0 };

/// Samples, and their lines.
const SAMPLES: (usize, usize) = (100, 20);

fn quality(rec: &mut Recorder) -> Result<()> {
    let Some((run, (model, tokenizer))) = latest() else {
        rec.skip_all(&[], NONE);
        return Ok(());
    };
    let corpus = Corpus::find(&Corpus::root())?;
    let decoder = Decoder::new(&model.config, &model.parameters)?;
    let points = report::read(&run);
    if let Some(last) = points.last() {
        rec.one(SECONDS.at(&[]), last.seconds);
    } else {
        rec.skip_at(SECONDS.at(&[]), "the run's folder has no metrics");
    }
    guesses(rec, &model, &tokenizer, &corpus.validation)?;
    rec.keep()?;

    rec.note_at(PARSES.at(&[]));
    let text = spread(&corpus.training, 1 << 20);
    let text = text.iter().flat_map(|source| &source.text).copied().collect::<Vec<u8>>();
    let people = spread(&corpus.validation, usize::MAX).into_iter();
    let people = people.filter_map(|source| str::from_utf8(&source.text).ok());
    let people: Vec<String> = people.map(|text| first_lines(text, SAMPLES.1).to_owned()).collect();
    let step = (people.len() / SAMPLES.0).max(1);
    let people = people.into_iter().step_by(step).take(SAMPLES.0).collect();
    let written = |how| evaluate::samples(&decoder, &tokenizer, SAMPLES, how);
    let samples: [(&str, Vec<String>); 5] = [
        ("people", people),
        ("model", written(Sampling::default())?),
        ("cautious", written(CAUTIOUS)?),
        ("frequent", evaluate::random(&tokenizer, &text, SAMPLES, 1)),
        ("uniform", evaluate::random(&tokenizer, b"", SAMPLES, 1)),
    ];
    for (who, texts) in &samples {
        let all = verdicts(texts.iter().map(String::as_str));
        for (how, parses) in [
            ("whole", (|verdict| verdict.whole) as fn(&Verdict) -> bool),
            ("closed", |verdict| verdict.closed),
        ] {
            let at = PARSES.at(&[("who", who), ("how", &how)]);
            match &all {
                Ok(all) => {
                    let count = all.iter().filter(|verdict| parses(verdict)).count() as f64;
                    rec.one(at, count / all.len().max(1) as f64);
                }
                Err(lab::Error::Skipped { why, .. }) => rec.skip_at(at, why.clone()),
                Err(other) => return Err(lab::Error::message(other.to_string()).into()),
            }
        }
    }
    for (who, texts) in samples.iter().take(3) {
        rec.note_at(COPY.at(&[("who", who)]));
        let found = copies(texts, &corpus.training)?;
        let middle = Samples(found.lengths.iter().map(|length| *length as f64).collect());
        rec.record(COPY_MEDIAN.at(&[("who", who)]), middle);
        if let Some(source) = corpus.training.get(found.source) {
            let shown = readable(&String::from_utf8_lossy(&found.longest));
            let list: ParamList = &[("who", who), ("text", &shown), ("crate", &source.krate)];
            rec.one(COPY.at(list), found.longest.len() as f64);
        }
    }
    Ok(())
}

/// Bits per byte of all guessers, of the same part of the text.
///
/// # Errors
/// If it can't be measured.
pub fn guesses(
    rec: &mut Recorder,
    model: &Model,
    tokenizer: &Tokenizer,
    unseen: &[Source],
) -> Result<()> {
    rec.note_at(BITS.at(&[]));
    let part = spread(unseen, text(rec.budget));
    let found = bits(|tokens| model.logits(tokens), model.config.context, tokenizer, &part)?;
    let per_byte = |bits: Bits| Samples::one(bits.per_byte());
    let at = |who: &str| BITS.at(&[("who", &who)]);
    rec.record(at("model"), per_byte(found));
    rec.record(at("uniform"), per_byte(found.uniform(tokenizer.vocabulary())));
    rec.record(at("gzip"), per_byte(evaluate::gzip(&part)?));
    rec.record_or_skip(at("xz"), evaluate::xz(&part).map(per_byte))?;
    rec.record_or_skip(at("xz-all"), evaluate::xz(unseen).map(per_byte))?;
    Ok(())
}

/// The most characters of a text that a record keeps.
pub const KEPT: usize = 400;

/// A text as a page can show it: without white space around it, control characters and the rest of what is very long.
pub fn readable(text: &str) -> String {
    let shown = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
    let mut kept: String = text.trim().chars().filter(shown).take(KEPT + 1).collect();
    if kept.chars().count() > KEPT {
        kept.pop();
        kept.push('…');
    }
    kept
}

/// What 8 bits do to the latest model's bits per byte.
pub(super) fn lost_in_8_bits(rec: &mut Recorder) -> Result<()> {
    let Some((_, (model, tokenizer))) = latest() else {
        rec.skip_at(INT8_LOSS.at(&[]), NONE);
        return Ok(());
    };
    let corpus = Corpus::find(&Corpus::root())?;
    let validation = spread(&corpus.validation, text(rec.budget));
    let mut found = Vec::new();
    rec.note_at(INT8_LOSS.at(&[]));
    let (config, parameters) = (&model.config, &model.parameters);
    for decoder in [Decoder::new(config, parameters)?, Decoder::in_8_bits(config, parameters)?] {
        let of = |tokens: &[u32]| decoder.logits(tokens);
        found.push(bits(of, model.config.context, &tokenizer, &validation)?.per_byte());
    }
    rec.one(INT8_LOSS.at(&[]), found[1] / found[0] - 1.0);
    Ok(())
}
