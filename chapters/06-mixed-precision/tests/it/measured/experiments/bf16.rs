use backprop::train::Examples;
use lab::data::{self, Source};
use lab::{Key, record::Run, testing};
use matmul::Unit as Multiplier;
use mixed_precision::{
    bf16::error::Sum,
    measured::experiments::bf16::{CONTENDERS, ERROR, GAIN, TERMS, experiments},
};

fn run(key: Key) -> Run {
    testing::run(&testing::experiment(mixed_precision::chapter(), key.name))
}

#[test]
fn both_networks_are_raced_where_bf16_has_a_unit() {
    let run = testing::run(&experiments()[0]);
    let of = |key: Key| run.values.iter().filter(move |value| value.key == key.name);
    let gain: Vec<f64> = of(GAIN).map(|value| value.median).collect();
    match gain[..] {
        // How much they gain is what a quiet machine measures.
        [small, wide] => assert!(small > 0.0 && wide > 0.0, "{gain:?}"),
        _ => assert!(Multiplier::of_bf16().is_none() && !run.skipped.is_empty()),
    }
}

#[test]
fn errors_stay_close_to_what_was_predicted() {
    let values = run(ERROR).values;
    for pair in values.chunks_exact(2) {
        let ratio = pair[0].median / pair[1].median;
        assert!((0.7..1.4).contains(&ratio), "{pair:?}");
    }
    assert_eq!(values.len(), 2 * Sum::ALL.len() * TERMS.len());
}

#[test]
fn contenders_that_cannot_run_say_why() {
    let train = Examples::of(&data::drawn(10, 1, 1).train);
    for contender in &CONTENDERS {
        let turn = contender.turn(&train, &Source::Drawn).unwrap();
        let why = turn.err();
        match contender.who {
            "f32" | "bf16" => assert_eq!(why, None),
            _ => assert!(why.is_some_and(|why| why.contains("--peers"))),
        }
    }
}
