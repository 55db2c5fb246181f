//! The KV cache: keys and values of the tokens that were read, so that the next token costs one row and not a whole pass.

use crate::Config;
use std::ops::Range;

/// The keys and values of one sequence, in every layer: `2·layers·context·width` numbers.
///
/// Both are laid out for the loops that read them. A key is spread over rows of positions, [layers, heads, head, context], so
/// that the scores of neighbouring positions are neighbours; a value is a row, [layers, heads, context, head].
#[derive(Clone, Debug)]
pub struct Cache {
    config: Config,
    keys: Vec<f32>,
    values: Vec<f32>,
    len: usize,
}

impl Cache {
    /// An empty cache for a model of these sizes.
    pub fn new(config: &Config) -> Self {
        let all = config.layers * config.context * config.width;
        Self { config: *config, keys: vec![0.0; all], values: vec![0.0; all], len: 0 }
    }

    /// How many tokens were read.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many more there is room for.
    pub fn room(&self) -> usize {
        self.config.context - self.len
    }

    /// Forgets all tokens but the first ones.
    pub fn truncate(&mut self, tokens: usize) {
        self.len = self.len.min(tokens);
    }

    /// After a pass that has written these tokens' keys and values.
    pub(super) fn grow(&mut self, tokens: usize) {
        self.len += tokens;
    }

    /// Whether it belongs to a model of these sizes.
    pub(super) fn fits(&self, config: &Config) -> bool {
        self.config == *config
    }

    /// Where a head of a layer lies, in both.
    fn head(&self, layer: usize, head: usize) -> Range<usize> {
        let size = self.config.context * self.config.head();
        let start = (layer * self.config.heads + head) * size;
        start..start + size
    }

    /// Stores the key and the value of all heads, [width] each, at a position.
    pub(super) fn write(&mut self, layer: usize, position: usize, key: &[f32], value: &[f32]) {
        let (context, size) = (self.config.context, self.config.head());
        let parts = key.chunks_exact(size).zip(value.chunks_exact(size));
        for (head, (key, value)) in parts.enumerate() {
            let range = self.head(layer, head);
            let rows = self.keys[range.clone()].chunks_exact_mut(context);
            rows.zip(key).for_each(|(row, key)| row[position] = *key);
            self.values[range][position * size..][..size].copy_from_slice(value);
        }
    }

    /// The keys, [head, context], and the values, [context, head], of a head.
    #[inline]
    pub(super) fn read(&self, layer: usize, head: usize) -> (&[f32], &[f32]) {
        let range = self.head(layer, head);
        (&self.keys[range.clone()], &self.values[range])
    }
}
