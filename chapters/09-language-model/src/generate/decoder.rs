//! A trained model, ready to decode: a pass over new tokens alone, for one sequence or many at once.

use super::{cache::Cache, panels::Matrix};
use crate::{
    Config, Error, Layout, Result,
    layers::{rms_norm, rotary::Rotary, swiglu},
};
use backprop::error::count;
use engine::sums::{largest, replace_and_sum};
use lab::vectors::{exp, wide};
use matmul::{parallel::available, team::share};

/// Multiplications of attention that are worth a thread.
const WORTH: usize = 1 << 16;

/// A model whose weights lie in panels. It is read only, so that any number of sequences can share it.
#[derive(Clone, Debug)]
pub struct Decoder {
    config: Config,
    /// [width, vocabulary]: its columns are the embedding's rows.
    embedding: Matrix,
    blocks: Vec<Block>,
    norm: Vec<f32>,
    rotary: Rotary,
}

#[derive(Clone, Debug)]
struct Block {
    norm1: Vec<f32>,
    qkv: Matrix,
    out: Matrix,
    norm2: Vec<f32>,
    gate_up: Matrix,
    down: Matrix,
}

/// New tokens of one sequence.
#[derive(Debug)]
pub struct Span<'a> {
    /// What the sequence has read so far.
    pub cache: &'a mut Cache,
    /// What it reads now.
    pub tokens: &'a [u32],
}

impl Decoder {
    /// The model with these parameters, in f32.
    ///
    /// # Errors
    /// As [`Config::check`]; [`backprop::Error::Count`] if there are too many or too few parameters.
    pub fn new(config: &Config, parameters: &[f32]) -> Result<Self> {
        Self::with(config, parameters, |inputs, outputs, at| Matrix::new(inputs, outputs, at))
    }

    /// The model, with matrices that `matrix` makes of inputs, outputs and the weight between two.
    pub(crate) fn with(
        config: &Config,
        parameters: &[f32],
        matrix: impl Fn(usize, usize, &dyn Fn(usize, usize) -> f32) -> Matrix,
    ) -> Result<Self> {
        config.check()?;
        let layout = Layout::new(config);
        count("parameters", parameters.len(), layout.len)?;
        let Config { vocabulary, context, width, hidden, .. } = *config;
        let of = |range: &std::ops::Range<usize>, inputs: usize, outputs: usize| {
            let weights = &parameters[range.clone()];
            matrix(inputs, outputs, &|i, j| weights[i * outputs + j])
        };
        let vector = |range: &std::ops::Range<usize>| parameters[range.clone()].to_vec();
        let blocks = layout.blocks.iter().map(|block| Block {
            norm1: vector(&block.norm1),
            qkv: of(&block.qkv, width, 3 * width),
            out: of(&block.out, width, width),
            norm2: vector(&block.norm2),
            gate_up: of(&block.gate_up, width, 2 * hidden),
            down: of(&block.down, hidden, width),
        });
        let rows = &parameters[layout.embedding.clone()];
        Ok(Self {
            config: *config,
            blocks: blocks.collect(),
            embedding: matrix(width, vocabulary, &|i, token| rows[token * width + i]),
            norm: vector(&layout.norm),
            rotary: Rotary::new(context, config.head()),
        })
    }

    /// The model's sizes.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Bytes of weights that a step reads, whatever the number of its sequences.
    pub fn bytes(&self) -> usize {
        let vectors = self.norm.len() + self.blocks.len() * 2 * self.config.width;
        let matrices = self.blocks.iter().flat_map(|b| [&b.qkv, &b.out, &b.gate_up, &b.down]);
        let matrices = matrices.chain([&self.embedding]).map(Matrix::bytes);
        matrices.sum::<usize>() + vectors * size_of::<f32>()
    }

    /// An empty cache for one sequence.
    pub fn cache(&self) -> Cache {
        Cache::new(&self.config)
    }

    /// Reads the new tokens of all spans in one pass: each weight is fetched once for all of them. Returns the scores of the
    /// token that follows each span, [spans, vocabulary].
    ///
    /// # Errors
    /// [`Error::Length`] if a span is empty or exceeds what its cache has room for; [`Error::Token`] for a token that the
    /// model does not know; [`Error::Config`] for a cache of another model. The caches are then as before.
    pub fn step(&self, spans: &mut [Span]) -> Result<Vec<f32>> {
        let x = self.pass(spans)?;
        let width = self.config.width;
        let mut last = Vec::with_capacity(spans.len() * width);
        let mut end = 0;
        for span in spans {
            end += span.tokens.len() * width;
            last.extend_from_slice(&x[end - width..end]);
        }
        Ok(self.scores(&last))
    }

    /// The scores after each of the tokens, [len, vocabulary]: a full pass, for evaluation and for tests.
    ///
    /// # Errors
    /// As [`Decoder::step`].
    pub fn logits(&self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.each(Span { cache: &mut self.cache(), tokens })
    }

    /// The scores after each token of a span.
    ///
    /// # Errors
    /// As [`Decoder::step`].
    pub fn each(&self, span: Span) -> Result<Vec<f32>> {
        Ok(self.scores(&self.pass(&mut [span])?))
    }

    /// Normalised rows times the embedding.
    fn scores(&self, x: &[f32]) -> Vec<f32> {
        let rows = x.len() / self.config.width;
        let mut normed = vec![0.0; x.len()];
        let mut scores = vec![0.0; rows * self.config.vocabulary];
        rms_norm::forward(&mut normed, x, &self.norm);
        self.embedding.product(&mut scores, &normed);
        scores
    }

