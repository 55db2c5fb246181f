//! A transformer with grouped-query attention, counted. Ainslie and others 2023, "GQA".

/// What a model is made of. Every size is at least 1.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Different tokens.
    pub vocabulary: u64,
    /// Tokens of a whole context.
    pub context: u64,
    /// Numbers of a token between the layers.
    pub width: u64,
    /// Heads of queries, a divisor of the width.
    pub heads: u64,
    /// Heads of keys, and as many of values; a divisor of the heads.
    pub key_heads: u64,
    /// Layers.
    pub layers: u64,
    /// Hidden units of a feed-forward part, which has three matrices.
    pub hidden: u64,
    /// Whether one table of tokens serves the input and the scores.
    pub tied: bool,
}

/// All parameters: tables, matrices, and the scales of two normalisations a layer and one at the end.
pub fn parameters(config: &Config) -> u64 {
    let Config { vocabulary, width, layers, hidden, .. } = *config;
    // EXERCISE: begin
    let tables = if config.tied { 1 } else { 2 } * vocabulary * width;
    let keys = width / config.heads * config.key_heads;
    let attention = 2 * width * width + 2 * width * keys;
    let layer = attention + 3 * width * hidden;
    tables + layers * layer + (2 * layers + 1) * width
    // EXERCISE: instead
    // // One table, and as many keys as queries.
    // let _ = (config.heads, config.key_heads);
    // let layer = 4 * width * width + 3 * width * hidden;
    // vocabulary * width + layers * layer + (2 * layers + 1) * width
    // EXERCISE: end
}

/// Bytes of the keys and values of so many tokens, in numbers of `bytes` bytes.
pub fn cache(config: &Config, tokens: u64, bytes: u64) -> u64 {
    // EXERCISE: begin
    let keys = config.width / config.heads * config.key_heads;
    2 * config.layers * keys * tokens * bytes
    // EXERCISE: instead
    // 2 * config.layers * config.width * tokens * bytes
    // EXERCISE: end
}

/// Sequences of a whole context whose keys and values fit into `memory` bytes beside the weights; 0 if not even these fit.
pub fn sequences(config: &Config, memory: u64, bytes: u64) -> u64 {
    // EXERCISE: begin
    let left = memory.saturating_sub(parameters(config) * bytes);
    left / cache(config, config.context, bytes)
    // EXERCISE: instead
    // // The weights are forgotten.
    // memory / cache(config, config.context, bytes)
    // EXERCISE: end
}
