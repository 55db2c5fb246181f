//! The test of the exercise `pivoting`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use cpu_gpu::lu::Lu;
use cpu_gpu::lu::check::{random, residual};
use lab::check::done;

/// Decomposes, solves, and measures; also that L and U are those of PA.
fn decompose(a: &[f32], n: usize) -> (Lu, f64) {
    let mut values = a.to_vec();
    let swaps = exercise::factor(&mut values, n);
    let lu = Lu::from_parts(values, n, n, swaps).ok();
    let lu = lu.expect("a step may only choose a row at or below its own");
    let b = random(n, 1, 2);
    let x = done(lu.solve(&b, 1), "the solution");
    (lu, done(residual(a, &x, &b), "the residual"))
}

#[test]
fn a_tiny_number_on_the_diagonal_costs_no_digits() {
    for n in [2, 3, 10, 50] {
        let mut a = random(n, n, n as u64);
        a[0] = 1e-7;
        let (_, error) = decompose(&a, n);
        println!("{n} equations: the residual is {error:.1} times what rounding explains");
        assert!(error < 16.0, "{n} equations: {error} where 16 is the limit");
    }
}

#[test]
fn a_zero_on_the_diagonal_is_no_trouble() {
    // x₂ = 5, x₁ = 3: solvable, but not with the first row first.
    let (lu, error) = decompose(&[0.0, 1.0, 1.0, 0.0], 2);
    assert!(error < 16.0, "{error}");
    assert_eq!(lu.permutation(), [1, 0]);
}

#[test]
fn no_factor_is_above_one() {
    for n in [1, 4, 33] {
        let a = random(n, n, 7);
        let (lu, error) = decompose(&a, n);
        assert!(lu.l().iter().all(|l| l.abs() <= 1.0), "{n}×{n}: a factor above one");
        assert!(error < 16.0, "{n}×{n}: {error}");
        let ours = done(Lu::unblocked(a, n, n), "the course's own");
        assert_eq!(lu.permutation(), ours.permutation(), "{n}×{n}: other rows were chosen");
    }
}
