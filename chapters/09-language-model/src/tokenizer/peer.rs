//! The library that does it for a living: `tokenizers` of Hugging Face, in Rust, next to the tokenizer of this chapter.
//!
//! Its model joins characters, and here each byte is one: byte 0 is U+0000 and byte 255 is U+00FF, in the order of the
//! bytes. It gets the chunks of this chapter's splitting rule, so that both learn from the same. Ties go the same way in both.

use super::{chunks::chunks, training::Pair};
use crate::{Error, Result};
use tokenizers::{
    Model, Trainer,
    models::bpe::{BPE, BpeTrainer},
};

/// A model of the library.
pub struct Peer(BPE);

/// Bytes as the characters that the library joins.
pub fn characters(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// The bytes of such characters.
fn bytes(characters: &str) -> Vec<u8> {
    characters.chars().map(|c| c as u8).collect()
}

impl Peer {
    /// Learns a vocabulary of so many tokens, the end of a text not counted, from texts that [`characters`] made. As
    /// [`Tokenizer::train`](super::Tokenizer::train) does, it leaves out pairs that occur once.
    ///
    /// # Errors
    /// The library's.
    pub fn train(texts: &[String], tokens: usize) -> Result<Self> {
        let mut trainer = BpeTrainer::builder()
            .show_progress(false)
            .min_frequency(2)
            .vocab_size(tokens)
            .initial_alphabet((0..=255).map(char::from).collect())
            .build();
        let split = |text: &str| Ok(chunks(&bytes(text)).map(characters).collect());
        let mut model = BPE::default();
        trainer.feed(texts.iter(), split).map_err(failed)?;
        trainer.train(&mut model).map_err(failed)?;
        Ok(Self(model))
    }

    /// The merges in the order in which they were learned.
    ///
    /// # Errors
    /// If the library writes its model in another form than it did.
    pub fn merges(&self) -> Result<Vec<Pair>> {
        let model = serde_json::to_value(&self.0).map_err(failed)?;
        let token = |part: &serde_json::Value| self.0.token_to_id(part.as_str()?);
        let pair = |pair: &serde_json::Value| Some((token(&pair[0])?, token(&pair[1])?));
        let merges = model["merges"].as_array().map(|merges| merges.iter().map(pair).collect());
        merges.flatten().ok_or_else(|| failed("its merges are in an unknown form"))
    }

    /// The tokens of chunks that [`characters`] made.
    ///
    /// # Errors
    /// The library's.
    pub fn encode(&self, chunks: &[String]) -> Result<Vec<u32>> {
        let mut tokens = Vec::new();
        for chunk in chunks {
            tokens.extend(self.0.tokenize(chunk).map_err(failed)?.iter().map(|token| token.id));
        }
        Ok(tokens)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn failed(why: impl ToString) -> Error {
    Error::Config(format!("the library `tokenizers` says: {}", why.to_string()))
}
