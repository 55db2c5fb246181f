use dfdx::prelude::*;
use lab::data;
use performance::engine::networks::{
    FastCnn, FastDeep, FastMlp, FastResnet, FastTransformer, StockDeep,
};
use training::model::{Images, Network, build};
use training::{Config, Settings, Silent, train_network};

/// A resumed run draws the numbers again that its first life drew.
fn draws_as_it_says<M: Network<Cpu>>() {
    let next = |learn: bool| {
        let dev = Cpu::seed_from_u64(5);
        let mut model: M = build(&dev).unwrap();
        if learn {
            let images: Images<Cpu> = dev.zeros_like(&(2, Const));
            model.learn(images.leaky_trace()).unwrap();
        } else {
            for _ in 0..M::DRAWS_PER_STEP {
                dev.random_u64();
            }
        }
        dev.random_u64()
    };
    assert_eq!(next(true), next(false));
}

/// Without dropout, its output in training is its output otherwise.
fn predicts_as_it_learns<M: Network<Cpu>>() {
    let dev = Cpu::seed_from_u64(6);
    let mut model: M = build(&dev).unwrap();
    model.set_dropout(0.0);
    let images: Images<Cpu> = dev.sample_normal_like(&(5, Const));
    let (scores, _) = model.learn(images.leaky_trace()).unwrap().split_tape();
    let wanted = model.predict(images).unwrap().as_vec();
    assert!(backprop::check::error_f32(&scores.as_vec(), &wanted) < 1e-5);
}

#[test]
fn they_are_networks_as_chapter_4_knows_them() {
    draws_as_it_says::<FastMlp<f32, Cpu>>();
    draws_as_it_says::<FastDeep<f32, Cpu>>();
    draws_as_it_says::<StockDeep<f32, Cpu>>();
    draws_as_it_says::<FastCnn<f32, Cpu>>();
    draws_as_it_says::<FastResnet<f32, Cpu>>();
    draws_as_it_says::<FastTransformer<f32, Cpu>>();
    predicts_as_it_learns::<FastMlp<f32, Cpu>>();
    predicts_as_it_learns::<FastDeep<f32, Cpu>>();
    predicts_as_it_learns::<StockDeep<f32, Cpu>>();
    predicts_as_it_learns::<FastCnn<f32, Cpu>>();
    predicts_as_it_learns::<FastTransformer<f32, Cpu>>();
}

#[test]
fn its_convolutions_are_those_of_chapter_4() {
    let dev = Cpu::seed_from_u64(7);
    let model: FastCnn<f32, Cpu> = build(&dev).unwrap();
    let images: Images<Cpu> = dev.sample_normal_like(&(5, Const));
    let [fast, plain] =
        [model.predict(images.clone()), model.plain.predict(images)].map(|s| s.unwrap().as_vec());
    assert!(backprop::check::error_f32(&fast, &plain) < 1e-5);
}

#[test]
fn chapter_4_trains_the_fast_one_and_resumes_it() {
    let data = data::drawn(600, 200, 1);
    let folder = tempfile::tempdir().unwrap();
    let run = |epochs, run: Option<&str>, start| {
        let settings = Settings { epochs, batch: 50, seed: 3, ..Settings::default() };
        let run = run.map(|name| folder.path().join(name));
        let config = Config { settings, run, start, ..Config::default() };
        let dev = Cpu::seed_from_u64(3);
        train_network::<FastMlp<f32, Cpu>, Cpu>(&dev, &config, &data, &mut Silent).unwrap()
    };
    let whole = run(4, None, training::Start::New);
    assert!(whole.test_accuracy().unwrap() > 0.5, "{:?}", whole.test_accuracy());
    run(2, Some("parts"), training::Start::New);
    let resumed = run(4, Some("parts"), training::Start::Resume);
    assert!(whole.weights == resumed.weights, "a resumed run went another way");
}
