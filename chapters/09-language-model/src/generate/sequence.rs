//! A sequence that grows: its window of tokens, its cache, its sampler; and a step of many sequences at once.

use super::{
    cache::Cache,
    decoder::{Decoder, Span},
    sampling::{Sampler, Sampling},
    utf8::Utf8,
};
use crate::{Error, Result, Tokenizer};
use serde::Serialize;

/// Prompt tokens that a sequence reads in one step: a long prompt must not keep the other sequences waiting.
pub const CHUNK: usize = 64;

/// Bytes of a prompt for each token of the window that are looked at; what lies further back would be forgotten.
const REACH: usize = 64;

/// Why a sequence has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stop {
    /// The model has ended the text.
    End,
    /// As many tokens as were asked for.
    Length,
}

/// A text that a model continues.
#[derive(Debug)]
pub struct Sequence {
    cache: Cache,
    /// The tokens that the model may see.
    window: Vec<u32>,
    /// How many of them it has read.
    read: usize,
    sampler: Sampler,
    text: Utf8,
    /// Tokens that may still come.
    left: usize,
    made: usize,
    forgotten: bool,
    stop: Option<Stop>,
}

impl Sequence {
    /// A sequence that begins with a prompt of any bytes and grows by at most `tokens`. An empty prompt is the beginning of a
    /// text. Of a prompt longer than the model's context the last half of a context is read.
    ///
    /// # Errors
    /// As [`Sampling::check`]; [`Error::Config`] if the model has another vocabulary than the tokenizer, or a context of one
    /// token.
    pub fn new(
        decoder: &Decoder,
        tokenizer: &Tokenizer,
        prompt: &[u8],
        tokens: usize,
        how: Sampling,
    ) -> Result<Self> {
        let config = decoder.config();
        if config.vocabulary != tokenizer.vocabulary() {
            return Err(Error::Config(format!(
                "the model knows {} tokens and the tokenizer {}; take the tokenizer that the model was trained with",
                config.vocabulary,
                tokenizer.vocabulary()
            )));
        }
        if config.context < 2 {
            let why = "a context of one token can't be continued; train a model with a longer one";
            return Err(Error::Config(why.to_owned()));
        }
        let sampler = Sampler::new(how)?;
        let reach = REACH * config.context;
        let near = &prompt[prompt.len().saturating_sub(reach)..];
        let mut window = tokenizer.encode(near);
        if window.is_empty() {
            window.push(tokenizer.end());
        }
        let mut sequence = Self {
            cache: decoder.cache(),
            window,
            read: 0,
            sampler,
            text: Utf8::default(),
            left: tokens,
            made: 0,
            forgotten: near.len() < prompt.len(),
            stop: (tokens == 0).then_some(Stop::Length),
        };
        sequence.slide(config.context);
        Ok(sequence)
    }

    /// Why it has ended, once it has.
    pub fn stop(&self) -> Option<Stop> {
        self.stop
    }

    /// How many tokens the model has added, the end of the text not counted.
    pub fn made(&self) -> usize {
        self.made
    }

    /// Whether the model has lost sight of the beginning: prompt and text together are longer than its context.
    pub fn forgotten(&self) -> bool {
        self.forgotten
    }

    /// The tokens that the model sees at the next step.
    pub fn window(&self) -> &[u32] {
        &self.window
    }

    /// Where the window exceeds the context, its last half remains, and is read again from position 0. A position that
    /// the model was not trained on never comes up, and a long text costs two passes over each token instead of one.
    fn slide(&mut self, context: usize) {
        if self.window.len() > context {
            self.window.drain(..self.window.len() - context / 2);
            self.cache.truncate(0);
            self.read = 0;
            self.forgotten = true;
        }
    }

    /// What it reads in the next step.
    fn span(&mut self) -> Span<'_> {
        let end = self.window.len().min(self.read + CHUNK);
        Span { cache: &mut self.cache, tokens: &self.window[self.read..end] }
    }

    /// Takes the scores that follow its last span. Returns the new text, or none while it still reads its prompt.
    fn take(&mut self, decoder: &Decoder, tokenizer: &Tokenizer, scores: &[f32]) -> Result<String> {
        self.read = self.cache.len();
        if self.read < self.window.len() {
            return Ok(String::new());
        }
        let token = self.sampler.next(scores)?;
        if token == tokenizer.end() {
            self.stop = Some(Stop::End);
            return Ok(self.text.finish());
        }
        self.made += 1;
        self.left -= 1;
        let mut text = self.text.push(tokenizer.bytes(token));
        if self.left == 0 {
            self.stop = Some(Stop::Length);
            text += &self.text.finish();
        }
        self.window.push(token);
        self.slide(decoder.config().context);
        Ok(text)
    }
}

/// One step of all sequences that have not ended, in one pass over the weights. Returns the text that each has gained.
///
/// # Errors
/// As [`Decoder::step`] and [`Sampler::next`].
pub fn step(
    decoder: &Decoder,
    tokenizer: &Tokenizer,
    sequences: &mut [&mut Sequence],
) -> Result<Vec<String>> {
    // ANCHOR: step
    let going = sequences.iter_mut().filter(|sequence| sequence.stop.is_none());
    let mut spans: Vec<Span> = going.map(|sequence| sequence.span()).collect();
    let scores = decoder.step(&mut spans)?;
    let mut scores = scores.chunks_exact(decoder.config().vocabulary);
    // ANCHOR_END: step
    let mut text = |sequence: &mut Sequence| {
        let scores = if sequence.stop.is_none() { scores.next() } else { None };
        scores.map_or(Ok(String::new()), |scores| sequence.take(decoder, tokenizer, scores))
    };
    sequences.iter_mut().map(|sequence| text(sequence)).collect()
}
