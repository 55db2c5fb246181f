//! A trained model for a page: a small script with the layers, and four, two or one byte for each weight.
//!
//! With a byte, a row of weights (a unit's, or a filter's) is stored as whole numbers from -127 to 127 and one scale, the
//! largest of its weights divided by 127: half a step of rounding at most. Two bytes are a bf16. The biases, a few
//! hundred, stay 32-bit floats. `book/theme/digit-canvas.js` computes with it.

use crate::{
    Error, Result,
    config::Model,
    models::model::PIXELS,
    runner::{
        form::SIDE,
        serve::{Classifier, Tested},
    },
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use half::bf16;
use lab::data::Split;
use serde::Serialize;
use std::collections::BTreeMap;

/// How a script stores a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A whole number of steps of its row.
    Int8,
    /// The upper half of an f32, rounded.
    Bf16,
    /// As it was trained.
    F32,
}

impl Format {
    /// From the smallest to the largest.
    pub const ALL: [Self; 3] = [Self::Int8, Self::Bf16, Self::F32];

    /// The bits of a weight.
    pub fn bits(self) -> u8 {
        match self {
            Self::Int8 => 8,
            Self::Bf16 => 16,
            Self::F32 => 32,
        }
    }

    /// Appends a weight of a row with this scale to `out`, and returns what was stored.
    fn store(self, weight: f32, scale: f32, out: &mut Vec<u8>) -> f32 {
        match self {
            Self::Int8 => {
                let steps = (weight / scale).round();
                out.push((steps as i8).cast_unsigned());
                steps * scale
            }
            Self::Bf16 => {
                let upper = bf16::from_f32(weight);
                out.extend(upper.to_le_bytes());
                upper.to_f32()
            }
            Self::F32 => {
                out.extend(weight.to_le_bytes());
                weight
            }
        }
    }
}

/// Tests a model with its weights in each format; nothing of a model that the page can't compute, or without images that
/// it can classify.
///
/// # Errors
/// [`Error::Device`].
pub fn tested(classifier: &Classifier, test: &Split) -> Result<Option<Tested>> {
    if !known(classifier.kind()) || test.is_empty() || (test.rows, test.cols) != (SIDE, SIDE) {
        return Ok(None);
    }
    let pixels = test.scaled();
    let mut right = BTreeMap::new();
    for format in Format::ALL {
        let rounded = export(classifier, format)?.rounded;
        let mut count = 0;
        for (images, labels) in pixels.chunks(AT_ONCE * PIXELS).zip(test.labels.chunks(AT_ONCE)) {
            let digits = rounded.digits(images)?;
            count += digits.iter().zip(labels).filter(|(d, l)| **d == usize::from(**l)).count();
        }
        right.insert(format.bits(), count);
    }
    Ok(Some(Tested { images: test.len(), right }))
}

/// Images of one prediction: the activations of more take memory.
const AT_ONCE: usize = 500;

/// A model as a script, and the same model with its weights rounded.
pub struct Export {
    /// `globalThis.digitModel = {model, bits, bytes, tested, form, layers, weights};`, the weights in base64: for each layer
    /// with weights a scale for each row if a weight has 8 bits, the biases, then the rows.
    pub script: String,
    /// What the script computes, on dfdx.
    pub rounded: Classifier,
}

/// A layer as the page's script knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Layer {
    /// Square filters with a border of `pad` zeros, channels last, then `ReLU`. A filter is a column.
    Conv { size: usize, pad: usize, channels: usize, filters: usize },
    /// The largest of each 2×2 pixels.
    Pool,
    /// A weighted sum for each unit, then `ReLU` if it is not the last layer. A unit is a row.
    Dense { inputs: usize, units: usize, relu: bool },
}

impl Layer {
    /// Rows, and the weights of each.
    fn shape(self) -> (usize, usize) {
        match self {
            Self::Conv { size, channels, filters, .. } => (filters, size * size * channels),
            Self::Pool => (0, 0),
            Self::Dense { inputs, units, .. } => (units, inputs),
        }
    }

    /// Where a weight of a row is in dfdx's tensor.
    fn place(self, row: usize, input: usize) -> usize {
        match self {
            Self::Conv { filters, .. } => input * filters + row,
            Self::Pool => 0,
            Self::Dense { inputs, .. } => row * inputs + input,
        }
    }
}

/// The layers of a model; none of a model that the page's script does not know.
fn layers(kind: Model) -> Vec<Layer> {
    let dense = |inputs, units, relu| Layer::Dense { inputs, units, relu };
    let conv = |size, pad, channels, filters| Layer::Conv { size, pad, channels, filters };
    match kind.name() {
        "linear" => vec![dense(784, 10, false)],
        "mlp" => vec![dense(784, 128, true), dense(128, 10, false)],
        "cnn" => vec![
            conv(5, 2, 1, 16),
            Layer::Pool,
            conv(5, 0, 16, 32),
            Layer::Pool,
            dense(800, 128, true),
            dense(128, 10, false),
        ],
        _ => Vec::new(),
    }
}

/// Whether the page's script can compute this model.
pub fn known(kind: Model) -> bool {
    !layers(kind).is_empty()
}

/// The model for a page, with its weights in a format.
///
/// # Errors
/// [`Error::Config`] if it is not [`known`], [`Error::Device`].
pub fn export(classifier: &Classifier, format: Format) -> Result<Export> {
    let kind = classifier.kind();
    let (layers, weights) = (layers(kind), classifier.weights()?);
    let count: usize = layers.iter().map(|layer| layer.shape()).map(|(r, i)| r * (i + 1)).sum();
    if count != weights.len() || count == 0 {
        return Err(Error::Config(format!(
            "the page can't compute a {kind}; it knows linear, mlp and cnn"
        )));
    }
    let (mut bytes, mut rounded) = (Vec::new(), weights.clone());
    let mut start = 0;
    for layer in &layers {
        let (rows, inputs) = layer.shape();
        let end = start + rows * inputs;
        let tensor = &mut rounded[start..end];
        let mut stored = Vec::new();
        for row in 0..rows {
            let places = || (0..inputs).map(|input| layer.place(row, input));
            let largest = places().map(|at| tensor[at].abs()).fold(0.0, f32::max);
            let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
            if format == Format::Int8 {
                bytes.extend(scale.to_le_bytes());
            }
            for at in places() {
                tensor[at] = format.store(tensor[at], scale, &mut stored);
            }
        }
        bytes.extend(weights[end..end + rows].iter().flat_map(|bias| bias.to_le_bytes()));
        bytes.extend(stored);
        start = end + rows;
    }
    let model = serde_json::json!({
        "model": kind.name(),
        "bits": format.bits(),
        "bytes": bytes.len(),
        "tested": classifier.tested(),
        "form": classifier.form(),
        "layers": layers,
        "weights": BASE64_STANDARD.encode(&bytes),
    });
    Ok(Export {
        script: format!("globalThis.digitModel = {model};\n"),
        rounded: Classifier::from_weights(kind, &rounded)?,
    })
}
