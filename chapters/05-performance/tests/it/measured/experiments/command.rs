use backprop::measured::peers::Answer;
use lab::data::Source;
use performance::measured::experiments::command::{MODELS, Whole, pytorch};
use std::path::Path;
use training::{Model, Settings};

#[test]
fn what_is_not_training_is_the_rest() {
    let epochs = [(1.0, 0.5), (2.0, 0.75)];
    let whole = Whole::of(4.0, Answer::of(epochs.into_iter()));
    assert_eq!((whole.seconds, whole.around, whole.accuracy), (4.0, 1.0, 0.75));
}

#[test]
fn every_model_has_a_recipe_that_pytorch_has_too() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/pytorch_models.py");
    let script = std::fs::read_to_string(program).unwrap();
    for model in MODELS {
        assert!(script.contains(&format!("\"{model}\": Recipe(")), "{model}");
    }
    assert!(Settings::of(Model::Resnet).augment && script.contains("--augment"));
    let why = pytorch(Model::Mlp, false, 0, &Source::Drawn).unwrap_err().to_string();
    assert!(why.contains("--peers") || why.contains("MNIST"), "{why}");
}
