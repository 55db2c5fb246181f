//! The test of the exercise `loop-order`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use lab::check::near_rows;
use matmul::cache::{Counts, Memory};

const N: usize = 128;

/// Runs the exercise on small whole numbers, which f32 adds without rounding.
fn run() -> (Vec<f32>, Counts) {
    let mut memory = Memory::default();
    let a = memory.matrix(N, N, |i, j| (i % 5) as f32 - (j % 3) as f32);
    let b = memory.matrix(N, N, |i, j| (j % 7) as f32 - (i % 4) as f32);
    let c = memory.matrix(N, N, |_, _| 0.0);
    exercise::multiply(&mut memory, a, b, c);
    (memory.values(c).to_vec(), memory.counts())
}

#[test]
fn product_is_right() {
    let a = |i: usize, k: usize| (i % 5) as i32 - (k % 3) as i32;
    let b = |k: usize, j: usize| (j % 7) as i32 - (k % 4) as i32;
    let sum = |at: usize| (0..N).map(|k| a(at / N, k) * b(k, at % N)).sum();
    near_rows(run().0, (0..N * N).map(sum).collect::<Vec<i32>>(), N, 0.0, "the product");
}

#[test]
fn most_accesses_hit() {
    let (misses, steps) = (run().1.l1_misses, (N * N * N) as u64);
    println!("misses in {steps} steps: {misses}");
    let found = format!("{misses} of {steps} steps fetch a line");
    assert!(misses < steps / 8, "{found}; with every row read from left to right it is one in 16");
}
