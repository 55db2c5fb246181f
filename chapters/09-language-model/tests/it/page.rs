//! The page's script computes what the crate computes, from the text to the text. It runs on Node.js.

use lab::{random::SplitMix64, testing};
use language_model::{
    Config, Model, Tokenizer, export,
    generate::{Decoder, Sampling, generate},
};
use std::ops::ControlFlow;

const SCRIPT: &str = "gpt-prompt.js";

const TEXT: &str = "pub fn größe(&self) -> usize {\n        self.len * 1024\n    }\n\n/// → 🦀\n";

/// A tokenizer, and a model of random weights that are large enough for its scores to differ.
fn model() -> (Model, Tokenizer) {
    let tokenizer = Tokenizer::train(&[TEXT.repeat(9)], 300).unwrap();
    let vocabulary = tokenizer.vocabulary();
    let config = Config { vocabulary, context: 16, width: 24, heads: 2, layers: 2, hidden: 18 };
    let mut model = Model::new(config, 5).unwrap();
    for block in model.layout.blocks.clone() {
        for range in [block.qkv, block.out, block.gate_up, block.down] {
            model.parameters[range].iter_mut().for_each(|weight| *weight *= 6.0);
        }
    }
    model.parameters[..vocabulary * 24].iter_mut().for_each(|weight| *weight *= 20.0);
    (model, tokenizer)
}

#[test]
fn the_page_cuts_text_into_the_same_tokens() {
    let (model, tokenizer) = model();
    let mut random = SplitMix64::new(3);
    let signs = b"ab_Z9 \t\n\r{}();&'.\xc3\xa9\xf0";
    let mut texts = vec![TEXT.as_bytes().to_vec(), Vec::new(), vec![b' '; 200], vec![b'x'; 200]];
    texts.extend((0..300).map(|_| {
        let len = random.below(90);
        (0..len).map(|_| signs[random.below(signs.len())]).collect()
    }));
    let input = serde_json::json!({
        "script": export::script(&model, &tokenizer, None),
        "texts": texts,
    });
    let program = "({ script, texts }) => { \
        new Function(script)(); \
        const tokenizer = new page.Tokenizer(globalThis.gptModel.merges); \
        return texts.map((text) => tokenizer.encode(Uint8Array.from(text))); }";
    let wanted: Vec<Vec<u32>> = texts.iter().map(|text| tokenizer.encode(text)).collect();
    testing::agrees(SCRIPT, program, &input, &wanted, testing::relative(0.0));
    assert!(wanted[0].len() < TEXT.len(), "nothing is joined");
}

#[test]
fn the_page_computes_the_same_scores() {
    let (model, tokenizer) = model();
    let decoder = Decoder::in_8_bits(&model.config, &model.parameters).unwrap();
    let tokens = &tokenizer.encode(TEXT.as_bytes())[..16];
    let wanted = decoder.logits(tokens).unwrap();
    let input = serde_json::json!({
        "script": export::script(&model, &tokenizer, None),
        "tokens": tokens,
    });
    let program = "({ script, tokens }) => { \
        new Function(script)(); \
        const decoder = new page.Decoder(globalThis.gptModel); \
        return tokens.flatMap((token, at) => Array.from(decoder.read(token, at, true))); }";
    let largest = wanted.iter().fold(0.0_f32, |most, score| most.max(score.abs()));
    assert!(largest > 1.0, "all scores are alike: {largest}");
    let near = |found: f64, wanted: f64| (found - wanted).abs() < 1e-4 * f64::from(largest);
    testing::agrees(SCRIPT, program, &input, &wanted, near);
}

#[test]
fn the_page_writes_the_same_text() {
    let (model, tokenizer) = model();
    let decoder = Decoder::in_8_bits(&model.config, &model.parameters).unwrap();
    let usual = Sampling::default();
    let ways = [
        ("fn a", Sampling::greedy()),
        ("", Sampling { temperature: 0.0, ..usual }),
        (TEXT, Sampling { temperature: 1.5, seed: 7, ..usual }),
        ("let x", Sampling { temperature: 1.0, top_k: 20, top_p: 0.9, seed: 4_000_000_000 }),
        ("let x", Sampling { temperature: 2.0, top_p: 1.0, seed: 2, ..usual }),
    ];
    for (prompt, how) in ways {
        let go_on = |_: &str| ControlFlow::Continue(());
        let tokens = 50; // beyond the context: the window slides
        let wanted = generate(&decoder, &tokenizer, prompt.as_bytes(), tokens, how, go_on).unwrap();
        let Sampling { temperature, top_k, top_p, seed } = how;
        let input = serde_json::json!({
            "script": export::script(&model, &tokenizer, None),
            "prompt": prompt,
            "tokens": tokens,
            "how": { "temperature": temperature, "topK": top_k, "topP": top_p, "seed": seed },
        });
        let program = "({ script, prompt, tokens, how }) => { \
            new Function(script)(); \
            const tokenizer = new page.Tokenizer(globalThis.gptModel.merges); \
            const decoder = new page.Decoder(globalThis.gptModel); \
            const bytes = new TextEncoder().encode(prompt); \
            const writer = new page.Writer(decoder, tokenizer, bytes, how); \
            const text = []; \
            for (let made = 0; made < tokens; made++) { \
                const token = writer.next(); \
                if (token === null) break; \
                text.push(...tokenizer.bytes[token]); \
            } \
            const whole = new TextDecoder('utf-8', { ignoreBOM: true }); \
            return { text: whole.decode(Uint8Array.from(text)), forgotten: writer.forgotten }; }";
        let wanted = serde_json::json!({ "text": wanted.text, "forgotten": wanted.forgotten });
        testing::agrees(SCRIPT, program, &input, &wanted, testing::relative(0.0));
    }
}
