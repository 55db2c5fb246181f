use language_model::corpus::{Corpus, Package, Source};
use language_model::runner::text::Text;

#[test]
fn bits_are_counted_for_each_byte_of_the_text() {
    let source = |krate: &str, text: &str| Source {
        krate: krate.to_owned(),
        text: text.as_bytes().to_vec(),
        ..Source::default()
    };
    let corpus = Corpus {
        training: vec![source("a", &"fn main() {}\n".repeat(30))],
        validation: vec![source("b", "fn other() {}\n")],
        crates: vec![Package::default(); 2],
        ..Corpus::default()
    };
    let text = Text::of(&corpus, None, 270).unwrap();
    let tokens = text.tokenizer.encode(b"fn other() {}\n").len() + 1;
    assert_eq!(text.validation.len(), tokens);
    assert!(text.about.contains("of other crates to be tested on"), "{}", text.about);
    // As many bits a token as a guess among all needs.
    let found = text.bits_per_byte(270f64.ln());
    assert!((found - tokens as f64 * 270f64.log2() / 14.0).abs() < 1e-9, "{found}");

    let alone = Corpus { validation: Vec::new(), ..corpus };
    let text = Text::of(&alone, None, 257).unwrap();
    assert!((text.density - 1.0).abs() < 0.05, "bytes are their own tokens: {}", text.density);
    assert_eq!(text.training.len() + text.validation.len(), 13 * 30 + 1);
    assert!(text.about.contains("of its end to be tested on"), "{}", text.about);
}
