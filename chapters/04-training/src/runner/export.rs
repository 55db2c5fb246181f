//! A trained model for a page: a small script with the layers, and a byte for each weight.
//!
//! A row of weights (a unit's, or a filter's) is stored as whole numbers from -127 to 127 and one scale, the
//! largest of its weights divided by 127: a quarter of the bytes, and half a step of rounding at most. The
//! biases, a few hundred, stay 32-bit floats. `book/theme/digit-canvas.js` computes with it.

use crate::{Error, Result, config::Model, runner::serve::Classifier};
use serde::Serialize;

/// A model as a script, and the same model with its weights rounded.
pub struct Export {
    /// `globalThis.digitModel = {model, layers, weights};`, the weights in base64: for each layer with
    /// weights a scale for each row, the biases, then the rows.
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

/// The model for a page.
///
/// # Errors
/// [`Error::Config`] if it is not [`known`], [`Error::Device`].
pub fn export(classifier: &Classifier) -> Result<Export> {
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
        let mut whole = Vec::with_capacity(tensor.len());
        for row in 0..rows {
            let places = || (0..inputs).map(|input| layer.place(row, input));
            let largest = places().map(|at| tensor[at].abs()).fold(0.0, f32::max);
            let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
            bytes.extend(scale.to_le_bytes());
            for at in places() {
                let steps = (tensor[at] / scale).round();
                whole.push((steps as i8).cast_unsigned());
                tensor[at] = steps * scale;
            }
        }
        bytes.extend(weights[end..end + rows].iter().flat_map(|bias| bias.to_le_bytes()));
        bytes.extend(whole);
        start = end + rows;
    }
    let model = serde_json::json!({
        "model": kind.name(),
        "layers": layers,
        "weights": base64(&bytes),
    });
    Ok(Export {
        script: format!("globalThis.digitModel = {model};\n"),
        rounded: Classifier::from_weights(kind, &rounded)?,
    })
}

/// Bytes as letters, six bits each: RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..4 {
            text.push(if letter <= three.len() {
                char::from(LETTERS[(bits >> (18 - 6 * letter)) as usize % 64])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Settings, Silent, train_on};

    #[test]
    fn letters_are_those_of_the_standard() {
        let known = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, text) in known.iter().enumerate() {
            assert_eq!(base64(&b"foobar"[..length]), *text);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn weights_move_by_half_a_step_at_most_and_the_script_is_small() {
        for (kind, most) in [(Model::Linear, 12_000), (Model::Mlp, 138_000), (Model::Cnn, 160_000)]
        {
            let one = Classifier::random(kind, 3).unwrap();
            let export = export(&one).unwrap();
            assert!(export.script.len() < most, "{kind}: {}", export.script.len());
            let (before, after) = (one.weights().unwrap(), export.rounded.weights().unwrap());
            let largest = before.iter().fold(0.0_f32, |most, w| most.max(w.abs()));
            for (a, b) in before.iter().zip(&after) {
                assert!((a - b).abs() <= 0.51 * largest / 127.0, "{kind}: {a} {b}");
            }
            assert_ne!(before, after);
        }
    }

    #[test]
    fn other_models_are_refused_with_a_sentence() {
        for kind in Model::ALL.into_iter().filter(|kind| !known(*kind)) {
            let error = export(&Classifier::random(kind, 1).unwrap()).err().unwrap().to_string();
            assert!(error.contains("linear, mlp and cnn"), "{error}");
        }
    }

    #[test]
    fn rounding_costs_next_to_no_accuracy() {
        let data = lab::data::drawn(2000, 2000, 2);
        let pixels = data.test.scaled();
        for kind in [Model::Linear, Model::Mlp, Model::Cnn] {
            let epochs = if kind == Model::Cnn { 1 } else { 5 };
            let settings = Settings { model: kind, epochs, batch: 50, ..Settings::default() };
            let config = Config { settings, ..Config::default() };
            let outcome = train_on(&config, &data, &mut Silent).unwrap();
            let trained = Classifier::from_weights(kind, &outcome.weights).unwrap();
            let rounded = export(&trained).unwrap().rounded;
            let right = |model: &Classifier| {
                let digits = model.digits(&pixels).unwrap();
                digits.iter().zip(&data.test.labels).filter(|(d, l)| **d == **l as usize).count()
            };
            let (before, after) = (right(&trained), right(&rounded));
            assert!(before > 1300, "{kind} learned nothing: {before}");
            assert!(before <= after + 6, "{kind}: {before} of 2000 right, then {after}");
        }
    }
}
