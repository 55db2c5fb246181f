//! The text, counted; what the vocabulary does to it; and how long the tokenizer takes, beside the library `tokenizers`.

use crate::{
    Result, Tokenizer,
    corpus::{Corpus, Files, Source, folder, keep::Reason},
};
use lab::{Budget, Experiment, Race, Recorder, record::ParamList};
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
    /// Bytes of text in a second of this.
    pub RATE: measured "language_model.text.rate", BytesPerSecond, ["work", "vocabulary"];
    /// The library's time over this course's.
    pub PEER: measured "language_model.text.peer", Ratio, ["work"];
    /// Bytes of text in a second of both.
    pub PEER_RATE: measured "language_model.text.peer.rate", BytesPerSecond, ["work", "who"];
}

/// The parts that are kept, as the records name them.
pub const KEPT: [&str; 2] = ["training", "validation"];
/// Sizes of the vocabulary.
pub const VOCABULARIES: [usize; 5] = [257, 512, 1024, 2048, 4096];
/// What the tokenizer does.
pub const WORK: [&str; 2] = ["train", "encode"];
/// The contenders.
pub const RACERS: [&str; 2] = ["ours", "tokenizers"];

/// The vocabulary of the race: the small model's.
const RACED: usize = 2048;

/// The experiments of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        full BYTES.name => &[BYTES, FILES, CRATES, PER_TOKEN, SECONDS, RATE], |r| {
                let began = Instant::now();
                let corpus = Corpus::find(&Corpus::root())?;
                Ok(count(r, &corpus, began.elapsed().as_secs_f64())?)
            },
            "the text that the model learns from, what was left out, and bytes a token by the size of the vocabulary";
        quick PEER.name => &[PEER, PEER_RATE], |r| Ok(race(r)?),
            "training a tokenizer and encoding, beside the library `tokenizers` (with the cargo feature `peers`)";
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
    let all = bytes(training) as f64;
    let took = |r: &mut Recorder, list: ParamList, seconds: f64| {
        r.one(SECONDS.at(list), seconds);
        r.one(RATE.at(list), all / seconds);
    };
    took(r, &[("work", &"find")], seconds);
    for vocabulary in VOCABULARIES {
        let at = PER_TOKEN.at(&[("vocabulary", &vocabulary)]);
        r.note_at(&at);
        let began = Instant::now();
        let tokenizer = Tokenizer::train(training, vocabulary)?;
        let list: ParamList = &[("work", &WORK[0]), ("vocabulary", &vocabulary)];
        took(r, list, began.elapsed().as_secs_f64());
        let began = Instant::now();
        black_box(tokenizer.encode_all(training));
        let list: ParamList = &[("work", &WORK[1]), ("vocabulary", &vocabulary)];
        took(r, list, began.elapsed().as_secs_f64());
        let tokens: usize = tokenizer.encode_all(validation).iter().map(Vec::len).sum();
        r.one(at, bytes(validation) as f64 / tokens as f64);
    }
    Ok(())
}

/// Rounds, and the texts to learn from and to encode. The quick budget takes some of the course's own files, which are read in
/// no time.
fn texts(budget: Budget) -> Result<(usize, [Vec<Vec<u8>>; 2])> {
    if budget == Budget::Full {
        let Corpus { training, validation, .. } = Corpus::find(&Corpus::root())?;
        let texts = [training, validation].map(|all| all.into_iter().map(|s| s.text).collect());
        return Ok((3, texts));
    }
    let files = folder::files(&Corpus::root().join("chapters"))?;
    let files: Vec<Vec<u8>> = files.into_iter().map(|(_, text)| text).collect();
    let encoded = files.iter().step_by(8).cloned().collect();
    Ok((3, [files.into_iter().step_by(4).collect(), encoded]))
}

