//! A trained model for a page: a script with its sizes, its tokenizer's merges, and a byte for each weight.
//!
//! The weights are those of [`Decoder::in_8_bits`](crate::generate::Decoder::in_8_bits): each output of a matrix has a scale. Norms
//! stay in f32. `book/theme/gpt-prompt.js` computes with it.

use crate::{
    Error, Model, Result, Tokenizer,
    generate::load,
    quantise::{rounded, scale},
    runner::report,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use std::path::Path;

/// The most parameters that a page is given: its reader fetches four thirds as many bytes.
const MOST: usize = 3_000_000;

/// The script of a run's model, with how long it was trained and what it is worth.
///
/// # Errors
/// As [`load`]; [`Error::Config`] if the model is too large for a page.
pub fn of_run(run: &Path) -> Result<String> {
    let (model, tokenizer) = load(run)?;
    if model.layout.len > MOST {
        let why = format!("{} parameters are too many for a page; {MOST} fit", model.layout.len);
        return Err(Error::Config(why));
    }
    let trained = report::read(run).last().map(
        |last| serde_json::json!({ "seconds": last.seconds, "bits_per_byte": last.bits_per_byte }),
    );
    Ok(script(&model, &tokenizer, trained.as_ref()))
}

/// `globalThis.gptModel = {config, parameters, merges, trained, weights};`: the merges one pair after the other, the weights
/// in base64, tensor after tensor in the order of [`Layout`](crate::Layout). A matrix has its outputs' scales first, then
/// output after output.
pub fn script(model: &Model, tokenizer: &Tokenizer, trained: Option<&serde_json::Value>) -> String {
    let mut bytes = Vec::new();
    for (name, range, shape) in model.layout.tensors(&model.config) {
        let tensor = &model.parameters[range];
        let [rows, columns] = shape[..] else {
            bytes.extend(tensor.iter().flat_map(|value| value.to_le_bytes()));
            continue;
        };
        // A row of the embedding is the output of a token; other matrices have their outputs as columns.
        let (outputs, inputs, steps) = if name == "embedding" {
            (rows, columns, (columns, 1))
        } else {
            (columns, rows, (1, columns))
        };
        let output = |out: usize| (0..inputs).map(move |i| tensor[out * steps.0 + i * steps.1]);
        let scales: Vec<f32> = (0..outputs).map(|out| scale(output(out))).collect();
        bytes.extend(scales.iter().flat_map(|scale| scale.to_le_bytes()));
        for (out, scale) in scales.iter().enumerate() {
            bytes.extend(output(out).map(|weight| rounded(weight, *scale).cast_unsigned()));
        }
    }
    let merges: Vec<u32> = tokenizer.merges().iter().flat_map(|(a, b)| [*a, *b]).collect();
    let model = serde_json::json!({
        "config": model.config,
        "parameters": model.layout.len,
        "merges": merges,
        "trained": trained,
        "weights": BASE64_STANDARD.encode(&bytes),
    });
    format!("globalThis.gptModel = {model};\n")
}
