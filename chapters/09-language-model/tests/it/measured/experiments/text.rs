use lab::{Experiment, testing};
use language_model::Result;
use language_model::corpus::{Corpus, folder};
use language_model::measured::experiments::text::{
    BYTES, CRATES, FILES, PER_TOKEN, VOCABULARIES, count, experiments,
};
use std::path::Path;

fn own() -> Result<Corpus> {
    Corpus::of(folder::workspace(Path::new(env!("CARGO_MANIFEST_DIR")))?)
}

#[test]
fn parts_are_those_of_the_corpus_and_larger_vocabularies_hold_more() {
    let experiment = experiments().remove(0);
    let experiment = Experiment { run: |r| Ok(count(r, &own()?, 2.0)?), ..experiment };
    let run = testing::run(&experiment);
    let of = |key: lab::Key, part: &str| {
        let mut values = run.values.iter().filter(|v| v.key == key.name);
        values.find(|v| v.param("part") == Some(part)).unwrap().median
    };
    let corpus = own().unwrap();
    assert_eq!(of(BYTES, "training"), corpus.bytes()[0] as f64);
    assert_eq!(of(FILES, "validation"), corpus.validation.len() as f64);
    assert_eq!(of(CRATES, "training") + of(CRATES, "validation"), corpus.crates.len() as f64);
    let per_token = run.values.iter().filter(|v| v.key == PER_TOKEN.name).map(|v| v.median);
    let per_token: Vec<f64> = per_token.collect();
    assert_eq!((per_token.len(), per_token[0]), (VOCABULARIES.len(), 1.0));
    assert!(per_token.is_sorted() && per_token[4] > 2.0, "{per_token:?}");
}
