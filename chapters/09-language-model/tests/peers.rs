//! The library that does it for a living: `tokenizers` of Hugging Face, in Rust, next to the tokenizer of this chapter.
//!
//! Its model joins characters, and here each byte is one: byte 0 is U+0000 and byte 255 is U+00FF, in the order of the
//! bytes. It gets the chunks of this chapter's splitting rule, so that both learn from the same. Ties go the same way in both.

use language_model::{
    corpus::folder,
    tokenizer::{Tokenizer, chunks::chunks},
};
use std::path::Path;
use tokenizers::{
    Model, Trainer,
    models::bpe::{BPE, BpeTrainer},
};

/// Bytes as the characters that the library joins.
fn characters(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// A vocabulary of so many tokens, the end of a text not counted. As [`Tokenizer::train`] does, it leaves out pairs that
/// occur once.
fn learned(texts: &[String], tokens: usize) -> BPE {
    let mut trainer = BpeTrainer::builder()
        .show_progress(false)
        .min_frequency(2)
        .vocab_size(tokens)
        .initial_alphabet((0..=255).map(char::from).collect())
        .build();
    let split = |text: &str| {
        let bytes: Vec<u8> = text.chars().map(|c| c as u8).collect();
        Ok(chunks(&bytes).map(characters).collect())
    };
    let mut model = BPE::default();
    trainer.feed(texts.iter(), split).unwrap();
    trainer.train(&mut model).unwrap();
    model
}

#[test]
fn the_library_learns_the_same_merges_and_encodes_alike() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let texts: Vec<Vec<u8>> =
        folder::files(&sources).unwrap().into_iter().map(|(_, text)| text).collect();
    let tokenizer = Tokenizer::train(&texts, 1024).unwrap();
    let strings: Vec<String> = texts.iter().map(|text| characters(text)).collect();
    let peer = learned(&strings, 1023);
    let written = serde_json::to_value(&peer).unwrap();
    let token = |part: &serde_json::Value| peer.token_to_id(part.as_str().unwrap()).unwrap();
    // In the order in which they were learned.
    let merges = written["merges"].as_array().unwrap().iter();
    let merges: Vec<_> = merges.map(|pair| (token(&pair[0]), token(&pair[1]))).collect();
    assert_eq!(merges, tokenizer.merges());
    for text in &texts {
        let parts = chunks(text).flat_map(|chunk| peer.tokenize(&characters(chunk)).unwrap());
        assert_eq!(parts.map(|token| token.id).collect::<Vec<_>>(), tokenizer.encode(text));
    }
}
