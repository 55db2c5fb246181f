//! A small model of large random weights that can be prompted: it talks nonsense, but never the same nonsense to two prompts.

use lab::random::SplitMix64;
use language_model::{
    Config, Model, Tokenizer,
    generate::{Decoder, Sampling, generate},
};
use std::ops::ControlFlow;

/// The model and its tokenizer. With a temperature of 0 it never ends a text: the score of the end is 0, always, and the
/// highest of the others is above.
pub fn talker() -> (Model, Tokenizer) {
    let text = b"fn main() {\n    let x = 5;\n    println!(\"{x}\");\n}\n".repeat(3);
    let tokenizer = Tokenizer::train(&[text], 280).unwrap();
    let vocabulary = tokenizer.vocabulary();
    let config = Config { vocabulary, context: 40, width: 32, heads: 4, layers: 2, hidden: 56 };
    let mut model = Model::new(config, 3).unwrap();
    model.parameters.iter_mut().for_each(|p| {
        if *p != 1.0 {
            *p *= 8.0;
        }
    });
    let end = model.layout.embedding.end;
    model.parameters[end - config.width..end].fill(0.0);
    (model, tokenizer)
}

/// The same as a decoder, its tokenizer, and the model.
pub fn decoder() -> (Decoder, Tokenizer, Model) {
    let (model, tokenizer) = talker();
    (Decoder::new(&model.config, &model.parameters).unwrap(), tokenizer, model)
}

/// A model whose parameters are far from their quiet beginnings.
pub fn far(config: Config) -> Model {
    let mut model = Model::new(config, 5).unwrap();
    let mut random = SplitMix64::new(9);
    for p in &mut model.parameters {
        *p += 0.2 * random.normal() as f32;
    }
    model
}

/// What it answers.
pub fn text(
    decoder: &Decoder,
    tokenizer: &Tokenizer,
    prompt: &str,
    tokens: usize,
    how: Sampling,
) -> String {
    let each = |_: &str| ControlFlow::Continue(());
    generate(decoder, tokenizer, prompt.as_bytes(), tokens, how, each).unwrap().text
}
