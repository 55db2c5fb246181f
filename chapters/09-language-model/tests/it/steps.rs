//! The models whose kernels a test compiles, in batches of whole sequences.

use engine::model::Model;
use language_model::{Config, transformer::operations};

pub const BATCH: usize = 256;

pub fn models() -> Vec<Model> {
    [Config::tiny(), Config::small()].map(|config| operations(&config, config.context)).into()
}
