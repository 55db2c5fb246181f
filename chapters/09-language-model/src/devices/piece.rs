//! The passes of a rank's part of the model: [`crate::transformer`] once more, line by line, with the sums over the ranks that
//! share the products, and without what makes a single device fast.

use super::{
    course::Course,
    cut::{Cut, Places, Tensor},
};
use crate::{
    Layout, Model, Result,
    count::Bytes,
    layers::{
        attention::{self, Shape},
        embedding, loss, rms_norm,
        rotary::Rotary,
        swiglu,
    },
    layout::Block,
    product::{adding, matrix, on, product},
    train::{
        Step,
        adamw::{self, Moments},
        clip,
    },
};
use multi_gpu::Communicator;
use std::ops::Range;

/// Rows of scores that exist at once.
const SCORES: usize = 512;

/// A rank's part of the model, and what its optimizer remembers of it.
pub struct Piece {
    /// Which part.
    pub cut: Cut,
    /// Where its tensors lie.
    pub places: Places,
    /// Its parameters.
    pub parameters: Vec<f32>,
    /// Their derivatives.
    pub gradient: Vec<f32>,
    moments: Moments,
    rotary: Rotary,
    tokens: usize,
}

/// What the forward pass leaves for the backward pass.
#[derive(Default)]
pub struct Kept(Vec<Layer>);

/// What a layer keeps.
struct Layer {
    x: Vec<f32>,
    qkv: Vec<f32>,
    attended: Vec<f32>,
    log: Vec<f32>,
    middle: Vec<f32>,
    gate_up: Vec<f32>,
}

impl Kept {
    /// How many bytes wait for the backward pass.
    pub fn bytes(&self) -> u64 {
        let layers = self.0.iter().flat_map(|layer| {
            let Layer { x, qkv, attended, log, middle, gate_up } = layer;
            [x, qkv, attended, log, middle, gate_up]
        });
        layers.map(|values| size_of_val(&values[..]) as u64).sum()
    }
}

fn add(to: &mut [f32], values: &[f32]) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += value);
}

impl Piece {
    /// The rank's part of a model, for sequences of `tokens`.
    pub fn of(model: &Model, cut: Cut, tokens: usize) -> Self {
        let places = cut.places();
        let mut parameters = vec![0.0; places.len];
        for (whole, own) in &places.pieces {
            parameters[own.clone()].copy_from_slice(&model.parameters[whole.clone()]);
        }
        Self {
            gradient: vec![0.0; places.len],
            moments: Moments::zeros(places.len),
            rotary: Rotary::new(tokens, cut.config.head()),
            tokens,
            parameters,
            places,
            cut,
        }
    }

    fn values(&self, range: &Range<usize>) -> &[f32] {
        &self.parameters[range.clone()]
    }

    fn shape(&self) -> Shape {
        Shape { tokens: self.tokens, heads: self.cut.heads.len(), size: self.cut.config.head() }
    }

    /// The tokens' rows of the table: what comes into the first layer.
    pub fn embed(&self, tokens: &[u32]) -> Vec<f32> {
        let width = self.cut.config.width;
        let mut x = vec![0.0; tokens.len() * width];
        if let Some(table) = &self.places.embedding {
            embedding::forward(&mut x, tokens, self.values(table), width);
        }
        x
    }

    /// Adds the derivatives of what came into the first layer to those of the table.
    pub fn embed_backward(&mut self, tokens: &[u32], d: &[f32]) {
        if let Some(table) = self.places.embedding.clone() {
            let width = self.cut.config.width;
            embedding::backward(&mut self.gradient[table], 0, d, tokens, width);
        }
    }

    /// What the rank's layers return. `comm` are the ranks with the other heads.
    ///
    /// # Errors
    /// The communicator's.
    pub fn forward(
        &self,
        mut x: Vec<f32>,
        comm: &mut dyn Communicator,
    ) -> Result<(Vec<f32>, Kept)> {
        let mut kept = Kept::default();
        for block in &self.places.blocks {
            let (y, layer) = self.layer_forward(block, x, comm)?;
            kept.0.push(layer);
            x = y;
        }
        Ok((x, kept))
    }

