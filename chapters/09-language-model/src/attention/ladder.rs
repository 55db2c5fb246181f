//! The rungs in a list, behind one trait, and the bytes that each needs beside queries, keys, values and results.

use crate::{
    Result,
    attention::{
        causal::{Attention, Head},
        fused::Fused,
        naive::Naive,
        tiled,
    },
};

/// Rung 3 with its memory.
#[derive(Debug, Default)]
pub struct Tiled {
    log: Vec<f32>,
    space: Vec<f32>,
}

impl Attention for Tiled {
    fn forward(&mut self, out: &mut [f32], head: Head) -> Result<()> {
        self.log.resize(head.tokens(), 0.0);
        self.space.resize(tiled::space(head.size), 0.0);
        tiled::forward(out, &mut self.log, head, &mut self.space);
        Ok(())
    }

    fn backward(
        &mut self,
        d: [&mut [f32]; 3],
        (dout, out): (&[f32], &[f32]),
        head: Head,
    ) -> Result<()> {
        tiled::backward(d, (dout, out, &self.log), head, &mut self.space);
        Ok(())
    }

    fn bytes(&self) -> usize {
        4 * (self.log.len() + self.space.len())
    }
}

lab::named! {
    /// A rung of the ladder.
    pub enum Rung("rung") {
        /// Every step over all n² scores.
        Naive = "naive",
        /// Scale, mask and softmax in one pass.
        Fused = "fused",
        /// Tiles that stay in the cache.
        Tiled = "tiled",
    }
}

impl Rung {
    /// Its attention, without memory yet.
    pub fn start(self) -> Box<dyn Attention> {
        match self {
            Self::Naive => Box::<Naive>::default(),
            Self::Fused => Box::<Fused>::default(),
            Self::Tiled => Box::<Tiled>::default(),
        }
    }

    /// Bytes that forward and backward need for a head of so many tokens of so many values.
    pub fn bytes(self, tokens: usize, size: usize) -> usize {
        match self {
            Self::Naive => 4 * 3 * tokens * tokens,
            Self::Fused => 4 * 2 * tokens * tokens,
            Self::Tiled => 4 * (tiled::space(size) + tokens),
        }
    }
}
