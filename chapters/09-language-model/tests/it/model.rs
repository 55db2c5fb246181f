use lab::testing::refused;
use language_model::{Config, Error, model::Model};
use std::fs;

const ODD: Config =
    Config { vocabulary: 11, context: 7, width: 12, heads: 3, layers: 2, hidden: 5 };

#[test]
fn first_weights_have_their_deviation_and_follow_the_seed() {
    let model = Model::new(Config::tiny(), 1).unwrap();
    assert_eq!(model, Model::new(Config::tiny(), 1).unwrap());
    assert_ne!(model.parameters, Model::new(Config::tiny(), 2).unwrap().parameters);
    let deviation = |range: &std::ops::Range<usize>| {
        let values = &model.parameters[range.clone()];
        let square: f64 = values.iter().map(|v| f64::from(*v).powi(2)).sum();
        (square / values.len() as f64).sqrt()
    };
    let layout = &model.layout;
    assert!((deviation(&layout.embedding) - 0.02).abs() < 2e-4);
    assert!((deviation(&layout.blocks[3].down) - 0.02 / 8f64.sqrt()).abs() < 2e-4);
    assert!((deviation(&layout.norm) - 1.0).abs() < 1e-9);
    // It knows nothing: nearly every token is as probable as the others.
    let loss = model.loss(&[1, 2, 3, 4], &[5, 6, 7, 8], 2).unwrap();
    assert!((loss - 1024f64.ln()).abs() < 0.5, "{loss}");
}

#[test]
fn a_model_comes_back_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let mut model = Model::new(ODD, 3).unwrap();
    model.tokenizer = "abc".to_owned();
    model.save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap(), model);
}

#[test]
fn damaged_files_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    refused(Model::load(&path), ["can't be read"]);
    let model = Model::new(ODD, 3).unwrap();
    let whole = model.to_bytes(&model.parameters).unwrap();
    for bytes in [&b""[..], b"garbage", &whole[..whole.len() - 1], &whole[..100]] {
        fs::write(&path, bytes).unwrap();
        refused(Model::load(&path), ["not a safetensors file"]);
    }
    // Sizes that no tensor shows, fewer layers than there are, and one bit of a weight.
    let changed = |from: &str, to: &str| {
        let at = whole.windows(from.len()).position(|part| part == from.as_bytes()).unwrap();
        [&whole[..at], to.as_bytes(), &whole[at + from.len()..]].concat()
    };
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for (bytes, why) in [
        (changed("heads\\\":3", "heads\\\":2"), "check sum"),
        (changed("context\\\":7", "context\\\":9"), "check sum"),
        (changed("layers\\\":2", "layers\\\":1"), "as many tensors"),
        (flipped, "check sum"),
    ] {
        fs::write(&path, bytes).unwrap();
        refused(Model::load(&path), [why]);
    }
    for ruined in [f32::NAN, f32::INFINITY, -3e38, 1e20] {
        let ruins = Model { parameters: vec![ruined; model.parameters.len()], ..model.clone() };
        ruins.save(&path).unwrap();
        refused(Model::load(&path), ["infinite or not numbers"]);
    }
    let mut other = model.clone();
    other.config.hidden = 6; // the layout stays: the shapes in the file do not fit the sizes
    fs::write(&path, other.to_bytes(&other.parameters).unwrap_or_default()).unwrap();
    assert!(Model::load(&path).is_err());
}

#[test]
fn sequences_that_do_not_fit_are_refused() {
    let model = Model::new(ODD, 3).unwrap();
    assert_eq!(model.logits(&[0, 10]).unwrap().len(), 22);
    assert!(matches!(model.logits(&[]), Err(Error::Length { found: 0, context: 7 })));
    assert!(matches!(model.logits(&[0; 8]), Err(Error::Length { found: 8, .. })));
    assert!(matches!(model.logits(&[11]), Err(Error::Token { token: 11, vocabulary: 11 })));
    assert!(matches!(model.loss(&[1; 5], &[1; 5], 2), Err(Error::Backprop(_))));
    assert!(model.loss(&[], &[], 0).is_err() && model.loss(&[1], &[1, 2], 1).is_err());
}
