//! Bits per byte: how many bits a model needs for a text, over the bytes of the text.
//!
//! A loss per token depends on the tokenizer: longer tokens are harder to guess. The bytes of a text do not. With arithmetic
//! coding (Witten, Neal and Cleary 1987) a model that gives a token the probability p stores it in −log₂ p bits, so the number is
//! also the size to which the model would compress the text.

use crate::{Result, Tokenizer};
use engine::sums::{largest, replace_and_sum};
use lab::vectors::{exp, wide};

/// What a text costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bits {
    /// Bits in all.
    pub bits: f64,
    /// The text's bytes.
    pub bytes: usize,
    /// Its tokens.
    pub tokens: usize,
}

impl Bits {
    /// Bits per byte; NaN for an empty text.
    pub fn per_byte(&self) -> f64 {
        self.bits / self.bytes as f64
    }

    /// What a guesser needs to whom all tokens are equally likely.
    #[must_use]
    pub fn uniform(&self, vocabulary: usize) -> Self {
        Self { bits: self.tokens as f64 * (vocabulary as f64).log2(), ..*self }
    }
}

/// What the texts cost a model, each read from its beginning. `scores` are the model's: after each of so many tokens, at most
/// `context`, as [`crate::Model::logits`] and [`crate::generate::Decoder::logits`] give them.
///
/// Windows overlap by half: past the first window, a token is guessed from at least half a context. That costs two passes over
/// each token, and is what a text continued from the middle sees.
///
/// # Errors
/// Those of `scores`.
pub fn bits(
    mut scores: impl FnMut(&[u32]) -> Result<Vec<f32>>,
    context: usize,
    tokenizer: &Tokenizer,
    texts: impl IntoIterator<Item = impl AsRef<[u8]>>,
) -> Result<Bits> {
    let mut all = Bits::default();
    let mut tokens = Vec::new();
    for text in texts {
        tokens.clear();
        tokens.push(tokenizer.end());
        tokens.extend(tokenizer.encode(text.as_ref()));
        let targets = &tokens[1..];
        all.bytes += text.as_ref().len();
        all.tokens += targets.len();
        // ANCHOR: windows
        // Targets up to here are paid for.
        let mut paid = 0;
        while paid < targets.len() {
            let start = if paid == 0 { 0 } else { paid - context / 2 };
            let end = targets.len().min(start + context);
            let found = scores(&tokens[start..end])?;
            let rows = found.chunks_exact(tokenizer.vocabulary());
            let guessed = rows.zip(&targets[start..end]).skip(paid - start);
            all.bits += guessed.map(|(row, target)| cost(row, *target)).sum::<f64>();
            paid = end;
        }
        // ANCHOR_END: windows
    }
    Ok(all)
}

/// −log₂ of a token's probability.
pub fn cost(scores: &[f32], token: u32) -> f64 {
    let (highest, mut powers) = (largest(scores), scores.to_vec());
    let sum = wide!(|| replace_and_sum(&mut powers, |score| exp(score - highest)));
    (f64::from(sum).ln() - f64::from(scores[token as usize] - highest)) / std::f64::consts::LN_2
}