    /// A layer with this rank's heads and hidden units.
    fn layer_forward(
        &self,
        block: &Block,
        x: Vec<f32>,
        comm: &mut dyn Communicator,
    ) -> Result<(Vec<f32>, Layer)> {
        let (width, shape) = (self.cut.config.width, self.shape());
        let (own, hidden) = (shape.heads * shape.size, self.cut.hidden.len());
        let rows = x.len() / width;
        let mut log = vec![0.0; rows * shape.heads];
        let at = (&self.rotary, shape);
        // ANCHOR: layer_forward
        let normed = self.normed(&x, &block.norm1);
        let qkv = self.times(&normed, &block.qkv, 3 * own)?; // own columns
        let mut attended = vec![0.0; rows * own];
        attention::forward(&mut attended, &mut log, &qkv, at);
        let mut middle = self.times(&attended, &block.out, width)?; // own rows
        comm.all_reduce(&mut middle)?; // over all heads
        add(&mut middle, &x);

        let normed = self.normed(&middle, &block.norm2);
        let gate_up = self.times(&normed, &block.gate_up, 2 * hidden)?;
        let mut h = vec![0.0; rows * hidden];
        swiglu::forward(&mut h, &gate_up, hidden);
        let mut y = self.times(&h, &block.down, width)?;
        comm.all_reduce(&mut y)?; // over all hidden units
        add(&mut y, &middle);
        // ANCHOR_END: layer_forward
        Ok((y, Layer { x, qkv, attended, log, middle, gate_up }))
    }

    /// Rows, normalised.
    fn normed(&self, x: &[f32], norm: &Range<usize>) -> Vec<f32> {
        let mut normed = vec![0.0; x.len()];
        rms_norm::forward(&mut normed, x, self.values(norm));
        normed
    }

    /// Adds to `d` and to the gradient what the derivatives of normalised rows contribute.
    fn norm_backward(&mut self, d: &mut [f32], dy: &[f32], x: &[f32], norm: &Range<usize>) {
        let (scale, dscale) = (&self.parameters[norm.clone()], &mut self.gradient[norm.clone()]);
        rms_norm::backward(d, dscale, dy, x, scale);
    }

    /// x·W, with W of so many columns.
    fn times(&self, x: &[f32], weights: &Range<usize>, cols: usize) -> Result<Vec<f32>> {
        let inner = weights.len() / cols;
        let mut y = vec![0.0; x.len() / inner * cols];
        product(&mut y, matrix(x, inner)?, matrix(self.values(weights), cols)?, on(1))?;
        Ok(y)
    }

    /// dy·Wᵀ.
    fn back(&self, dy: &[f32], weights: &Range<usize>, cols: usize) -> Result<Vec<f32>> {
        let mut dx = vec![0.0; dy.len() / cols * (weights.len() / cols)];
        product(&mut dx, matrix(dy, cols)?, matrix(self.values(weights), cols)?.t(), on(1))?;
        Ok(dx)
    }

    /// Adds xᵀ·dy to the gradient of W.
    fn learn(&mut self, weights: &Range<usize>, x: &[f32], dy: &[f32], cols: usize) -> Result<()> {
        let (inner, to) = (weights.len() / cols, &mut self.gradient[weights.clone()]);
        product(to, matrix(x, inner)?.t(), matrix(dy, cols)?, adding(true, 1))
    }

    /// Adds the derivatives of the rank's layers to its gradient; `d` are those of what they returned, and become those of
    /// what came in.
    ///
    /// # Errors
    /// The communicator's.
    pub fn backward(
        &mut self,
        kept: Kept,
        d: &mut [f32],
        comm: &mut dyn Communicator,
    ) -> Result<()> {
        for (at, layer) in kept.0.into_iter().enumerate().rev() {
            self.layer_backward(at, layer, d, comm)?;
        }
        Ok(())
    }

    /// [`Piece::layer_forward`] from the last line to the first.
    fn layer_backward(
        &mut self,
        at: usize,
        layer: Layer,
        d: &mut [f32],
        comm: &mut dyn Communicator,
    ) -> Result<()> {
        let (width, shape) = (self.cut.config.width, self.shape());
        let (own, hidden) = (shape.heads * shape.size, self.cut.hidden.len());
        let block = self.places.blocks[at].clone();
        let Layer { x, mut qkv, attended, log, middle, mut gate_up } = layer;
        // ANCHOR: layer_backward
        let dh = self.back(d, &block.down, width)?;
        let mut h = vec![0.0; dh.len()];
        swiglu::backward(&mut gate_up, &mut h, &dh, hidden);
        self.learn(&block.down, &h, d, width)?;
        let normed = self.normed(&middle, &block.norm2);
        self.learn(&block.gate_up, &normed, &gate_up, 2 * hidden)?;
        let mut dnormed = self.back(&gate_up, &block.gate_up, 2 * hidden)?;
        comm.all_reduce(&mut dnormed)?; // over all hidden units
        self.norm_backward(d, &dnormed, &middle, &block.norm2);

        let dout = self.back(d, &block.out, width)?;
        self.learn(&block.out, &attended, d, width)?;
        let known = (&dout[..], &attended[..], &log[..]);
        attention::backward(&mut qkv, known, (&self.rotary, shape));
        let normed = self.normed(&x, &block.norm1);
        self.learn(&block.qkv, &normed, &qkv, 3 * own)?;
        let mut dnormed = self.back(&qkv, &block.qkv, 3 * own)?;
        comm.all_reduce(&mut dnormed)?; // over all heads
        self.norm_backward(d, &dnormed, &x, &block.norm1);
        // ANCHOR_END: layer_backward
        Ok(())
    }

