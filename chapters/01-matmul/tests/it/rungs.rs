//! Every rung against the f64 reference.

use crate::common::{SHAPES, assert_product, case, halves, values};
use matmul::{
    MatRef, Rung, Shape, amx, avx512bf16, ladder,
    pairs::Pairs,
    parallel, reference,
    simd::{self, Level},
    tiles::Model,
};

/// The rungs that this CPU can run, and those that run on any: rung 5 in plain arrays, rung 6 on a number of threads
/// that the machine may not have, and rung 7 on the models of its units.
fn rungs() -> Vec<Rung> {
    let anywhere = |key, bf16, multiply| Rung {
        key,
        name: key,
        parallel: false,
        bf16,
        available: || true,
        multiply,
    };
    let mut all = ladder();
    all.retain(|rung| (rung.available)());
    all.extend([
        anywhere("portable", false, |c, a, b, s| simd::multiply(Level::Portable, c, a, b, s)),
        anywhere("three threads", false, |c, a, b, s| parallel::multiply(c, a, b, s, 3)),
        anywhere("pairs", true, |c, a, b, s| avx512bf16::multiply(Pairs::Model, c, a, b, s, 1)),
        anywhere("pairs, three threads", true, |c, a, b, s| {
            avx512bf16::multiply(Pairs::Model, c, a, b, s, 3);
        }),
        anywhere("model", true, |c, a, b, s| amx::multiply::<Model>(c, a, b, s, 1)),
        anywhere("model, three threads", true, |c, a, b, s| amx::multiply::<Model>(c, a, b, s, 3)),
    ]);
    all
}

#[test]
fn every_rung_equals_the_reference_on_every_shape() {
    for rung in rungs() {
        for shape in SHAPES {
            let Shape { m, k, n } = shape;
            let (a, b, mut product) = case(shape);
            if rung.bf16 {
                let (a, b) = (halves(&a), halves(&b));
                product = reference::multiply(
                    MatRef::new(&a, m, k).unwrap(),
                    MatRef::new(&b, k, n).unwrap(),
                );
            }
            let mut c = vec![f32::NAN; m * n];
            (rung.multiply)(&mut c, &a, &b, shape);
            let c = MatRef::new(&c, m, n).unwrap();
            assert_product(c, &product, k, None, None, false, &format!("{} {shape:?}", rung.key));
        }
    }
}

#[test]
fn every_rung_passes_nan_and_infinity_on() {
    let shape = Shape::new(19, 23, 37);
    for rung in rungs() {
        let mut a = values(shape.m * shape.k, 1);
        let b = values(shape.k * shape.n, 2);
        a[4 * shape.k + 5] = f32::NAN;
        a[6 * shape.k + 7] = f32::INFINITY;
        let mut c = vec![0.0; shape.m * shape.n];
        (rung.multiply)(&mut c, &a, &b, shape);
        for (at, value) in c.iter().enumerate() {
            let (row, key) = (at / shape.n, rung.key);
            assert_eq!(value.is_nan(), row == 4, "{key}: C({row}, {}) is {value}", at % shape.n);
            assert_eq!(
                value.is_infinite(),
                row == 6,
                "{key}: C({row}, {}) is {value}",
                at % shape.n
            );
        }
    }
}

#[test]
fn rungs_on_any_number_of_threads_give_the_same_bits() {
    let shape = Shape::new(70, 1100, 90);
    let (a, b) = (values(shape.m * shape.k, 1), values(shape.k * shape.n, 2));
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
fn the_ladder_has_each_key_once() {
    let keys: Vec<&str> = ladder().iter().map(|rung| rung.key).collect();
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
