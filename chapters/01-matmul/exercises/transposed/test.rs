//! The test of the exercise `transposed`.

#![allow(clippy::float_cmp)] // The numbers are whole and small: nothing rounds.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{View, multiply, weight_gradient};
use lab::check::pairs;

#[test]
fn transposed_swaps_rows_and_columns() {
    let data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let view = View::new(&data, 2, 3);
    let turned = view.transposed();
    assert_eq!((turned.rows, turned.cols), (3, 2));
    for (i, j) in pairs(0..2, 0..3) {
        assert_eq!(turned.at(j, i), view.at(i, j), "element ({j}, {i})");
    }
    assert!(std::ptr::eq(turned.data, view.data), "the elements must stay where they are");
}

#[test]
fn twice_is_nothing() {
    let view = View::new(&[0.0; 6], 3, 2).transposed().transposed();
    assert_eq!((view.rows, view.cols, view.row_step, view.col_step), (3, 2, 2, 1));
}

#[test]
fn multiplies_a_transposed_operand() {
    // (A·B)ᵀ = Bᵀ·Aᵀ, on shapes that differ in every direction.
    let a: Vec<f32> = (0..6).map(|x| x as f32).collect();
    let b: Vec<f32> = (0..12).map(|x| (x % 5) as f32).collect();
    let (a, b) = (View::new(&a, 2, 3), View::new(&b, 3, 4));
    let straight = multiply(a, b);
    let wanted: Vec<f32> = (0..8).map(|at| straight[at % 2 * 4 + at / 2]).collect();
    assert_eq!(multiply(b.transposed(), a.transposed()), wanted);
}

#[test]
fn weight_gradient_sums_over_the_batch() {
    // Two images, three inputs, two outputs.
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let g = [10.0, 1.0, 100.0, 0.0];
    let expected = [410.0, 1.0, 520.0, 2.0, 630.0, 3.0];
    assert_eq!(weight_gradient(View::new(&x, 2, 3), View::new(&g, 2, 2)), expected);
}
