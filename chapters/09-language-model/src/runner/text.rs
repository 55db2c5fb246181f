//! The corpus as tokens: a stream to learn from and a stream to be tested on.

use crate::{
    Error, Result, Tokenizer, corpus::Corpus, count::TOKENS_PER_PARAMETER, train::batches,
};
use lab::run::Identity;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Both streams, and where they are from.
#[derive(Clone, Debug)]
pub struct Text {
    /// What made the tokens.
    pub tokenizer: Tokenizer,
    /// Tokens to learn from, [`Tokenizer::end`] after each file.
    pub training: Vec<u32>,
    /// Tokens to be tested on.
    pub validation: Vec<u32>,
    /// Tokens for each byte of the validation text.
    pub density: f64,
    /// The text in words, for people.
    pub about: String,
    /// Why the text is not that of the crates, where it is not.
    pub note: Option<String>,
    /// The folder whose files it is made of, where it is not that of the crates.
    pub folder: Option<PathBuf>,
}

impl Text {
    /// The corpus of the workspace in `root`, cut by the tokenizer of a run that goes on, or by one that learns `vocabulary`
    /// tokens from it.
    ///
    /// # Errors
    /// As [`Corpus::find`] and [`Tokenizer::train`].
    pub fn find(root: &Path, tokenizer: Option<Tokenizer>, vocabulary: usize) -> Result<Self> {
        Self::of(&Corpus::find(root)?, tokenizer, vocabulary)
    }

    /// The text of somebody's own folder. Its note says what so much is enough for.
    ///
    /// # Errors
    /// As [`Corpus::own`] and [`Tokenizer::train`].
    pub fn own(folder: &Path, tokenizer: Option<Tokenizer>, vocabulary: usize) -> Result<Self> {
        let text = Self::of(&Corpus::own(folder)?, tokenizer, vocabulary)?;
        let tokens = text.training.len();
        let enough = tokens as f64 / TOKENS_PER_PARAMETER;
        let size = if enough < 1e6 { (enough / 1e3, "k") } else { (enough / 1e6, "M") };
        let note = format!(
            "the text is that of {}: its {tokens} tokens are enough for {:.0}{} parameters (at {TOKENS_PER_PARAMETER:.0} tokens for each); \
             a larger model learns some of it by heart",
            folder.display(),
            size.0.ceil(),
            size.1
        );
        Ok(Self { note: Some(note), folder: Some(folder.to_owned()), ..text })
    }

    /// The same, of a corpus.
    ///
    /// # Errors
    /// As [`Text::find`].
    pub fn of(corpus: &Corpus, tokenizer: Option<Tokenizer>, vocabulary: usize) -> Result<Self> {
        let tokenizer = match tokenizer {
            Some(tokenizer) => tokenizer,
            None => Tokenizer::train(&corpus.training, vocabulary)?,
        };
        let [learned, tested] = corpus.bytes();
        // A workspace of one crate has nothing to set aside: the end of its text is tested on then.
        let mut training = tokenizer.stream(&corpus.training);
        let (validation, tested, of) = if corpus.validation.is_empty() {
            let rest = training.split_off(training.len() - training.len() / 10);
            let bytes = rest.iter().map(|token| tokenizer.bytes(*token).len()).sum();
            (rest, bytes, "its end")
        } else {
            (tokenizer.stream(&corpus.validation), tested as usize, "other crates")
        };
        let learned = if of == "its end" { learned.saturating_sub(tested as u64) } else { learned };
        let about = format!(
            "{} files: {:.1} MB to learn from, {:.1} MB of {of} to be tested on; {} tokens and {}",
            corpus.crates.iter().map(|of| of.files).sum::<usize>(),
            learned as f64 / 1e6,
            tested as f64 / 1e6,
            training.len(),
            validation.len(),
        );
        Ok(Self {
            density: validation.len() as f64 / tested.max(1) as f64,
            tokenizer,
            training,
            validation,
            about,
            note: corpus.note.clone(),
            folder: None,
        })
    }

    /// Refuses a text that has no window of so many tokens to learn from, or none at all to be tested on.
    ///
    /// # Errors
    /// [`Error::TooShort`], or [`Error::Config`] with what it takes.
    pub fn check(&self, length: usize) -> Result<()> {
        batches::places(&self.training, length)?;
        let tested = self.validation.len();
        if tested < 2 {
            return Err(Error::Config(format!(
                "the text has {tested} tokens to be tested on, and a test takes 2 or more; give it more text"
            )));
        }
        Ok(())
    }

    /// All of it that makes a run's numbers.
    pub fn identity(&self) -> Identity {
        Identity::new([
            ("training text", digest(&self.training)),
            ("validation text", digest(&self.validation)),
            ("tokenizer", self.tokenizer.digest()),
        ])
    }

    /// Bits for each byte of the validation text, from a loss in nats a token.
    pub fn bits_per_byte(&self, loss: f64) -> f64 {
        loss / std::f64::consts::LN_2 * self.density
    }
}

/// A stream's length, and its SHA-256.
fn digest(stream: &[u32]) -> String {
    let mut sha = Sha256::new();
    for piece in stream.chunks(4096) {
        let bytes: Vec<u8> = piece.iter().flat_map(|token| token.to_le_bytes()).collect();
        sha.update(&bytes);
    }
    format!("{} tokens, {:x}", stream.len(), sha.finalize())
}
