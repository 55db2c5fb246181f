//! Texts to judge: by the model, and by chance.

use super::parses::first_lines;
use crate::{
    Result, Tokenizer,
    generate::{Decoder, Sampling, Sequence, step},
};
use lab::random::{SplitMix64, key};

/// Samples that are written side by side.
const BATCH: usize = 16;

/// Tokens of a line that are waited for.
const TOKENS: usize = 40;

/// So many texts of so many lines that a model writes from nothing. A text that the model ends earlier, or that has no end of
/// a line for long, is shorter. Sample i has a seed of its own, of `how.seed` and i.
///
/// # Errors
/// As [`Sequence::new`] and [`step`].
pub fn samples(
    decoder: &Decoder,
    tokenizer: &Tokenizer,
    (count, lines): (usize, usize),
    how: Sampling,
) -> Result<Vec<String>> {
    let mut all = Vec::with_capacity(count);
    for first in (0..count).step_by(BATCH) {
        let seeds = first..count.min(first + BATCH);
        let start = |at: usize| {
            let seed = key(&[how.seed, at as u64]);
            Sequence::new(decoder, tokenizer, b"", lines * TOKENS, Sampling { seed, ..how })
        };
        let mut sequences = seeds.map(start).collect::<Result<Vec<_>>>()?;
        let mut texts = vec![String::new(); sequences.len()];
        loop {
            let going = sequences.iter_mut().zip(&mut texts).filter(|(sequence, text)| {
                sequence.stop().is_none() && text.matches('\n').count() < lines
            });
            let (mut going, growing): (Vec<&mut Sequence>, Vec<&mut String>) = going.unzip();
            if going.is_empty() {
                break;
            }
            let news = step(decoder, tokenizer, &mut going)?;
            growing.into_iter().zip(news).for_each(|(text, more)| *text += &more);
        }
        all.extend(texts.iter().map(|text| first_lines(text, lines).to_owned()));
    }
    Ok(all)
}

/// The same by chance: tokens drawn from those of `text`, each as often as it comes there, without any order. With an empty
/// text, all tokens are equally likely.
pub fn random(
    tokenizer: &Tokenizer,
    text: &[u8],
    (count, lines): (usize, usize),
    seed: u64,
) -> Vec<String> {
    let tokens = tokenizer.encode(text);
    let sample = |at: usize| {
        let mut random = SplitMix64::new(key(&[seed, at as u64]));
        let mut bytes = Vec::new();
        for _ in 0..lines * TOKENS {
            let token = match &tokens[..] {
                [] => random.below(tokenizer.vocabulary() - 1) as u32,
                some => some[random.below(some.len())],
            };
            bytes.extend_from_slice(tokenizer.bytes(token));
        }
        first_lines(&String::from_utf8_lossy(&bytes), lines).to_owned()
    };
    (0..count).map(sample).collect()
}
