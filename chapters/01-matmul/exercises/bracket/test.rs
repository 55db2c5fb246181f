//! The test of the exercise `bracket`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{product, work};
use lab::{check::near, random::numbers};
use matmul::Shape;

/// Multiplies in the reader's order; the result, and the operations that it took.
fn run(sizes: [usize; 4]) -> (Vec<f32>, usize) {
    let [m, k, l, n] = sizes;
    let (a, b, c) = (numbers(m * k, 1), numbers(k * l, 2), numbers(l * n, 3));
    let mut operations = 0;
    let mut multiply = |a: &[f32], b: &[f32], shape: Shape| {
        operations += 2 * shape.m * shape.k * shape.n;
        let mut c = vec![0.0; shape.m * shape.n];
        matmul::naive::multiply(&mut c, a, b, shape);
        c
    };
    let result = product([&a, &b, &c], sizes, &mut multiply);
    (result, operations)
}

/// Both orders, element by element and in f64.
fn right([m, k, l, n]: [usize; 4]) -> Vec<f64> {
    let (a, b, c) = (numbers(m * k, 1), numbers(k * l, 2), numbers(l * n, 3));
    let at = |x: &[f32], i: usize| f64::from(x[i]);
    let element = |i: usize, j: usize| -> f64 {
        let pairs = (0..k).flat_map(|p| (0..l).map(move |q| (p, q)));
        pairs.map(|(p, q)| at(&a, i * k + p) * at(&b, p * l + q) * at(&c, q * n + j)).sum()
    };
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

#[test]
fn both_orders_are_counted() {
    assert_eq!(work([2, 3, 5, 7]), [2 * 30 + 2 * 70, 2 * 105 + 2 * 42]);
    // A vector behind two matrices of 1000×1000.
    assert_eq!(work([1000, 1000, 1000, 1]), [2_002_000_000, 4_000_000]);
    assert_eq!(work([1, 1000, 1000, 1000]), [4_000_000, 2_002_000_000]);
}

#[test]
fn the_product_takes_the_fewer() {
    for sizes in [[30, 30, 30, 1], [1, 30, 30, 30], [20, 2, 20, 3], [3, 20, 2, 20], [4, 4, 4, 4]] {
        let (_, operations) = run(sizes);
        let least = work(sizes)[0].min(work(sizes)[1]);
        assert_eq!(operations, least, "operations for the sizes {sizes:?}");
    }
}

#[test]
fn and_is_the_same_matrix() {
    for sizes in [[2, 3, 5, 7], [7, 5, 3, 2], [9, 8, 7, 1], [1, 7, 8, 9]] {
        near(run(sizes).0, right(sizes), 1e-4, format!("{sizes:?}"));
    }
}
