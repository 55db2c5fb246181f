//! Rung 1: attention as its formula reads. All n² scores are written; scale, mask and softmax each pass over them; scores
//! and weights are kept for the backward pass.

use crate::{
    Result,
    attention::causal::{Attention, Head, scale},
    product::{matrix, on, product},
};

/// The n² buffers.
#[derive(Debug, Default)]
pub struct Naive {
    /// [tokens, tokens]: products of queries and keys; in the backward pass their derivatives.
    scores: Vec<f32>,
    /// [tokens, tokens]: what softmax makes of them.
    weights: Vec<f32>,
    /// [tokens, tokens]: the weights' derivatives.
    dweights: Vec<f32>,
}

impl Attention for Naive {
    fn forward(&mut self, out: &mut [f32], head: Head) -> Result<()> {
        let (tokens, size) = (head.tokens(), head.size);
        let Self { scores, weights, .. } = self;
        scores.resize(tokens * tokens, 0.0);
        weights.resize(tokens * tokens, 0.0);
        // ANCHOR: naive
        product(scores, matrix(head.q, size)?, matrix(head.k, size)?.t(), on(1))?;
        for score in scores.iter_mut() {
            *score *= scale(size);
        }
        for (i, row) in scores.chunks_exact_mut(tokens).enumerate() {
            row[i + 1..].fill(f32::NEG_INFINITY); // what comes later is not seen
        }
        // ANCHOR_END: naive
        for (weights, scores) in weights.chunks_exact_mut(tokens).zip(scores.chunks_exact(tokens)) {
            let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for (weight, score) in weights.iter_mut().zip(scores) {
                *weight = (score - most).exp();
            }
            let sum: f32 = weights.iter().sum();
            for weight in weights.iter_mut() {
                *weight /= sum;
            }
        }
        product(out, matrix(weights, tokens)?, matrix(head.v, size)?, on(1))
    }

    fn backward(
        &mut self,
        [dq, dk, dv]: [&mut [f32]; 3],
        (dout, _): (&[f32], &[f32]),
        head: Head,
    ) -> Result<()> {
        let (tokens, size) = (head.tokens(), head.size);
        let Self { scores, weights, dweights } = self;
        dweights.resize(tokens * tokens, 0.0);
        let dout = matrix(dout, size)?;
        product(dv, matrix(weights, tokens)?.t(), dout, on(1))?;
        product(dweights, dout, matrix(head.v, size)?.t(), on(1))?;
        let rows = weights.chunks_exact(tokens).zip(dweights.chunks_exact(tokens));
        for (ds, (p, dp)) in scores.chunks_exact_mut(tokens).zip(rows) {
            let along: f32 = p.iter().zip(dp).map(|(p, dp)| p * dp).sum();
            for ((ds, p), dp) in ds.iter_mut().zip(p).zip(dp) {
                *ds = p * (dp - along);
            }
        }
        for ds in scores.iter_mut() {
            *ds *= scale(size);
        }
        let ds = matrix(scores, tokens)?;
        product(dq, ds, matrix(head.k, size)?, on(1))?;
        product(dk, ds.t(), matrix(head.q, size)?, on(1))
    }

    fn bytes(&self) -> usize {
        4 * (self.scores.len() + self.weights.len() + self.dweights.len())
    }
}
