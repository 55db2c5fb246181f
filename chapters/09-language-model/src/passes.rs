//! Forward and backward through the whole model, in buffers that are reserved once.
//!
//! A layer works on a few sequences at a time, a group: what it computes on the way stays in the caches until the next
//! operation reads it, and only what the backward pass needs is kept for the whole batch. Of the hidden units of
//! `SwiGLU` and of both normalisations nothing is kept: they are computed once more.

use crate::{
    Config, Error, Model, Result,
    blocks::{Grid, each},
    error::count,
    layers::{
        attention::{self, Shape},
        embedding, loss, rms_norm,
        rotary::Rotary,
        swiglu,
    },
    layout::Block,
    product::{Numbers, adding, matrix, on},
};
use matmul::parallel::available;
use std::ops::Range;

/// Tokens of a group: their rows, of the widest kind, fill about the second-level caches of two cores.
const GROUP: usize = 512;

/// Rows of a task in a pass over rows; the sums of a normalisation's derivatives are added up task by task.
pub(crate) const ROWS: usize = 32;

/// What a batch needs on its way through a model.
pub struct Passes {
    config: Config,
    /// Sequences, and tokens of each.
    batch: usize,
    tokens: usize,
    threads: usize,
    /// How many batches like this one a step has.
    pieces: usize,
    /// What is multiplied with weights and with derivatives; attention's own products are of f32.
    numbers: Numbers,
    rotary: Rotary,
    kept: Vec<Kept>,
    /// [rows, width]: what the last layer returns.
    last: Vec<f32>,
    /// [rows, width]: the derivatives of what passes from layer to layer.
    d: Vec<f32>,
    /// [rows]: the tokens' losses.
    losses: Vec<f32>,
    group: Group,
}

/// What a layer keeps for its backward pass.
struct Kept {
    /// [rows, width]: what came in.
    x: Vec<f32>,
    /// [rows, 3·width]: queries, keys and values.
    qkv: Vec<f32>,
    /// [rows, width]: what attention returned, and the logarithms of its sums.
    attended: Vec<f32>,
    log: Vec<f32>,
    /// [rows, width]: the sum of both.
    middle: Vec<f32>,
    /// [rows, 2·hidden]: gate and up projection.
    gate_up: Vec<f32>,
}

/// What a group of sequences needs inside a layer, and no longer.
struct Group {
    /// [rows, width].
    normed: Vec<f32>,
    /// [rows, width]: the derivatives of these.
    d: Vec<f32>,
    /// [rows, hidden]: what `SwiGLU` returns, and its derivatives.
    h: Vec<f32>,
    dh: Vec<f32>,
    /// [rows, vocabulary].
    scores: Vec<f32>,
    /// [tasks, width]: parts of a normalisation's derivatives.
    parts: Vec<f32>,
}

impl Passes {
    /// Buffers for a training step on `batch` sequences of `tokens`, on so many threads (0 for all).
    ///
    /// # Errors
    /// As [`Config::check`]; [`Error::Length`] if the sequences are longer than the model's context.
    pub fn new(config: Config, batch: usize, tokens: usize, threads: usize) -> Result<Self> {
        Self::with(config, batch, tokens, threads, config.layers)
    }

    /// Buffers for a forward pass alone: all layers share one layer's.
    ///
    /// # Errors
    /// As [`Passes::new`].
    pub fn forward_only(
        config: Config,
        batch: usize,
        tokens: usize,
        threads: usize,
    ) -> Result<Self> {
        Self::with(config, batch, tokens, threads, 1)
    }

    fn with(
        config: Config,
        batch: usize,
        tokens: usize,
        threads: usize,
        layers: usize,
    ) -> Result<Self> {
        config.check()?;
        if tokens == 0 || tokens > config.context {
            return Err(Error::Length { found: tokens, context: config.context });
        }
        if batch == 0 {
            return Err(Error::Config("a batch needs at least one sequence".to_owned()));
        }
        let Config { vocabulary, width, hidden, heads, .. } = config;
        let (rows, of_group) = (batch * tokens, sequences(tokens).min(batch) * tokens);
        let zeros = |len: usize| vec![0.0; len];
        let kept = || Kept {
            x: zeros(rows * width),
            qkv: zeros(rows * 3 * width),
            attended: zeros(rows * width),
            log: zeros(rows * heads),
            middle: zeros(rows * width),
            gate_up: zeros(rows * 2 * hidden),
        };
        Ok(Self {
            config,
            batch,
            tokens,
            threads: if threads == 0 { available() } else { threads },
            pieces: 1,
            numbers: Numbers::F32,
            rotary: Rotary::new(tokens, config.head()),
            kept: (0..layers).map(|_| kept()).collect(),
            last: zeros(rows * width),
            d: zeros(rows * width),
            losses: zeros(rows),
            group: Group {
                normed: zeros(of_group * width),
                d: zeros(of_group * width),
                h: zeros(of_group * hidden),
                dh: zeros(of_group * hidden),
                scores: zeros(of_group * vocabulary),
                parts: zeros(of_group.div_ceil(ROWS) * width),
            },
        })
    }

