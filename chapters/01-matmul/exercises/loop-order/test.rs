//! The test of the exercise `loop-order`.

#![allow(clippy::float_cmp)] // The numbers are whole and small: nothing rounds.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

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
    let (c, _) = run();
    for (at, &value) in c.iter().enumerate() {
        let (i, j) = (at / N, at % N);
        let expected: i32 = (0..N)
            .map(|k| ((i % 5) as i32 - (k % 3) as i32) * ((j % 7) as i32 - (k % 4) as i32))
            .sum();
        assert_eq!(value, expected as f32, "row {i}, column {j}");
    }
}

#[test]
fn most_accesses_hit() {
    let (_, counts) = run();
    let steps = (N * N * N) as u64;
    println!("misses in {steps} steps: {}", counts.l1_misses);
    assert!(
        counts.l1_misses < steps / 8,
        "{} of {steps} steps fetch a line; with every row read from left to right it is one in 16",
        counts.l1_misses
    );
}
