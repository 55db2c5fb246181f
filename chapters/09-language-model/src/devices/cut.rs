//! Which heads, hidden units and layers of a model are a rank's, and where its numbers lie in the whole model.
//!
//! A head's queries, keys and values are columns of one matrix, and what becomes of them are rows of the next; so are the
//! hidden units. Cut by columns, then by rows, two products need one sum over the ranks (Shoeybi et al. 2019,
//! "Megatron-LM", section 3).

use crate::{Config, Error, Layout, Result, layout::Block};
use multi_gpu::{Rank, rank::part_of};
use std::ops::Range;

/// A rank's part of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The whole model's sizes.
    pub config: Config,
    /// The rank's layers.
    pub layers: Range<usize>,
    /// Its heads.
    pub heads: Range<usize>,
    /// Its hidden units.
    pub hidden: Range<usize>,
    /// Whether it counts the numbers that the ranks with the other heads also have.
    pub counts: bool,
}

/// A tensor of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Where it lies in the rank's buffer.
    pub range: Range<usize>,
    /// Whether it shrinks: matrices do.
    pub shrinks: bool,
    /// Whether it is this rank's in a sum over all ranks: of the numbers that several ranks have, one counts them.
    pub counts: bool,
}

/// Where the tensors of a rank lie in its buffer, and how it goes together with the whole model's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// [vocabulary, width]: the first and the last stage have it.
    pub embedding: Option<Range<usize>>,
    /// Its layers, with its heads and hidden units alone.
    pub blocks: Vec<Block>,
    /// `[width]`: the last stage has it.
    pub norm: Option<Range<usize>>,
    /// All of them.
    pub tensors: Vec<Tensor>,
    /// Ranges of the whole model's buffer, and those of equal length of the rank's buffer.
    pub pieces: Vec<(Range<usize>, Range<usize>)>,
    /// Numbers of the rank.
    pub len: usize,
}

impl Cut {
    /// Rank `rank` of `ranks` that share each product.
    ///
    /// # Errors
    /// [`Error::Config`] if there are more ranks than heads or hidden units.
    pub fn tensor(config: Config, rank: Rank, ranks: usize) -> Result<Self> {
        config.check()?;
        let most = config.heads.min(config.hidden);
        if ranks > most {
            return Err(Error::Config(format!(
                "{} heads and {} hidden units can't be cut over {ranks} ranks; take {most} at most",
                config.heads, config.hidden
            )));
        }
        let heads = part_of(config.heads, rank, ranks);
        let hidden = part_of(config.hidden, rank, ranks);
        Ok(Self { config, layers: 0..config.layers, heads, hidden, counts: rank.0 == 0 })
    }

    /// Stage `stage` of `stages`, with all of its layers' heads.
    ///
    /// # Errors
    /// [`Error::Config`] if there are more stages than layers.
    pub fn stage(config: Config, stage: Rank, stages: usize) -> Result<Self> {
        config.check()?;
        let Config { layers, heads, hidden, .. } = config;
        if stages > layers {
            return Err(Error::Config(format!(
                "{layers} layers can't be cut into {stages} stages; take {layers} at most"
            )));
        }
        let layers = part_of(layers, stage, stages);
        Ok(Self { config, layers, heads: 0..heads, hidden: 0..hidden, counts: true })
    }

    /// Whether tokens come in here.
    pub fn is_first(&self) -> bool {
        self.layers.start == 0
    }

    /// Whether scores go out here.
    pub fn is_last(&self) -> bool {
        self.layers.end == self.config.layers
    }

    /// Where everything lies.
    pub fn places(&self) -> Places {
        let (whole, size, width) =
            (Layout::new(&self.config), self.config.head(), self.config.width);
        let columns = self.heads.start * size..self.heads.end * size;
        let mut all = Builder::default();
        let ends = self.is_first() || self.is_last();
        // The last stage has a copy of the first one's table, and does not count it.
        let table = self.counts && self.is_first();
        let embedding =
            ends.then(|| all.rows(&whole.embedding, 0..whole.embedding.len(), true, table));
        let blocks = whole.blocks[self.layers.clone()].iter().map(|block| Block {
            norm1: all.rows(&block.norm1, 0..width, false, self.counts),
            qkv: all.columns(&block.qkv, (3, width), &columns),
            out: all.rows(&block.out, columns.start * width..columns.end * width, true, true),
            norm2: all.rows(&block.norm2, 0..width, false, self.counts),
            gate_up: all.columns(&block.gate_up, (2, self.config.hidden), &self.hidden),
            down: {
                let rows = self.hidden.start * width..self.hidden.end * width;
                all.rows(&block.down, rows, true, true)
            },
        });
        let blocks = blocks.collect();
        let norm = self.is_last().then(|| all.rows(&whole.norm, 0..width, false, self.counts));
        let Builder { tensors, pieces, len } = all;
        Places { embedding, blocks, norm, tensors, pieces, len }
    }
}

/// Puts one tensor after the other.
#[derive(Default)]
struct Builder {
    tensors: Vec<Tensor>,
    pieces: Vec<(Range<usize>, Range<usize>)>,
    len: usize,
}

impl Builder {
    fn piece(&mut self, whole: Range<usize>) {
        let own = self.len..self.len + whole.len();
        self.len = own.end;
        self.pieces.push((whole, own));
    }

    fn tensor(&mut self, start: usize, shrinks: bool, counts: bool) -> Range<usize> {
        let range = start..self.len;
        self.tensors.push(Tensor { range: range.clone(), shrinks, counts });
        range
    }

    /// Whole rows of a tensor: numbers that lie together.
    fn rows(
        &mut self,
        of: &Range<usize>,
        part: Range<usize>,
        shrinks: bool,
        counts: bool,
    ) -> Range<usize> {
        let start = self.len;
        self.piece(of.start + part.start..of.start + part.end);
        self.tensor(start, shrinks, counts)
    }

    /// The same columns of each of `stripes` matrices of `wide` columns that stand side by side.
    fn columns(
        &mut self,
        of: &Range<usize>,
        (stripes, wide): (usize, usize),
        part: &Range<usize>,
    ) -> Range<usize> {
        let start = self.len;
        for stripe in of.clone().step_by(wide) {
            self.piece(stripe + part.start..stripe + part.end);
        }
        debug_assert!(of.len().is_multiple_of(stripes * wide), "whole rows");
        self.tensor(start, true, true)
    }
}
