//! Six numbers that fix a model: how many tokens it knows, how many it sees at once, and how wide and deep it is.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The sizes of a transformer.
///
/// ```
/// let config = language_model::Config::tiny();
/// config.check()?;
/// assert_eq!(config.head(), 32);
/// # Ok::<(), language_model::Error>(())
/// ```
// ANCHOR: config
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Tokens that it knows, the end of a text included.
    pub vocabulary: usize,
    /// Tokens of the longest sequence.
    pub context: usize,
    /// Values that describe a token inside the model.
    pub width: usize,
    /// Attention heads of a layer; each has `width / heads` values of a token.
    pub heads: usize,
    /// Layers, one after the other.
    pub layers: usize,
    /// Units of the feed-forward part of a layer.
    pub hidden: usize,
}
// ANCHOR_END: config

impl Config {
    /// About a million parameters: what ten minutes on two cores should train.
    pub fn tiny() -> Self {
        Self { vocabulary: 1024, context: 128, width: 128, heads: 4, layers: 4, hidden: 352 }
    }

    /// About five million parameters: worth its size with more cores or more minutes.
    pub fn small() -> Self {
        Self { vocabulary: 2048, context: 256, width: 256, heads: 8, layers: 6, hidden: 704 }
    }

    /// Values that one head has of a token; even, because rotary positions turn pairs of them.
    pub fn head(&self) -> usize {
        self.width / self.heads
    }

    /// # Errors
    /// [`Error::Config`] if a model of these sizes can't be built.
    pub fn check(&self) -> Result<()> {
        let sizes = [
            ("vocabulary", self.vocabulary, 1 << 24),
            ("context", self.context, 1 << 20),
            ("width", self.width, 1 << 16),
            ("heads", self.heads, 1 << 10),
            ("layers", self.layers, 1 << 10),
            ("hidden", self.hidden, 1 << 18),
        ];
        for (name, size, most) in sizes {
            if size == 0 || size > most {
                return Err(Error::Config(format!("{name} is {size}; it must be 1 to {most}")));
            }
        }
        if !self.width.is_multiple_of(2 * self.heads) {
            return Err(Error::Config(format!(
                "a width of {} can't be cut into {} heads of an even size; take a multiple of {}",
                self.width,
                self.heads,
                2 * self.heads
            )));
        }
        Ok(())
    }

    /// # Errors
    /// [`Error::Token`] if one of the tokens is not in the vocabulary.
    pub fn check_tokens(&self, tokens: &[u32]) -> Result<()> {
        let vocabulary = self.vocabulary;
        match tokens.iter().find(|token| **token as usize >= vocabulary) {
            Some(&token) => Err(Error::Token { token, vocabulary }),
            None => Ok(()),
        }
    }
}
