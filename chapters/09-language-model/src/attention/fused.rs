//! Rung 2: scale, mask and softmax in one pass over a row while it is in the cache, in vectors, and only over what the row
//! sees. One n² buffer is kept; the backward pass needs a second.

use crate::{
    Result,
    attention::causal::{Attention, Head, scale},
    product::{matrix, on, product},
};
use engine::sums::{dot, largest, replace_and_sum};
use lab::vectors::{exp, wide};

/// The n² buffers.
#[derive(Debug, Default)]
pub struct Fused {
    /// [tokens, tokens]: scores, then weights.
    weights: Vec<f32>,
    /// [tokens, tokens]: derivatives.
    d: Vec<f32>,
}

impl Attention for Fused {
    // ANCHOR: fused
    fn forward(&mut self, out: &mut [f32], head: Head) -> Result<()> {
        let (tokens, size, scale) = (head.tokens(), head.size, scale(head.size));
        let weights = &mut self.weights;
        weights.resize(tokens * tokens, 0.0);
        product(weights, matrix(head.q, size)?, matrix(head.k, size)?.t(), on(1))?;
        wide!(|| {
            for (i, row) in weights.chunks_exact_mut(tokens).enumerate() {
                let (seen, hidden) = row.split_at_mut(i + 1);
                let most = largest(seen) * scale;
                let sum = replace_and_sum(seen, |score| exp(score * scale - most));
                for weight in seen.iter_mut() {
                    *weight /= sum;
                }
                hidden.fill(0.0);
            }
        });
        product(out, matrix(weights, tokens)?, matrix(head.v, size)?, on(1))
    }
    // ANCHOR_END: fused

    fn backward(
        &mut self,
        [dq, dk, dv]: [&mut [f32]; 3],
        (dout, out): (&[f32], &[f32]),
        head: Head,
    ) -> Result<()> {
        let (tokens, size, scale) = (head.tokens(), head.size, scale(head.size));
        let Self { weights, d } = self;
        d.resize(tokens * tokens, 0.0);
        product(dv, matrix(weights, tokens)?.t(), matrix(dout, size)?, on(1))?;
        product(d, matrix(dout, size)?, matrix(head.v, size)?.t(), on(1))?;
        wide!(|| {
            let results = dout.chunks_exact(size).zip(out.chunks_exact(size));
            let rows = weights.chunks_exact(tokens).zip(results);
            for (i, (d, (p, (dout, out)))) in d.chunks_exact_mut(tokens).zip(rows).enumerate() {
                let along = dot(dout, out); // as Σ p·dp, over fewer numbers
                let (seen, hidden) = d.split_at_mut(i + 1);
                for (d, p) in seen.iter_mut().zip(p) {
                    *d = p * (*d - along) * scale;
                }
                hidden.fill(0.0);
            }
        });
        let ds = matrix(d, tokens)?;
        product(dq, ds, matrix(head.k, size)?, on(1))?;
        product(dk, ds.t(), matrix(head.q, size)?, on(1))
    }

    fn bytes(&self) -> usize {
        4 * (self.weights.len() + self.d.len())
    }
}
