//! Speculative decoding (Leviathan, Kalman and Matias 2023), greedily: a draft proposes tokens, and the model checks them in one pass.

use super::{
    decoder::{Decoder, Span},
    sampling::{Sampler, Sampling},
};
use crate::Result;

/// A text by two models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speculated {
    /// The tokens behind the prompt: those that the model would have written alone.
    pub tokens: Vec<u32>,
    /// How many passes of the model they took.
    pub passes: usize,
}

/// Continues a prompt by so many tokens; the draft proposes `ahead` of them before each pass.
///
/// # Errors
/// As [`Decoder::step`]: an empty prompt, tokens of another vocabulary, or a text that exceeds a context.
pub fn speculative(
    [model, draft]: [&Decoder; 2],
    prompt: &[u32],
    tokens: usize,
    ahead: usize,
) -> Result<Speculated> {
    let mut likeliest = Sampler::new(Sampling::greedy())?;
    let (mut own, mut drafts) = (model.cache(), draft.cache());
    let (mut text, mut passes, end) = (prompt.to_vec(), 0, prompt.len() + tokens);
    // ANCHOR: speculative
    while text.len() < end {
        let known = text.len();
        let mut proposed = text.clone();
        while proposed.len() < end.min(known + ahead + 1) - 1 {
            let tokens = &proposed[drafts.len()..];
            let scores = draft.step(&mut [Span { cache: &mut drafts, tokens }])?;
            proposed.push(likeliest.next(&scores)?);
        }
        // One pass reads all that is new, and has scores behind each token of it.
        let tokens = &proposed[own.len()..];
        let scores = model.each(Span { cache: &mut own, tokens })?;
        let rows = scores.chunks_exact(model.config().vocabulary);
        // Rows before the text's last token say what is known.
        let before = rows.len() - (proposed.len() - known) - 1;
        for row in rows.skip(before) {
            let token = likeliest.next(row)?;
            text.push(token);
            if proposed.get(text.len() - 1) != Some(&token) {
                break; // the draft was wrong: what follows is discarded
            }
        }
        passes += 1;
        own.truncate(text.len() - 1);
        drafts.truncate(text.len() - 1);
    }
    // ANCHOR_END: speculative
    Ok(Speculated { tokens: text.split_off(prompt.len()), passes })
}
