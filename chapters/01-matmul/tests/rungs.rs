//! Every rung against the f64 reference.

mod common;

use common::{SHAPES, assert_product, case, halves, values};
use matmul::{MatRef, Shape, ladder, reference, simd::Level};

#[test]
fn every_rung_equals_the_reference_on_every_shape() {
    for rung in ladder().iter().filter(|rung| (rung.available)()) {
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
    for rung in ladder().iter().filter(|rung| (rung.available)()) {
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
    for rung in ladder().iter().filter(|rung| (rung.available)()) {
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
