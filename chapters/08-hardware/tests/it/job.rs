use backprop::{
    count::Model,
    fits::{Bytes, Moves},
};
use hardware::{cards::Format, job::Job};
use training::Model as Trained;

#[test]
fn chapter_4s_models_have_their_parameters() {
    // As chapter 4 declares them; the residual network's convolutions have a normalisation each, and no bias.
    let resnet = 24 * 9 + 2 * 24 * 24 * 9 + 24 * 48 + 2 * 48 * 48 * 9 + 490 + 2 * (3 * 24 + 3 * 48);
    for (model, wanted) in [
        (Trained::Linear, 7_850.0),
        (Trained::Mlp, 101_770.0),
        (Trained::Cnn, 117_066.0),
        (Trained::Resnet, f64::from(resnet)),
        (Trained::Rnn, 61_962.0),
        (Trained::Transformer, 71_946.0),
    ] {
        let found = Job::chapter_4(model).unwrap().parameters;
        assert!((found / wanted - 1.0).abs() < 0.01, "{model}: {found} instead of {wanted}");
    }
}

#[test]
fn a_step_by_hand() {
    let job = Job::of(&Model::named("4-3-2").unwrap(), 5, 12).unwrap();
    assert_eq!(job.steps(), 3.0);
    // Forward 2·(12+6), weights as many, and the hidden units' derivatives 2·6.
    assert_eq!(job.step_operations(), 5.0 * (2.0 * 36.0 + 12.0));
    // 23 weights; kept: 4 inputs, 3 units, 2 scores.
    assert_eq!(job.step_bytes(Format::F32), 40.0 * 23.0 + 16.0 * 9.0 * 5.0);
    assert_eq!(job.step_bytes(Format::Bf16), 34.0 * 23.0 + 8.0 * 9.0 * 5.0);
    // Three layers (two dense, one ReLU): 2·3 + 2·2 + 1.
    assert_eq!(job.launches, 11.0);
}

#[test]
fn memory_is_what_chapter_3_counts() {
    for (name, batch) in [("mlp", 32), ("vgg16", 64), ("784-512-10", 1)] {
        let model = Model::named(name).unwrap();
        let found = Job::of(&model, batch, 1).unwrap().memory(Format::F32);
        let bytes = Bytes::of(&model.count().unwrap(), batch, Moves::Adam);
        let all = bytes.weights + bytes.gradients + bytes.optimizer + bytes.activations;
        assert_eq!(found, all as f64, "{name}");
    }
}

#[test]
fn a_larger_batch_does_more_for_each_byte() {
    for model in Trained::ALL {
        let job = Job::chapter_4(model).unwrap();
        let with = |batch: f64| Job { batch, ..job.clone() }.intensity(Format::F32);
        assert!(with(32.0) < with(128.0) && with(128.0) < with(4096.0), "{model}");
        assert!(job.intensity(Format::Bf16) > job.intensity(Format::F32), "{model}");
    }
}

#[test]
fn a_language_model_costs_six_operations_a_weight_and_token() {
    let job = Job::language(7e9, 32, 4e6, 140e9).unwrap();
    assert_eq!(job.steps() * job.step_operations(), 6.0 * 7e9 * 140e9);
    assert_eq!(job.unit, "tokens");
    // GPT-3's width (Brown and others 2020, table 2.1): 96 layers, 175e9 weights, 12288.
    let width = Job::language(175e9, 96, 1.0, 1.0).unwrap().kept / 96.0;
    assert!((width / 12_288.0 - 1.0).abs() < 0.01, "{width}");
}

#[test]
fn what_is_empty_is_refused() {
    let model = Model::named("mlp").unwrap();
    assert!(Job::of(&model, 0, 5).is_err() && Job::of(&model, 5, 0).is_err());
    assert!(Job::language(0.0, 3, 1.0, 1.0).is_err());
    assert!(Job::language(f64::NAN, 0, 1.0, 1.0).is_err());
}
