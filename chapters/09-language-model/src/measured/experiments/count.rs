//! A transformer, counted: nothing here is measured.

use crate::{
    Config,
    count::{Bytes, Operations, Parameters, cache, scores, six_n_d},
};
use lab::{Experiment, Key, Recorder, Result};

lab::keys! {
    /// Parameters, by part.
    pub PARAMETERS: counted "language_model.count", Count, ["size", "part"];
    /// Operations of a training step's products, for a token.
    pub OPERATIONS: counted "language_model.count.operations", Count, ["size", "context"];
    /// These over 6·N.
    pub RULE: counted "language_model.count.rule", Ratio, ["size", "context"];
    /// Attention's part of the operations.
    pub SHARE: counted "language_model.count.share", Share, ["size", "context"];
    /// Bytes of a training step, by part.
    pub BYTES: counted "language_model.count.bytes", Bytes, ["size", "part"];
    /// Bytes of keys and values of a whole context.
    pub CACHE: counted "language_model.count.cache", Bytes, ["size", "context"];
    /// Bytes of all scores of a batch, were they kept.
    pub SCORES: calculated "language_model.count.scores", Bytes, ["size", "context"];
}

/// The sizes by name.
pub const SIZES: [(&str, Size); 2] = [("tiny", Config::tiny), ("small", Config::small)];

/// Makes a size's configuration.
pub type Size = fn() -> Config;
/// Sequences of a batch.
pub const BATCH: usize = 16;
/// Lengths of the context.
pub const CONTEXTS: [usize; 8] = [64, 128, 256, 512, 1024, 2048, 4096, 8192];

/// The experiments of this file.
pub fn experiments() -> Vec<Experiment> {
    lab::experiments! {
        quick PARAMETERS.name => &[PARAMETERS, OPERATIONS, RULE, SHARE, BYTES, CACHE, SCORES], run,
            "parameters, operations and bytes of the chapter's transformers, by part and by context";
    }
}

#[allow(clippy::unnecessary_wraps, reason = "an experiment may fail")]
fn run(r: &mut Recorder) -> Result<()> {
    for (size, config) in SIZES {
        let config = config();
        let parameters = Parameters::of(&config);
        let bytes = Bytes::of(&config, BATCH, config.context);
        for (key, part, count) in [
            (PARAMETERS, "embedding", parameters.embedding),
            (PARAMETERS, "attention", parameters.attention),
            (PARAMETERS, "feed-forward", parameters.feed_forward),
            (PARAMETERS, "norms", parameters.norms),
            (PARAMETERS, "all", parameters.all()),
            (BYTES, "parameters", bytes.parameters),
            (BYTES, "gradient", bytes.gradient),
            (BYTES, "moments", bytes.moments),
            (BYTES, "activations", bytes.activations),
            (BYTES, "group", bytes.group),
            (BYTES, "all", bytes.all()),
        ] {
            r.one(key.at(&[("size", &size), ("part", &part)]), count as f64);
        }
        for context in CONTEXTS {
            let at = |key: Key| key.at(&[("size", &size), ("context", &context)]);
            let operations = Operations::of(&config, context);
            let all = operations.training();
            r.one(at(OPERATIONS), all);
            r.one(at(RULE), all / six_n_d(parameters.all(), 1.0));
            r.one(at(SHARE), operations.attention_share());
            r.one(at(CACHE), cache(&config, context) as f64);
            r.one(at(SCORES), scores(&config, BATCH, context) as f64);
        }
    }
    Ok(())
}
