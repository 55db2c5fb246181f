//! The text, counted; what the vocabulary does to it; and how long the tokenizer takes.

use crate::{
    Result, Tokenizer,
    corpus::{Corpus, Files, Source, keep::Reason},
};
use lab::{Experiment, Recorder, record::ParamList};
use std::{hint::black_box, time::Instant};

lab::keys! {
    /// Bytes of a part of the text: to learn from, to be tested on, or left out for a reason.
    pub BYTES: counted "language_model.text", Bytes, ["part"];
    /// Its files.
    pub FILES: counted "language_model.text.files", Count, ["part"];
    /// The crates that gave files to it. One whose files were all left out is not among them.
    pub CRATES: counted "language_model.text.crates", Count, ["part"];
    /// Bytes of the text to be tested on for each of its tokens.
    pub PER_TOKEN: counted "language_model.text.vocabulary", Number, ["vocabulary"];
    /// Seconds to find the text, to train a tokenizer on it and to encode it, on all threads.
    pub SECONDS: measured "language_model.text.seconds", Seconds, ["work", "vocabulary"];
}

/// The parts that are kept, as the records name them.
pub const KEPT: [&str; 2] = ["training", "validation"];
/// Sizes of the vocabulary.
pub const VOCABULARIES: [usize; 5] = [257, 512, 1024, 2048, 4096];
/// What the tokenizer does.
pub const WORK: [&str; 2] = ["train", "encode"];

/// The experiments of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full BYTES.name => &[BYTES, FILES, CRATES, PER_TOKEN, SECONDS], |r| {
                let began = Instant::now();
                let corpus = Corpus::find(&Corpus::root())?;
                Ok(count(r, &corpus, began.elapsed().as_secs_f64())?)
            },
            "the text that the model learns from, what was left out, and bytes a token by the size of the vocabulary";
    }
}

fn bytes(sources: &[Source]) -> u64 {
    sources.iter().map(|source| source.text.len() as u64).sum()
}

/// Counts a text that took so many seconds to find, and encodes it with vocabularies of all sizes.
///
/// # Errors
/// If it can't be measured.
pub fn count(r: &mut Recorder, corpus: &Corpus, seconds: f64) -> Result<()> {
    for (part, sources) in KEPT.into_iter().zip([&corpus.training, &corpus.validation]) {
        let list: ParamList = &[("part", &part)];
        let crates = corpus.crates.iter().filter(|krate| krate.validation == (part == KEPT[1]));
        r.one(CRATES.at(list), crates.count() as f64);
        r.one(FILES.at(list), sources.len() as f64);
        r.one(BYTES.at(list), bytes(sources) as f64);
    }
    for reason in Reason::ALL {
        let Files { files, bytes } = corpus.left_out.get(&reason).copied().unwrap_or_default();
        let list: ParamList = &[("part", &reason.name())];
        r.one(FILES.at(list), files as f64);
        r.one(BYTES.at(list), bytes as f64);
    }
    let [training, validation] = [&corpus.training, &corpus.validation];
    r.one(SECONDS.at(&[("work", &"find")]), seconds);
    for vocabulary in VOCABULARIES {
        let at = PER_TOKEN.at(&[("vocabulary", &vocabulary)]);
        r.note_at(&at);
        let began = Instant::now();
        let tokenizer = Tokenizer::train(training, vocabulary)?;
        let work = SECONDS.at(&[("vocabulary", &vocabulary)]);
        r.one(work.clone().with("work", WORK[0]), began.elapsed().as_secs_f64());
        let began = Instant::now();
        black_box(tokenizer.encode_all(training));
        r.one(work.with("work", WORK[1]), began.elapsed().as_secs_f64());
        let tokens: usize = tokenizer.encode_all(validation).iter().map(Vec::len).sum();
        r.one(at, bytes(validation) as f64 / tokens as f64);
    }
    Ok(())
}
