use ::safetensors::{Dtype, SafeTensors, serialize, tensor::TensorView};
use dfdx::prelude::*;
use std::{collections::HashMap, fs};
use training::runner::form::Form;
use training::runner::serve::{Classifier, Tested};
use training::{config::Model, models::model::PIXELS};

fn classifier(seed: u64) -> Classifier {
    Classifier::random(Model::Mlp, seed).unwrap()
}

fn images() -> Vec<f32> {
    (0..3 * PIXELS).map(|i| (i * 37 % 256) as f32 / 255.0).collect()
}

#[test]
fn a_stored_model_predicts_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let one = classifier(4);
    one.save(&path).unwrap();
    let two = Classifier::load(&path).unwrap();
    let images = images();
    let probabilities = one.probabilities(&images).unwrap();
    assert_eq!(probabilities, two.probabilities(&images).unwrap());
    assert_ne!(probabilities, classifier(5).probabilities(&images).unwrap());
    let digits = two.digits(&images).unwrap();
    for (digit, p) in digits.iter().zip(&probabilities) {
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(p.iter().all(|other| *other <= p[*digit]));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_stored_model_says_how_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let stored = |right: usize| {
        let tested = Tested { images: 10, right: [(8, right)].into() };
        classifier(4).with_tested(Some(tested)).save(&path).unwrap();
        Classifier::load(&path).unwrap()
    };
    assert_eq!(stored(9).tested().unwrap().right[&8], 9);
    assert!(stored(11).tested().is_none(), "more right than there are");
}

#[test]
fn what_it_learned_from_travels_with_it_and_equal_models_have_equal_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let inverted = Form { paper: 1.0, ink: 0.0, turn: Some(1), ..Form::default() };
    let tested = Tested { images: 10, right: [(8, 9)].into() };
    let stored = |form: &Form| {
        let model = classifier(4).with_tested(Some(tested.clone())).with_form(form.clone());
        model.save(&path).unwrap();
        fs::read(&path).unwrap()
    };
    let first = stored(&inverted);
    assert!((0..8).all(|_| stored(&inverted) == first), "the bytes differ");
    let form = Classifier::load(&path).unwrap().form().clone();
    assert_eq!((&form, form.turn), (&inverted, Some(1)));
    assert_ne!(stored(&Form::default()), first);
    // What can't be is no reason to crash while a page is framed.
    for bad in [Form { side: 29, ..inverted.clone() }, Form { rows: 14, cols: 56, ..inverted }] {
        stored(&bad);
        let said = Classifier::load(&path).err().unwrap().to_string();
        assert!(said.contains("training_images"), "{said}");
    }
}

#[test]
fn every_model_comes_back_under_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    for kind in Model::ALL {
        let one = Classifier::random(kind, 1).unwrap();
        one.save(&path).unwrap();
        let two = Classifier::load(&path).unwrap();
        assert_eq!(two.kind(), kind);
        assert_eq!(one.weights().unwrap(), two.weights().unwrap());
        let bytes = fs::read(&path).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        for (name, shape) in one.tensors().unwrap() {
            assert_eq!(file.tensor(&name).unwrap().shape(), shape);
        }
    }
}

#[test]
fn other_files_are_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let said = || Classifier::load(&path).err().expect("it loads").to_string();
    assert!(said().contains("can't be read"));
    // A run that goes on has a checkpoint already.
    fs::write(folder.path().join("checkpoint"), "TPTRAIN4").unwrap();
    assert!(said().contains("has not ended; go on with train --resume --run"), "{}", said());
    fs::write(&path, b"no").unwrap();
    assert!(said().contains("not a whole safetensors file"));
    classifier(1).save(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(said().contains("not a whole safetensors file"));
    modules::Linear::<3, 2, f32, Cpu>::build(&Cpu::default()).save_safetensors(&path).unwrap();
    assert!(said().contains("does not say which model"));
    let claims = |kind: &str| {
        let view = TensorView::new(Dtype::F32, vec![1], &[0; 4]).unwrap();
        let about = HashMap::from([("model".to_owned(), kind.to_owned())]);
        fs::write(&path, serialize([("0.0.weight", view)], &Some(about)).unwrap()).unwrap();
        said()
    };
    assert!(claims("mlp").contains("another model"));
    assert!(claims("vgg").contains("no model `vgg`"));
}

#[test]
fn weights_that_are_not_those_that_were_stored_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let said = || Classifier::load(&path).err().expect("it loads").to_string();
    classifier(1).save(&path).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1; // a weight, and still a number
    fs::write(&path, &bytes).unwrap();
    assert!(said().contains("damaged"), "{}", said());
    let mut weights = classifier(1).weights().unwrap();
    weights[7] = f32::NAN;
    Classifier::from_weights(Model::Mlp, &weights).unwrap().save(&path).unwrap();
    assert!(said().contains("not numbers") && said().contains("train"), "{}", said());
    // A file without a check sum, as other programs write it.
    let one = classifier(2);
    let (weights, names) = (one.weights().unwrap(), one.tensors().unwrap());
    let bytes: Vec<u8> = weights.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut rest = &bytes[..];
    let views = names.into_iter().map(|(name, shape)| {
        let own = rest.split_off(..4 * shape.iter().product::<usize>()).unwrap();
        (name, TensorView::new(Dtype::F32, shape, own).unwrap())
    });
    let about = HashMap::from([("model".to_owned(), "mlp".to_owned())]);
    fs::write(&path, serialize(views, &Some(about)).unwrap()).unwrap();
    assert_eq!(Classifier::load(&path).unwrap().weights().unwrap(), weights);
}

#[test]
fn half_an_image_is_refused() {
    let classifier = classifier(1);
    for count in [0, 1, PIXELS + 1] {
        assert!(classifier.digits(&vec![0.0; count]).is_err(), "{count}");
    }
}

#[test]
fn scores_that_are_no_numbers_are_no_answer() {
    let many = classifier(1).weights().unwrap().len();
    let wild = Classifier::from_weights(Model::Mlp, &vec![3e38; many]).unwrap();
    for answer in [wild.digits(&images()).err(), wild.probabilities(&images()).err()] {
        let said = answer.unwrap().to_string();
        assert!(said.contains("not numbers") && said.contains("smaller learning rate"), "{said}");
    }
}
