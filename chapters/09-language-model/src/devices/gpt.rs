//! How a GPT is cut over ranks.
//!
//! A head's queries, keys and values are columns of one matrix, and what becomes of them are rows of the next; so are the
//! hidden units. Cut by columns, then by rows, two products need one sum over the ranks (Shoeybi et al. 2019,
//! "Megatron-LM", section 3). The table of tokens and the normalisations are whole on every rank of these.

use crate::{
    Config, Model,
    train::{Settings, adamw::tensors},
    transformer::part,
};
use engine::{model::Model as Operations, params::Params, rule};
use multi_gpu::{
    Error, Result,
    split::{
        job::Shared,
        stage::{Of, each_stage},
    },
};

/// A model that ranks share.
pub struct Gpt<'m> {
    /// With its first values.
    pub model: &'m Model,
    /// What the run is told.
    pub settings: Settings,
}

impl Shared for Gpt<'_> {
    fn cut(&self, stages: usize, of: Of) -> Result<(Operations, Vec<usize>)> {
        let config @ Config { heads, hidden, layers, .. } = self.model.config;
        let most = heads.min(hidden);
        if of.count > most {
            return Err(Error::Config(format!(
                "{heads} heads and {hidden} hidden units can't be cut over {} ranks; take {most} at most",
                of.count
            )));
        }
        // Two operations a layer, one before all of them and two behind.
        let mut counts: Vec<_> =
            each_stage(layers, stages)?.into_iter().map(|own| 2 * own).collect();
        counts[0] += 1;
        counts[stages - 1] += 2;
        let Settings { length, recompute, .. } = self.settings;
        let mut operations = part(&config, length, stages, of);
        if let Some(segments) = recompute {
            if stages > 1 {
                let why = "segments are of a whole model; leave them out, or its stages";
                return Err(Error::Config(why.to_owned()));
            }
            operations = operations.recomputed(segments);
            counts = vec![operations.ops.len()];
        }
        if (stages, of.count) == (1, 1) {
            let Params { tensors, values, .. } = &mut operations.params;
            let mut file = &self.model.parameters[..];
            for named in tensors {
                named.from_file(&mut file, values);
            }
        }
        Ok((operations, counts))
    }

    fn rule(&self, params: &Params) -> rule::Rule {
        self.settings.rule.rule(tensors(params, &self.model.config))
    }

    fn rows(&self) -> usize {
        self.settings.length
    }

    // ANCHOR: pieces
    fn pieces(&self, tensor: &str, side: usize) -> [usize; 2] {
        let Config { heads, hidden, .. } = self.model.config;
        match tensor.rsplit('.').next() {
            Some("qkv") => [3, heads], // three matrices, all heads in each
            Some("out") => [1, heads],
            Some("gate_up") => [2, hidden],
            _ => [1, side], // hidden units, by rows
        }
    }
    // ANCHOR_END: pieces
}
