//! The library that the tokenizer is measured against.

use language_model::{
    corpus::folder,
    tokenizer::{
        Tokenizer,
        chunks::chunks,
        peer::{Peer, characters},
    },
};
use std::path::Path;

#[test]
fn the_library_learns_the_same_merges_and_encodes_alike() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let texts: Vec<Vec<u8>> =
        folder::files(&sources).unwrap().into_iter().map(|(_, text)| text).collect();
    let tokenizer = Tokenizer::train(&texts, 1024).unwrap();
    let strings: Vec<String> = texts.iter().map(|text| characters(text)).collect();
    let peer = Peer::train(&strings, 1023).unwrap();
    assert_eq!(peer.merges().unwrap(), tokenizer.merges());
    for text in &texts {
        let parts: Vec<String> = chunks(text).map(characters).collect();
        assert_eq!(peer.encode(&parts).unwrap(), tokenizer.encode(text));
    }
}