    fn check(&self, spans: &[Span]) -> Result<()> {
        for Span { cache, tokens } in spans {
            if !cache.fits(&self.config) {
                let why =
                    "the cache belongs to a model of other sizes; take one from Decoder::cache";
                return Err(Error::Config(why.to_owned()));
            }
            if tokens.is_empty() || tokens.len() > cache.room() {
                let (found, context) = (cache.len() + tokens.len(), self.config.context);
                return Err(Error::Length { found, context });
            }
            self.config.check_tokens(tokens)?;
        }
        Ok(())
    }

    /// The last layer's outputs, a row for each new token. The caches then hold these tokens as well.
    fn pass(&self, spans: &mut [Span]) -> Result<Vec<f32>> {
        self.check(spans)?;
        let Config { width, hidden, .. } = self.config;
        let rows = spans.iter().map(|span| span.tokens.len()).sum::<usize>();
        let buffer = |width: usize| vec![0.0; rows * width];
        let (mut x, mut normed, mut sum) = (buffer(width), buffer(width), buffer(width));
        let (mut qkv, mut gate_up) = (buffer(3 * width), buffer(2 * hidden));
        let mut inner = buffer(hidden);
        let tokens = spans.iter().flat_map(|span| span.tokens);
        for (row, token) in x.chunks_exact_mut(width).zip(tokens) {
            self.embedding.column(*token as usize, row);
        }
        // ANCHOR: pass
        for (layer, block) in self.blocks.iter().enumerate() {
            rms_norm::forward(&mut normed, &x, &block.norm1);
            block.qkv.product(&mut qkv, &normed);
            self.remember(spans, layer, &mut qkv);
            self.attention(spans, layer, &mut normed, &qkv);
            block.out.product(&mut sum, &normed);
            add(&mut x, &sum);
            rms_norm::forward(&mut normed, &x, &block.norm2);
            block.gate_up.product(&mut gate_up, &normed);
            swiglu::forward(&mut inner, &gate_up, hidden);
            block.down.product(&mut sum, &inner);
            add(&mut x, &sum);
        }
        // ANCHOR_END: pass
        for span in spans {
            span.cache.grow(span.tokens.len());
        }
        Ok(x)
    }

    /// Turns queries and keys by their positions, and stores keys and values.
    fn remember(&self, spans: &mut [Span], layer: usize, qkv: &mut [f32]) {
        let width = self.config.width;
        let mut rows = qkv.chunks_exact_mut(3 * width);
        for Span { cache, tokens } in spans {
            let first = cache.len();
            for (at, row) in rows.by_ref().take(tokens.len()).enumerate() {
                self.rotary.forward(&mut row[..2 * width], first + at);
                let (key, value) = row[width..].split_at(width);
                cache.write(layer, first + at, key, value);
            }
        }
    }

    /// Each new token looks at its own sequence, up to itself. `to` is [rows, width].
    fn attention(&self, spans: &[Span], layer: usize, to: &mut [f32], qkv: &[f32]) {
        let width = self.config.width;
        // Of each row: what it writes, its query, its cache, and how many positions it sees.
        let mut rows = Vec::with_capacity(to.len() / width);
        let mut parts = to.chunks_exact_mut(width).zip(qkv.chunks_exact(3 * width));
        let mut work = 0;
        for span in spans {
            for at in 0..span.tokens.len() {
                let seen = span.cache.len() + at + 1;
                work += 2 * seen * width;
                rows.extend(parts.next().map(|(to, qkv)| (to, &qkv[..width], &*span.cache, seen)));
            }
        }
        let threads = available().min(work / WORTH).clamp(1, rows.len().max(1));
        let each = rows.len().div_ceil(threads);
        let mut parts = Vec::with_capacity(threads);
        while !rows.is_empty() {
            let rest = rows.split_off(each.min(rows.len()));
            parts.push(std::mem::replace(&mut rows, rest));
        }
        share(parts, |rows| {
            let mut scores = vec![0.0; self.config.context];
            for (to, query, cache, seen) in rows {
                wide!(|| self.look(to, query, (cache, layer), &mut scores[..*seen]));
            }
        });
    }

    /// One row's attention: for each head the softmax over the positions, and the mean of their values by it.
    #[inline(always)]
    fn look(&self, to: &mut [f32], query: &[f32], of: (&Cache, usize), scores: &mut [f32]) {
        let ((cache, layer), size) = (of, self.config.head());
        let scale = 1.0 / (size as f32).sqrt();
        let heads = to.chunks_exact_mut(size).zip(query.chunks_exact(size));
        for (head, (to, query)) in heads.enumerate() {
            let (keys, values) = cache.read(layer, head);
            scores.fill(0.0);
            for (row, query) in keys.chunks_exact(self.config.context).zip(query) {
                let query = query * scale;
                scores.iter_mut().zip(row).for_each(|(score, key)| *score += query * key);
            }
            let highest = largest(scores);
            let sum = replace_and_sum(scores, |score| exp(score - highest));
            to.fill(0.0);
            for (value, weight) in values.chunks_exact(size).zip(&*scores) {
                let weight = weight / sum;
                to.iter_mut().zip(value).for_each(|(to, value)| *to += weight * value);
            }
        }
    }
}

fn add(x: &mut [f32], more: &[f32]) {
    wide!(|| x.iter_mut().zip(more).for_each(|(x, more)| *x += more));
}