/// Training on all threads of both. Encoding on one thread of both: the library gets its chunks ready-made, and keeps from round
/// to round what it has encoded before; this course's side cuts them itself and begins anew.
fn race(r: &mut Recorder) -> Result<()> {
    let (rounds, [training, encoded]) = texts(r.budget)?;
    let sum = |texts: &[Vec<u8>]| texts.iter().map(|text| text.len() as f64).sum::<f64>();
    let tokenizer = Tokenizer::train(&training, RACED)?;
    let mut race = Race::new();
    race.add(RACERS[0], || {
        black_box(Tokenizer::train(&training, RACED)?);
        Ok(())
    });
    peer::learns(&mut race, &training);
    r.note_at(PEER.at(&[("work", &WORK[0])]));
    record(r, WORK[0], race, rounds, sum(&training))?;
    let mut race = Race::new();
    race.add(RACERS[0], || {
        let (mut encoder, mut tokens) = (tokenizer.encoder(), Vec::new());
        for text in &encoded {
            encoder.append(text, &mut tokens);
        }
        black_box(tokens);
        Ok(())
    });
    r.note_at(PEER.at(&[("work", &WORK[1])]));
    peer::encodes(&mut race, &tokenizer, &training, &encoded)?;
    record(r, WORK[1], race, rounds, sum(&encoded))
}

/// The rounds, and what came of them.
fn record(r: &mut Recorder, work: &str, race: Race, rounds: usize, bytes: f64) -> Result<()> {
    let results = race.rounds(rounds)?;
    for who in RACERS {
        let rate = PEER_RATE.at(&[("work", &work), ("who", &who)]);
        r.record_or_skip(rate, results.rate(who, bytes))?;
    }
    let ratio = results.ratio(RACERS[1], RACERS[0]);
    r.record_or_skip(PEER.at(&[("work", &work)]), ratio)?;
    Ok(())
}

/// The library's turns.
#[cfg(feature = "peers")]
mod peer {
    use super::{RACED, RACERS, black_box};
    use crate::{
        Error, Result, Tokenizer,
        tokenizer::{
            chunks::chunks,
            peer::{Peer, characters},
        },
    };
    use lab::Race;

    fn strings(texts: &[Vec<u8>]) -> Vec<String> {
        texts.iter().map(|text| characters(text)).collect()
    }

    /// It learns.
    pub fn learns(race: &mut Race, texts: &[Vec<u8>]) {
        let texts = strings(texts);
        race.add(RACERS[1], move || {
            black_box(Peer::train(&texts, RACED - 1)?);
            Ok(())
        });
    }

    /// It encodes, after it has learned the same merges.
    pub fn encodes(
        race: &mut Race,
        ours: &Tokenizer,
        training: &[Vec<u8>],
        texts: &[Vec<u8>],
    ) -> Result<()> {
        let peer = Peer::train(&strings(training), RACED - 1)?;
        if peer.merges()? != ours.merges() {
            return Err(Error::Config("the library learns other merges".to_owned()));
        }
        let parts: Vec<String> =
            texts.iter().flat_map(|text| chunks(text)).map(characters).collect();
        race.add(RACERS[1], move || {
            black_box(peer.encode(&parts)?);
            Ok(())
        });
        Ok(())
    }
}

/// Why the library has no turns.
#[cfg(not(feature = "peers"))]
mod peer {
    use super::RACERS;
    use crate::{Result, Tokenizer};
    use lab::Race;

    const WHY: &str = "the program was built without the cargo feature `peers`";

    /// It does not learn.
    pub fn learns(race: &mut Race, _: &[Vec<u8>]) {
        race.skip(RACERS[1], WHY);
    }

    /// It does not encode.
    #[allow(clippy::unnecessary_wraps, reason = "with the feature it may fail")]
    pub fn encodes(race: &mut Race, _: &Tokenizer, _: &[Vec<u8>], _: &[Vec<u8>]) -> Result<()> {
        race.skip(RACERS[1], WHY);
        Ok(())
    }
}
