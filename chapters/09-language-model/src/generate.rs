//! Generation: a trained model continues a text, token after token.
//!
//! - [`panels`]: weights in the order in which they are read, one product for all sequences.
//! - [`cache`]: keys and values that need not be computed again; [`decoder`]: the pass over new tokens alone.
//! - [`sampling`]: from scores to a token; [`utf8`]: from bytes to text.
//! - [`sequence`]: a text that grows, and a step of many; [`mod@speculative`]: a text by two models; [`loading`]: a model from its files.

pub mod cache;
pub mod decoder;
pub mod loading;
pub mod panels;
pub mod sampling;
pub mod sequence;
pub mod speculative;
pub mod utf8;

use crate::{Result, Tokenizer};
use std::ops::ControlFlow;

pub use cache::Cache;
pub use decoder::{Decoder, Span};
pub use loading::{TOKENIZER, latest_model, load};
pub use sampling::{Sampler, Sampling};
pub use sequence::{Sequence, Stop, step};
pub use speculative::speculative;

/// What came of a generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The text that follows the prompt; bytes that no character has are replaced.
    pub text: String,
    /// Its tokens.
    pub tokens: usize,
    /// Why it ended; nothing if the caller broke it off.
    pub stop: Option<Stop>,
    /// Whether prompt and text together were longer than the model's context, so that it forgot the beginning.
    pub forgotten: bool,
}

/// Continues `prompt` by at most `tokens`. `each` is given the text as it comes, in whole characters, and may break off.
///
/// # Errors
/// As [`Sequence::new`] and [`step`].
pub fn generate(
    decoder: &Decoder,
    tokenizer: &Tokenizer,
    prompt: &[u8],
    tokens: usize,
    how: Sampling,
    mut each: impl FnMut(&str) -> ControlFlow<()>,
) -> Result<Answer> {
    let mut sequence = Sequence::new(decoder, tokenizer, prompt, tokens, how)?;
    let mut text = String::new();
    while sequence.stop().is_none() {
        let more = step(decoder, tokenizer, &mut [&mut sequence])?.concat();
        text += &more;
        if !more.is_empty() && each(&more).is_break() {
            break;
        }
    }
    let (tokens, stop, forgotten) = (sequence.made(), sequence.stop(), sequence.forgotten());
    Ok(Answer { text, tokens, stop, forgotten })
}
