//! A model: its sizes, and its parameters in one buffer.

use crate::{Config, Error, Layout, Result};
use lab::{
    files::{check_sum, read_regular, with_metadata},
    random::{SplitMix64, key},
    run::write_whole,
};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use std::{collections::BTreeMap, path::Path};

/// The deviation of the first weights (Radford et al. 2019, GPT-2).
const DEVIATION: f64 = 0.02;

/// What is wrong with values of which one [`is_ruined`].
pub(crate) const RUINED: &str =
    "some of its weights are infinite or not numbers, or far too large; train the model again";

/// Whether a weight or a mean is what no model that learns has: its weights are not nearly as large, nor are its gradients,
/// whose norm is clipped.
pub(crate) fn is_ruined(value: f32) -> bool {
    value.is_nan() || value.abs() > 1e6
}

/// A transformer.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its sizes.
    pub config: Config,
    /// Where each tensor lies in the parameters.
    pub layout: Layout,
    /// All parameters.
    pub parameters: Vec<f32>,
    /// The digest of the tokenizer whose tokens it was trained on; empty if there was none.
    pub tokenizer: String,
}

impl Model {
    /// A model that has learned nothing: normal weights of a small deviation, and scales of 1. What adds to the residual
    /// path starts smaller the more layers add to it.
    ///
    /// # Errors
    /// As [`Config::check`].
    pub fn new(config: Config, seed: u64) -> Result<Self> {
        config.check()?;
        let layout = Layout::new(&config);
        let mut parameters = vec![1.0; layout.len];
        let residual = DEVIATION / (2.0 * config.layers as f64).sqrt();
        for (at, (name, range, shape)) in layout.tensors(&config).into_iter().enumerate() {
            if shape.len() == 1 {
                continue; // a normalisation's scales
            }
            let adds = name.ends_with("out") || name.ends_with("down");
            let deviation = if adds { residual } else { DEVIATION };
            let mut random = SplitMix64::new(key(&[seed, at as u64]));
            parameters[range].fill_with(|| (deviation * random.normal()) as f32);
        }
        Ok(Self { config, layout, parameters, tokenizer: String::new() })
    }

    /// Writes the model to a safetensors file: the tensors by name, and as metadata the sizes, the tokenizer's digest and a
    /// check sum of all three. The file is whole at every moment.
    ///
    /// # Errors
    /// [`lab::Error::Damaged`] if it can't be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes(&self.parameters)?;
        Ok(write_whole(path, &bytes)?)
    }

    /// A safetensors file's bytes with values of the parameters' layout: the parameters, or an optimizer's means.
    ///
    /// # Errors
    /// [`Error::Config`] if the library refuses a tensor.
    pub fn to_bytes(&self, values: &[f32]) -> Result<Vec<u8>> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let tensors = self.layout.tensors(&self.config).into_iter().map(|(name, range, shape)| {
            let bytes = &bytes[4 * range.start..4 * range.end];
            let view = TensorView::new(Dtype::F32, shape, bytes);
            view.map(|view| (name, view)).map_err(|error| Error::Config(error.to_string()))
        });
        let sizes = serde_json::to_string(&self.config);
        let sizes = sizes.map_err(|error| Error::Config(error.to_string()))?;
        let sum = check_sum(&[&sizes, &self.tokenizer], values);
        let about = [("config", sizes), ("tokenizer", self.tokenizer.clone()), ("sha256", sum)];
        let file = safetensors::serialize(tensors.collect::<Result<Vec<_>>>()?, &None)
            .map_err(|error| Error::Config(error.to_string()))?;
        Ok(with_metadata(&file, &BTreeMap::from(about)))
    }

    /// Reads a model that [`Model::save`] wrote.
    ///
    /// # Errors
    /// [`lab::Error::Damaged`] if it can't be read, is no such file, its tensors do not fit its sizes, or a bit of it has changed.
    pub fn load(path: &Path) -> Result<Self> {
        let damaged =
            |why: &str| Error::file(path, format!("{why}; train a model to write a new one"));
        let unread = |error| damaged(&format!("it can't be read ({error})"));
        let bytes = read_regular(path).map_err(unread)?;
        let foreign = || damaged("it is not a safetensors file, or incomplete");
        let (_, about) = SafeTensors::read_metadata(&bytes).map_err(|_| foreign())?;
        let about = about.metadata().clone().unwrap_or_default();
        let says = |key| about.get(key).map_or("", String::as_str);
        let config = serde_json::from_str::<Config>(says("config"))
            .map_err(|_| damaged("it names no sizes of a language model"))?;
        config.check().map_err(|error| damaged(&error.to_string()))?;
        let file = SafeTensors::deserialize(&bytes).map_err(|_| foreign())?;
        let layout = Layout::new(&config);
        // No more is reserved than the file has.
        let mut parameters = Vec::with_capacity(layout.len.min(bytes.len()));
        let tensors = layout.tensors(&config);
        if file.len() != tensors.len() {
            return Err(damaged("it has not as many tensors as its sizes say"));
        }
        for (name, _, shape) in tensors {
            let tensor = file.tensor(&name).map_err(|_| damaged(&format!("it has no {name}")))?;
            if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
                return Err(damaged(&format!("its {name} has not the form that its sizes say")));
            }
            let (values, _) = tensor.data().as_chunks::<4>();
            parameters.extend(values.iter().map(|value| f32::from_le_bytes(*value)));
        }
        let tokenizer = says("tokenizer").to_owned();
        // Files of other programs have none.
        let sum = about.get("sha256");
        if sum.is_some_and(|sum| *sum != check_sum(&[says("config"), &tokenizer], &parameters)) {
            return Err(damaged("it is damaged: its check sum is another one"));
        }
        if parameters.iter().any(|value| is_ruined(*value)) {
            return Err(Error::file(path, RUINED));
        }
        Ok(Self { config, layout, parameters, tokenizer })
    }
}