    /// The sum of the losses of some rows that the last layer returned, and the derivatives of these rows, for a mean over
    /// `whole` tokens.
    ///
    /// # Errors
    /// None of its own: the lengths fit.
    pub fn head(&mut self, last: &[f32], targets: &[u32], whole: usize) -> Result<(f64, Vec<f32>)> {
        let (width, vocabulary) = (self.cut.config.width, self.cut.config.vocabulary);
        let mut d = vec![0.0; last.len()];
        let (Some(table), Some(norm)) = (&self.places.embedding, &self.places.norm) else {
            return Ok((0.0, d)); // no rank asks in the middle of a pipeline
        };
        let weights = matrix(&self.parameters[table.clone()], width)?;
        let scale = &self.parameters[norm.clone()];
        let mut sum = 0.0;
        for (part, targets) in targets.chunks(SCORES).enumerate() {
            let wide = part * SCORES * width..(part * SCORES + targets.len()) * width;
            let last = &last[wide.clone()];
            let (mut normed, mut dnormed) = (vec![0.0; last.len()], vec![0.0; last.len()]);
            rms_norm::forward(&mut normed, last, scale);
            let mut scores = vec![0.0; targets.len() * vocabulary];
            product(&mut scores, matrix(&normed, width)?, weights.t(), on(1))?;
            let (mut losses, share) = (vec![0.0; targets.len()], 1.0 / whole as f32);
            loss::backward(&mut scores, targets, &mut losses, vocabulary, share);
            sum += losses.iter().map(|loss| f64::from(*loss)).sum::<f64>();
            let scores = matrix(&scores, vocabulary)?;
            let to = &mut self.gradient[table.clone()];
            product(to, scores.t(), matrix(&normed, width)?, adding(true, 1))?;
            product(&mut dnormed, scores, weights, on(1))?;
            let dscale = &mut self.gradient[norm.clone()];
            rms_norm::backward(&mut d[wide], dscale, &dnormed, last, scale);
        }
        Ok((sum, d))
    }

    /// The update, by all ranks at once: `loss` is what this one adds to the batch's. Two numbers are added up over all
    /// ranks: the loss, and the squares of the gradient.
    ///
    /// # Errors
    /// As [`Course::close`], and the communicator's.
    pub fn update(
        &mut self,
        course: &mut Course,
        loss: f64,
        comm: &mut dyn Communicator,
    ) -> Result<Step> {
        let tensors = &self.places.tensors;
        let counted = tensors.iter().filter(|tensor| tensor.counts);
        let norms = counted.map(|t| clip::norm(&self.gradient[t.range.clone()]));
        let squares = norms.map(|norm| norm * norm).sum::<f64>();
        let mut sums = [loss as f32, squares as f32];
        comm.all_reduce(&mut sums)?;
        let [loss, squares] = sums.map(f64::from);
        let (step, clip) = course.close(loss, squares.sqrt())?;
        let ranges: Vec<_> = tensors.iter().map(|t| (t.range.clone(), t.shrinks)).collect();
        adamw::update(
            &course.settings.rule,
            (step.step, step.lr, clip),
            &mut self.parameters,
            self.moments.slices(),
            &self.gradient,
            &ranges,
        );
        Ok(step)
    }

    /// The whole model's parameters, on every rank: each number comes from the rank that counts it.
    ///
    /// # Errors
    /// The communicator's.
    pub fn gathered(&self, comm: &mut dyn Communicator) -> Result<Vec<f32>> {
        let mut all = vec![0.0; Layout::new(&self.cut.config).len];
        let tensors = &self.places.tensors;
        for (whole, own) in &self.places.pieces {
            let counts = |t: &Tensor| t.counts && t.range.contains(&own.start);
            if tensors.iter().any(counts) {
                all[whole.clone()].copy_from_slice(&self.parameters[own.clone()]);
            }
        }
        comm.all_reduce(&mut all)?;
        Ok(all)
    }

    /// Bytes that it holds, with so many for activations.
    pub fn bytes(&self, activations: u64) -> Bytes {
        let parameters = size_of_val(&self.parameters[..]) as u64;
        let moments = size_of_val(&self.moments.m[..]) + size_of_val(&self.moments.v[..]);
        let gradient = size_of_val(&self.gradient[..]) as u64;
        Bytes { parameters, gradient, moments: moments as u64, activations, group: 0 }
    }
}
