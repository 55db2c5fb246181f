//! The product of a block's rows, on every level of vectors, against its definition in f64.

use crate::steps::error;
use engine::ops::panel::{Left, Right, product_on};
use matmul::simd::Level;

#[test]
fn every_level_computes_the_definition() {
    for level in Level::ALL.into_iter().filter(|level| level.available()) {
        for (m, k, n) in [(1, 1, 1), (2, 5, 3), (7, 9, 16), (8, 28, 48), (9, 3, 50), (13, 17, 97)] {
            let numbers = |len: usize, seed| lab::random::numbers(len, seed);
            let (a, b, row) = (numbers(m * k, 1), numbers(k * n, 2), numbers(n, 3));
            for (transposed, begins) in [(false, true), (true, true), (true, false)] {
                let mut c = numbers(m * n, 4);
                let at = |i: usize, t: usize| {
                    f64::from(a[if transposed { t * m + i } else { i * k + t }])
                };
                let sum = |i: usize, j: usize| -> f64 {
                    let start = if begins { row[j] } else { c[i * n + j] };
                    (0..k).map(|t| at(i, t) * f64::from(b[t * n + j])).sum::<f64>()
                        + f64::from(start)
                };
                let wanted: Vec<f32> = (0..m * n).map(|at| sum(at / n, at % n) as f32).collect();
                let (row_step, term) = if transposed { (1, m) } else { (k, 1) };
                let left = Left { values: &a, row: row_step, term };
                let right = Right { values: &b, terms: k, step: Some(n), cols: n };
                product_on(level, (&mut c, n), left, right, begins.then_some(&row[..]));
                let apart = error(&c, &wanted);
                assert!(apart < 1e-6, "{level:?}, {m}×{k}×{n}, {transposed}, {begins}: {apart}");
            }
        }
    }
}
