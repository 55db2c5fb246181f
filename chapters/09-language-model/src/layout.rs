//! All parameters in one buffer, and where each tensor lies in it: one update goes through all of them, one file holds
//! them, one sum of squares is the norm of the whole gradient, which has the same layout.

use crate::Config;
use std::ops::Range;

/// Where each tensor lies. Matrices are row-major, [inputs, outputs].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// [vocabulary, width]: a row for each token, as input and, transposed, as output.
    pub embedding: Range<usize>,
    /// The layers.
    pub blocks: Vec<Block>,
    /// `[width]`: the last normalisation's scales.
    pub norm: Range<usize>,
    /// Parameters in all.
    pub len: usize,
}

/// The tensors of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// `[width]`: the scales before attention.
    pub norm1: Range<usize>,
    /// [width, 3·width]: queries, keys and values, and in each the heads side by side.
    pub qkv: Range<usize>,
    /// [width, width]: from the heads' results back.
    pub out: Range<usize>,
    /// `[width]`: the scales before the feed-forward part.
    pub norm2: Range<usize>,
    /// [width, 2·hidden]: the gate's columns, then the up projection's.
    pub gate_up: Range<usize>,
    /// [hidden, width].
    pub down: Range<usize>,
}

impl Layout {
    /// The tensors of a model one after the other: the embedding, the layers, the last normalisation.
    pub fn new(config: &Config) -> Self {
        let Config { vocabulary, width, hidden, layers, .. } = *config;
        let mut len = 0;
        let mut next = |values: usize| {
            len += values;
            len - values..len
        };
        Self {
            embedding: next(vocabulary * width),
            blocks: (0..layers)
                .map(|_| Block {
                    norm1: next(width),
                    qkv: next(width * 3 * width),
                    out: next(width * width),
                    norm2: next(width),
                    gate_up: next(width * 2 * hidden),
                    down: next(hidden * width),
                })
                .collect(),
            norm: next(width),
            len,
        }
    }

    /// Every tensor with its name and shape, in the buffer's order; vectors have one length, matrices two.
    pub fn tensors(&self, config: &Config) -> Vec<(String, Range<usize>, Vec<usize>)> {
        let Config { vocabulary, width, hidden, .. } = *config;
        let mut all = vec![("embedding".into(), self.embedding.clone(), vec![vocabulary, width])];
        for (layer, block) in self.blocks.iter().enumerate() {
            let parts = [
                ("norm1", &block.norm1, vec![width]),
                ("qkv", &block.qkv, vec![width, 3 * width]),
                ("out", &block.out, vec![width, width]),
                ("norm2", &block.norm2, vec![width]),
                ("gate_up", &block.gate_up, vec![width, 2 * hidden]),
                ("down", &block.down, vec![hidden, width]),
            ];
            all.extend(parts.map(|(name, range, shape)| {
                (format!("layers.{layer}.{name}"), range.clone(), shape)
            }));
        }
        all.push(("norm".into(), self.norm.clone(), vec![width]));
        all
    }
}