    /// The same for one of so many pieces of a batch: losses and derivatives are divided by their number, so that those of all
    /// pieces add up to the batch's.
    #[must_use]
    pub fn of_pieces(self, pieces: usize) -> Self {
        Self { pieces, ..self }
    }

    /// The same with products of these numbers.
    #[must_use]
    pub fn of_numbers(self, numbers: Numbers) -> Self {
        Self { numbers, ..self }
    }

    /// Tokens of a batch.
    pub fn rows(&self) -> usize {
        self.batch * self.tokens
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> usize {
        let Group { normed, d, h, dh, scores, parts } = &self.group;
        let kept = self.kept.iter().flat_map(|kept| {
            let Kept { x, qkv, attended, log, middle, gate_up } = kept;
            [x, qkv, attended, log, middle, gate_up]
        });
        let rest = [&self.last, &self.d, &self.losses, normed, d, h, dh, scores, parts];
        4 * kept.chain(rest).map(Vec::len).sum::<usize>()
    }

    /// The groups' sequences.
    fn groups(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (batch, sequences) = (self.batch, sequences(self.tokens));
        (0..batch).step_by(sequences).map(move |first| first..(first + sequences).min(batch))
    }

    fn check(&self, model: &Model, tokens: &[u32]) -> Result<()> {
        if model.config != self.config {
            let (made, given) = (self.config, model.config);
            return Err(Error::Config(format!("the buffers are for {made:?}, not for {given:?}")));
        }
        count("tokens", tokens.len(), self.rows())?;
        self.config.check_tokens(tokens)
    }

    /// The mean loss of a batch, in nats a token. `tokens` and `targets` are [batch, tokens].
    ///
    /// # Errors
    /// [`Error::Count`] or [`Error::Token`] if the batch does not fit the buffers or the model.
    pub fn loss(&mut self, model: &Model, tokens: &[u32], targets: &[u32]) -> Result<f64> {
        self.check(model, tokens)?;
        self.check(model, targets)?;
        self.forward(model, tokens)?;
        for sequences in self.groups() {
            self.head(model, &sequences)?;
            let rows = self.rows_of(&sequences);
            let (vocabulary, count) = (self.config.vocabulary, rows.len());
            let grids = [
                Grid::pieces(&mut self.group.scores[..count * vocabulary], ROWS * vocabulary),
                Grid::pieces(&mut self.losses[rows.clone()], ROWS),
            ];
            let targets = &targets[rows];
            each(self.threads, grids, |task, [mut scores, mut losses]| {
                let targets = &targets[task * ROWS..];
                loss::forward(scores.values(), targets, losses.values(), vocabulary);
            });
        }
        Ok(self.mean())
    }

    /// The scores of each token's successor, one group after the other.
    ///
    /// # Errors
    /// As [`Passes::loss`].
    pub fn scores(
        &mut self,
        model: &Model,
        tokens: &[u32],
        mut each: impl FnMut(&[f32]),
    ) -> Result<()> {
        self.check(model, tokens)?;
        self.forward(model, tokens)?;
        for sequences in self.groups() {
            self.head(model, &sequences)?;
            each(&self.group.scores[..self.rows_of(&sequences).len() * self.config.vocabulary]);
        }
        Ok(())
    }

    /// The mean loss, and its derivatives in `gradient`, which has the layout of the parameters: overwritten, or with `add`
    /// added to, for a step of several batches.
    ///
    /// # Errors
    /// As [`Passes::loss`]; [`Error::Count`] if the gradient has another length or the buffers are for a forward pass alone.
    pub fn gradient(
        &mut self,
        model: &Model,
        (tokens, targets): (&[u32], &[u32]),
        gradient: &mut [f32],
        add: bool,
    ) -> Result<f64> {
        self.check(model, tokens)?;
        self.check(model, targets)?;
        count("values of the gradient", gradient.len(), model.layout.len)?;
        count("layers that are kept", self.kept.len(), self.config.layers)?;
        self.forward(model, tokens)?;
        if !add {
            clear_norms(model, gradient);
        }
        for sequences in self.groups() {
            let add = add || sequences.start > 0;
            self.head_and_loss(model, &sequences, targets, gradient, add)?;
        }
        for layer in (0..self.config.layers).rev() {
            for sequences in self.groups() {
                let add = add || sequences.start > 0;
                self.layer_backward(layer, model, &sequences, gradient, add)?;
            }
        }
        let table = &mut gradient[model.layout.embedding.clone()];
        embedding::backward(table, &self.d, tokens, self.config.width);
        Ok(self.mean())
    }

    fn forward(&mut self, model: &Model, tokens: &[u32]) -> Result<()> {
        let (table, width) = (&model.parameters[model.layout.embedding.clone()], self.config.width);
        embedding::forward(&mut self.kept[0].x, tokens, table, width);
        for layer in 0..self.config.layers {
            for sequences in self.groups() {
                self.layer_forward(layer, model, &sequences)?;
            }
            if self.kept.len() == 1 {
                std::mem::swap(&mut self.kept[0].x, &mut self.last);
            }
        }
        if self.kept.len() == 1 {
            std::mem::swap(&mut self.kept[0].x, &mut self.last);
        }
        Ok(())
    }

    /// A layer's forward pass for one group.
    fn layer_forward(&mut self, at: usize, model: &Model, sequences: &Range<usize>) -> Result<()> {
        let (rows, threads) = (self.rows_of(sequences), self.threads);
        let product = self.numbers.product();
        let Config { width, hidden, heads, .. } = self.config;
        let Block { norm1, qkv, out, norm2, gate_up, down } = &model.layout.blocks[at];
        let weights = |range: &Range<usize>, cols| matrix(&model.parameters[range.clone()], cols);
        let of = |range: &Range<usize>| &model.parameters[range.clone()];
        let (shape, wide) = (self.shape(), rows.start * width..rows.end * width);
        let at = at.min(self.kept.len() - 1);
        let (own, after) = self.kept[at..].split_at_mut(1);
        let (kept, group) = (&mut own[0], &mut self.group);
        let next = after.first_mut().map_or(&mut self.last, |kept| &mut kept.x);

        // Attention: tokens look at each other.
        let normed = &mut group.normed[..wide.len()];
        normalise(normed, &kept.x[wide.clone()], of(norm1), threads);
        let of_group = &mut kept.qkv[3 * wide.start..3 * wide.end];
        product(of_group, matrix(normed, width)?, weights(qkv, 3 * width)?, on(threads))?;
        let attended = &mut kept.attended[wide.clone()];
        let log = &mut kept.log[rows.start * heads..rows.end * heads];
        attention::forward(attended, log, of_group, (&self.rotary, shape), threads)?;
        let middle = &mut kept.middle[wide.clone()];
        middle.copy_from_slice(&kept.x[wide.clone()]); // the residual path
        product(middle, matrix(attended, width)?, weights(out, width)?, adding(true, threads))?;

        // The feed-forward part: each token for itself.
        normalise(normed, middle, of(norm2), threads);
        let of_group = &mut kept.gate_up[2 * rows.start * hidden..2 * rows.end * hidden];
        product(of_group, matrix(normed, width)?, weights(gate_up, 2 * hidden)?, on(threads))?;
        let h = &mut group.h[..rows.len() * hidden];
        each(threads, [Grid::pieces(h, ROWS * hidden)], |task, [mut h]| {
            swiglu::forward(h.values(), &of_group[task * ROWS * 2 * hidden..], hidden);
        });
        let next = &mut next[wide];
        next.copy_from_slice(middle);
        product(next, matrix(h, hidden)?, weights(down, width)?, adding(true, threads))
    }

    /// A layer's backward pass for one group: the lines of [`Passes::layer_forward`] from the last to the first. The rows of
    /// `self.d` are the derivatives of what the layer returned, then of what came in.
    fn layer_backward(
        &mut self,
        at: usize,
        model: &Model,
        sequences: &Range<usize>,
        gradient: &mut [f32],
        add: bool,
    ) -> Result<()> {
        let (rows, threads) = (self.rows_of(sequences), self.threads);
        let product = self.numbers.product();
        let Config { width, hidden, heads, .. } = self.config;
        let Block { norm1, qkv, out, norm2, gate_up, down } = &model.layout.blocks[at];
        let weights = |range: &Range<usize>, cols| matrix(&model.parameters[range.clone()], cols);
        let of = |range: &Range<usize>| &model.parameters[range.clone()];
        let (shape, wide) = (self.shape(), rows.start * width..rows.end * width);
        let (kept, group) = (&mut self.kept[at], &mut self.group);
        let d = &mut self.d[wide.clone()];
        let (normed, dnormed) = (&mut group.normed[..wide.len()], &mut group.d[..wide.len()]);
        let (on, add) = (on(threads), adding(add, threads));

        // The feed-forward part.
        let dh = &mut group.dh[..rows.len() * hidden];
        product(dh, matrix(d, width)?, weights(down, width)?.t(), on)?;
        let h = &mut group.h[..rows.len() * hidden];
        let middle = &kept.middle[wide.clone()];
        let of_group = &mut kept.gate_up[2 * rows.start * hidden..2 * rows.end * hidden];
        let len = ROWS * hidden;
        let grids = [Grid::pieces(of_group, 2 * len), Grid::pieces(h, len)];
        each(threads, grids, |task, [mut gate_up, mut h]| {
            swiglu::backward(gate_up.values(), h.values(), &dh[task * len..], hidden);
        });
        let of_group = matrix(of_group, 2 * hidden)?;
        product(&mut gradient[down.clone()], matrix(h, hidden)?.t(), matrix(d, width)?, add)?;
        normalise(normed, middle, of(norm2), threads);
        product(&mut gradient[gate_up.clone()], matrix(normed, width)?.t(), of_group, add)?;
        product(dnormed, of_group, weights(gate_up, 2 * hidden)?.t(), on)?;
        let dscale = &mut gradient[norm2.clone()];
        normalise_backward(d, dscale, dnormed, (middle, of(norm2)), &mut group.parts, threads);

        // Attention.
        let (attended, log) = (&kept.attended[wide.clone()], &kept.log[rows.start * heads..]);
        product(dnormed, matrix(d, width)?, weights(out, width)?.t(), on)?;
        product(&mut gradient[out.clone()], matrix(attended, width)?.t(), matrix(d, width)?, add)?;
        let of_group = &mut kept.qkv[3 * wide.start..3 * wide.end];
        attention::backward(of_group, (dnormed, attended, log), (&self.rotary, shape), threads)?;
        let of_group = matrix(of_group, 3 * width)?;
        let x = &kept.x[wide];
        normalise(normed, x, of(norm1), threads);
        product(&mut gradient[qkv.clone()], matrix(normed, width)?.t(), of_group, add)?;
        product(dnormed, of_group, weights(qkv, 3 * width)?.t(), on)?;
        let dscale = &mut gradient[norm1.clone()];
        normalise_backward(d, dscale, dnormed, (x, of(norm1)), &mut group.parts, threads);
        Ok(())
    }

    /// The last normalisation and the scores of a group.
    fn head(&mut self, model: &Model, sequences: &Range<usize>) -> Result<()> {
        let (rows, threads) = (self.rows_of(sequences), self.threads);
        let product = self.numbers.product();
        let Config { width, vocabulary, .. } = self.config;
        let (layout, group) = (&model.layout, &mut self.group);
        let normed = &mut group.normed[..rows.len() * width];
        let last = &self.last[rows.start * width..rows.end * width];
        normalise(normed, last, &model.parameters[layout.norm.clone()], threads);
        let table = matrix(&model.parameters[layout.embedding.clone()], width)?;
        let scores = &mut group.scores[..rows.len() * vocabulary];
        product(scores, matrix(normed, width)?, table.t(), on(threads))
    }

    /// [`Passes::head`], the losses of a group, and the way back to the last layer. No more scores exist at once than a group's.
    fn head_and_loss(
        &mut self,
        model: &Model,
        sequences: &Range<usize>,
        targets: &[u32],
        gradient: &mut [f32],
        add: bool,
    ) -> Result<()> {
        self.head(model, sequences)?;
        let (rows, threads) = (self.rows_of(sequences), self.threads);
        let product = self.numbers.product();
        let Config { width, vocabulary, .. } = self.config;
        let (layout, group, share) =
            (&model.layout, &mut self.group, 1.0 / (self.losses.len() * self.pieces) as f32);
        let scores = &mut group.scores[..rows.len() * vocabulary];
        let targets = &targets[rows.clone()];
        let grids = [
            Grid::pieces(scores, ROWS * vocabulary),
            Grid::pieces(&mut self.losses[rows.clone()], ROWS),
        ];
        each(threads, grids, |task, [mut scores, mut losses]| {
            let targets = &targets[task * ROWS..];
            loss::backward(scores.values(), targets, losses.values(), vocabulary, share);
        });
        let wide = rows.start * width..rows.end * width;
        let (normed, dnormed) = (&group.normed[..wide.len()], &mut group.d[..wide.len()]);
        let (table, dscores) = (layout.embedding.clone(), matrix(scores, vocabulary)?);
        let dtable = &mut gradient[table.clone()];
        product(dtable, dscores.t(), matrix(normed, width)?, adding(add, threads))?;
        product(dnormed, dscores, matrix(&model.parameters[table], width)?, on(threads))?;
        let (d, last) = (&mut self.d[wide.clone()], &self.last[wide]);
        d.fill(0.0);
        let (scale, dscale) =
            (&model.parameters[layout.norm.clone()], &mut gradient[layout.norm.clone()]);
        normalise_backward(d, dscale, dnormed, (last, scale), &mut group.parts, threads);
        Ok(())
    }

    fn rows_of(&self, sequences: &Range<usize>) -> Range<usize> {
        sequences.start * self.tokens..sequences.end * self.tokens
    }

    fn shape(&self) -> Shape {
        Shape { tokens: self.tokens, heads: self.config.heads, size: self.config.head() }
    }

    fn mean(&self) -> f64 {
        let sum: f64 = self.losses.iter().map(|loss| f64::from(*loss)).sum();
        sum / (self.losses.len() * self.pieces) as f64
    }
}

/// Sequences of a group.
pub(crate) fn sequences(tokens: usize) -> usize {
    (GROUP / tokens).max(1)
}

/// [`rms_norm::forward`] on all threads.
fn normalise(y: &mut [f32], x: &[f32], scale: &[f32], threads: usize) {
    let len = ROWS * scale.len();
    each(threads, [Grid::pieces(y, len)], |task, [mut y]| {
        rms_norm::forward(y.values(), &x[task * len..], scale);
    });
}

/// [`rms_norm::backward`] on all threads. The tasks' parts of `dscale` are added up in their order.
fn normalise_backward(
    dx: &mut [f32],
    dscale: &mut [f32],
    dy: &[f32],
    (x, scale): (&[f32], &[f32]),
    parts: &mut [f32],
    threads: usize,
) {
    let (width, len) = (scale.len(), ROWS * scale.len());
    let parts = &mut parts[..dx.len().div_ceil(len) * width];
    parts.fill(0.0);
    let grids = [Grid::pieces(dx, len), Grid::pieces(parts, width)];
    each(threads, grids, |task, [mut dx, mut part]| {
        let rows = task * len..task * len + dx.values().len();
        rms_norm::backward(dx.values(), part.values(), &dy[rows.clone()], &x[rows], scale);
    });
    for part in parts.chunks_exact(width) {
        dscale.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
}

/// The derivatives of the normalisations are always added to.
fn clear_norms(model: &Model, gradient: &mut [f32]) {
    let blocks = model.layout.blocks.iter().flat_map(|block| [&block.norm1, &block.norm2]);
    for norm in blocks.chain([&model.layout.norm]) {
        gradient[norm.clone()].fill(0.0);
    }
}

/// What a model says of tokens, with passes that are made for it and dropped.
impl Model {
    /// The scores of each token's successor: [tokens, vocabulary]. Softmax makes probabilities of a row.
    ///
    /// # Errors
    /// [`Error::Length`] if there are no tokens or more than the context, [`Error::Token`].
    pub fn logits(&self, tokens: &[u32]) -> Result<Vec<f32>> {
        let mut passes = Passes::forward_only(self.config, 1, tokens.len(), 0)?;
        let mut all = Vec::with_capacity(tokens.len() * self.config.vocabulary);
        passes.scores(self, tokens, |scores| all.extend_from_slice(scores))?;
        Ok(all)
    }

    /// The mean loss, in nats a token, of `batch` sequences, one after the other in `tokens`; `targets` has each token's
    /// successor.
    ///
    /// # Errors
    /// [`Error::Count`] if the tokens are not `batch` sequences, [`Error::Length`], [`Error::Token`].
    pub fn loss(&self, tokens: &[u32], targets: &[u32], batch: usize) -> Result<f64> {
        let length = tokens.len() / batch.max(1);
        count("tokens", tokens.len(), length * batch)?;
        Passes::forward_only(self.config, batch, length, 0)?.loss(self, tokens, targets)
    }
}
