use language_model::measured::experiments::serving::any_tokenizer;
use language_model::{Config, Model, count::Operations, generate::Decoder};

#[test]
fn bytes_and_operations_are_those_of_the_model() {
    let config = Config::tiny();
    let model = Model::new(config, 1).unwrap();
    let decoder = Decoder::new(&config, &model.parameters).unwrap();
    // The panels' rounding up aside, every parameter is read.
    let bytes = decoder.bytes() as f64 / (4 * model.parameters.len()) as f64;
    assert!((1.0..1.02).contains(&bytes), "{bytes}");
    let found = Operations::of(&config, 127).forward() / (2.0 * model.parameters.len() as f64);
    assert!((1.0..1.2).contains(&found), "{found}");
}

#[test]
fn a_tokenizer_has_the_size_that_was_asked_for() {
    for vocabulary in [257, 1024, 2048] {
        assert_eq!(any_tokenizer(vocabulary).unwrap().vocabulary(), vocabulary);
    }
}
