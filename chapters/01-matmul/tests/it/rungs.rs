//! Every rung against the f64 reference.

use crate::common::{Case, SHAPES, Way, paths};
use lab::testing::has_rungs;
use matmul::{
    Rung, Shape, Unit, amx, avx512bf16, ladder,
    pairs::Pairs,
    parallel,
    simd::{self, Level},
    tiles::Model,
};

/// The rungs that this CPU can run, and those that run on any: rung 5 in plain arrays, rung 6 on a number of threads
/// that the machine may not have, and rung 7 on the models of its units.
fn rungs() -> Vec<Rung> {
    let anywhere = |key, unit, multiply| Rung { key, name: key, unit, parallel: false, multiply };
    let vectors = Unit::Vectors(Level::Portable);
    let mut all = ladder();
    all.retain(|rung| rung.unit.available());
    all.extend([
        anywhere("portable", vectors, |c, a, b, s| simd::multiply(Level::Portable, c, a, b, s)),
        anywhere("three threads", vectors, |c, a, b, s| parallel::multiply(c, a, b, s, 3)),
        anywhere("pairs", Unit::PairsModel, |c, a, b, s| {
            avx512bf16::multiply(Pairs::Model, c, a, b, s, 1);
        }),
        anywhere("pairs, three threads", Unit::PairsModel, |c, a, b, s| {
            avx512bf16::multiply(Pairs::Model, c, a, b, s, 3);
        }),
        anywhere("model", Unit::Model, |c, a, b, s| amx::multiply::<Model>(c, a, b, s, 1)),
        anywhere("model, three threads", Unit::Model, |c, a, b, s| {
            amx::multiply::<Model>(c, a, b, s, 3);
        }),
    ]);
    all
}

#[test]
fn every_rung_equals_the_reference_on_every_shape() {
    for shape in SHAPES {
        let case = Case::new(shape, 1);
        for rung in rungs() {
            let off = case.off_on(&rung);
            assert!(off <= 1.0, "{} {shape:?}: {off} of the bound", rung.key);
        }
    }
}

#[test]
fn every_product_passes_nan_and_infinity_on() {
    let mut case = Case::new(Shape::new(40, 50, 45), 1);
    (case.a[3 * 50 + 7], case.a[6 * 50 + 9], case.b[11 * 45 + 13]) =
        (f32::NAN, f32::INFINITY, f32::INFINITY);
    let of_rungs = rungs().into_iter().map(|rung| (rung.key.to_owned(), case.climbed(&rung)));
    let of_paths = paths().map(|path| (path.name(), case.product(path, Way::default())));
    for (what, c) in of_rungs.chain(of_paths) {
        for (at, value) in c.values.iter().enumerate() {
            let (i, j) = (at / 45, at % 45);
            // Where both infinities meet, they may have other signs.
            let nan = if (i, j) == (6, 13) { value.is_nan() } else { i == 3 };
            assert_eq!(value.is_nan(), nan, "{what}: C({i}, {j}) is {value}");
            let finite = ![3, 6].contains(&i) && j != 13;
            assert_eq!(value.is_finite(), finite, "{what}: C({i}, {j}) is {value}");
        }
    }
}

#[test]
fn rungs_on_any_number_of_threads_give_the_same_bits() {
    let Case { shape, a, b, .. } = Case::new(Shape::new(70, 1100, 90), 1);
    let pairs = |c: &mut [f32], a: &[f32], b: &[f32], shape, threads| {
        avx512bf16::multiply(Pairs::Model, c, a, b, shape, threads);
    };
    for multiply in [parallel::multiply, pairs, amx::multiply::<Model>] {
        let run = |threads| {
            let mut c = vec![f32::NAN; shape.m * shape.n];
            multiply(&mut c, &a, &b, shape, threads);
            c
        };
        let one = run(1);
        for threads in [0, 2, 3, 8] {
            assert!(run(threads) == one, "{threads} threads");
        }
    }
}

#[test]
fn the_ladder_has_each_key_once_and_on_its_page() {
    let rungs = ladder();
    has_rungs("01-matmul/libraries.md", rungs.iter().map(|rung| (rung.key, rung.name)));
    let keys: Vec<&str> = rungs.iter().map(|rung| rung.key).collect();
    let mut unique = keys.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), keys.len());
    assert_eq!(keys.first(), Some(&"naive"));
}

#[test]
fn a_wrong_length_is_refused() {
    for rung in rungs() {
        let multiply = rung.multiply;
        let wrong = std::panic::catch_unwind(|| {
            multiply(&mut [0.0; 4], &[0.0; 4], &[0.0; 3], Shape::square(2));
        });
        assert!(wrong.is_err(), "{}", rung.key);
    }
}

#[test]
fn the_best_level_is_available_and_every_level_has_a_name() {
    assert!(Level::best().available());
    assert_eq!(Level::ALL.map(Level::name), ["portable", "avx2", "avx512"]);
}
