//! A transformer counted before it is built: parameters, operations, bytes, and how large a model a budget of operations
//! should train.
//!
//! What the products of a training step cost is close to 6·N·D operations for N parameters and D tokens: each parameter is
//! multiplied and added once forward and twice backward (Kaplan et al. 2020, "Scaling Laws for Neural Language Models",
//! section 2.1). Attention comes on top, and its part grows with the context.

use crate::{Config, transformer::sequences};
use serde::Serialize;

/// What a model consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// The table of tokens, which is also the output.
    pub embedding: u64,
    /// Queries, keys, values and the way back, of all layers.
    pub attention: u64,
    /// The feed-forward parts of all layers.
    pub feed_forward: u64,
    /// The scales of all normalisations.
    pub norms: u64,
}

impl Parameters {
    /// Those of a model.
    pub fn of(config: &Config) -> Self {
        let [vocabulary, width, _, layers, hidden] = config.sizes();
        Self {
            // ANCHOR: parameters
            embedding: vocabulary * width,
            attention: layers * (width * 3 * width + width * width),
            feed_forward: layers * (width * 2 * hidden + hidden * width),
            norms: (2 * layers + 1) * width,
            // ANCHOR_END: parameters
        }
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.embedding + self.attention + self.feed_forward + self.norms
    }
}

impl Config {
    /// Vocabulary, width, heads, layers and hidden units, as numbers whose products are counts.
    fn sizes(&self) -> [u64; 5] {
        [self.vocabulary, self.width, self.heads, self.layers, self.hidden].map(|size| size as u64)
    }
}

/// Operations (a multiplication and an addition are two) of the products, for one token of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Operations {
    /// Of the products with weights, forward.
    pub weights: f64,
    /// Of the products of attention, forward: a mean over the tokens of a sequence, of which each sees those before it.
    pub attention: f64,
}

impl Operations {
    /// Those of a model on sequences of `tokens`.
    pub fn of(config: &Config, tokens: usize) -> Self {
        // ANCHOR: operations
        let parameters = Parameters::of(config);
        let weights = 2 * (parameters.all() - parameters.norms);
        let seen = (tokens + 1) as f64 / 2.0; // the mean of 1, 2, … tokens
        let pair = (4 * config.width) as f64; // query·key, and weight·value
        Self { weights: weights as f64, attention: config.layers as f64 * seen * pair }
        // ANCHOR_END: operations
    }

    /// Forward.
    pub fn forward(&self) -> f64 {
        self.weights + self.attention
    }

    /// Forward and backward: as much again for the inputs' derivatives, and as much for the weights'.
    pub fn training(&self) -> f64 {
        3.0 * self.forward()
    }

    /// Attention's part of all.
    pub fn attention_share(&self) -> f64 {
        self.attention / self.forward()
    }
}

/// 6·N·D: the rule of thumb for the operations of a training on `tokens` tokens.
pub fn six_n_d(parameters: u64, tokens: f64) -> f64 {
    6.0 * parameters as f64 * tokens
}

/// Rows that have a sum of a scale's derivatives of their own.
const PART: u64 = 32;

/// Bytes of a training in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// The parameters.
    pub parameters: u64,
    /// Their derivatives.
    pub gradient: u64,
    /// `AdamW`'s two means.
    pub moments: u64,
    /// What the layers keep for the backward pass, and what lies between them.
    pub activations: u64,
    /// What a group of sequences needs inside a layer.
    pub group: u64,
}

impl Bytes {
    /// Those of a step on `batch` sequences of `tokens` at once that keeps nothing which follows from what is kept.
    pub fn of(config: &Config, batch: usize, tokens: usize) -> Self {
        let [vocabulary, width, heads, layers, hidden] = config.sizes();
        let rows = (batch * tokens) as u64;
        // Input, queries, keys, values, what attention returns, the sum of both; gate and up.
        let layer = width + 3 * width + width + width + heads + 2 * hidden;
        // What the last layer returns, the derivatives on their way, and a loss.
        let between = 2 * width + 1;
        let of_group = (sequences(tokens).min(batch) * tokens) as u64;
        let parts = of_group.div_ceil(PART) * width;
        let parameters = 4 * Parameters::of(config).all();
        Self {
            parameters,
            gradient: parameters,
            moments: 2 * parameters,
            activations: 4 * rows * (layers * layer + between),
            group: 4 * (of_group * (2 * width + 2 * hidden + vocabulary) + parts),
        }
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.parameters + self.gradient + self.moments + self.activations + self.group
    }
}

/// Bytes of keys and values, in f32, that a sequence of `tokens` leaves for those that follow.
pub fn cache(config: &Config, tokens: usize) -> u64 {
    (2 * config.layers * config.width * tokens * 4) as u64
}

/// Bytes of the scores of all heads of all layers, were they kept: what tiles avoid.
pub fn scores(config: &Config, batch: usize, tokens: usize) -> u64 {
    (batch * config.layers * config.heads * tokens * tokens * 4) as u64
}

/// Tokens for each parameter that make the best of a budget (Hoffmann et al. 2022, "Training Compute-Optimal Large Language
/// Models", table 3; arXiv 2203.15556).
pub const TOKENS_PER_PARAMETER: f64 = 20.0;

/// The parameters and the tokens that make the best of a budget of operations: 6·N·20·N of them.
///
/// The ratio was fitted on models from 70 million parameters on, with more text than any of them read. A model of a few
/// million parameters on a few dozen megabytes, read several times, lies outside: take it for a first guess.
// ANCHOR: optimal
pub fn optimal(operations: f64) -> (f64, f64) {
    let parameters = (operations / (6.0 * TOKENS_PER_PARAMETER)).sqrt();
    (parameters, TOKENS_PER_PARAMETER * parameters)
}
// ANCHOR_END: optimal

/// The model of a family whose number of parameters is nearest to `parameters`: heads of 32 values, a layer for each 40
/// of its width, and 8/3 of it as hidden units.
pub fn near(parameters: f64, vocabulary: usize, context: usize) -> Config {
    let member = |width: usize| Config {
        vocabulary,
        context,
        width,
        heads: width / 32,
        layers: ((width as f64 / 40.0).round() as usize).max(2),
        hidden: (width * 8 / 3).next_multiple_of(32),
    };
    let off = |config: &Config| (Parameters::of(config).all() as f64 / parameters).ln().abs();
    (1..=256)
        .map(|heads| member(32 * heads))
        .min_by(|a, b| off(a).total_cmp(&off(b)))
        .unwrap_or_else(Config::tiny)
}
