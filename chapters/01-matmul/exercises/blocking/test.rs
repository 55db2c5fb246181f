//! The test of the exercise `blocking`.

#![allow(clippy::float_cmp)] // The numbers are whole and small: nothing rounds.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use matmul::cache::{Counts, Memory};

/// A first level of 8 KiB, four times smaller than a real one, so that a small product is a large one.
const SMALL: usize = 8 << 10;

fn run(m: usize, k: usize, n: usize) -> (Vec<f32>, Counts) {
    let mut memory = Memory::new(SMALL, 8 * SMALL);
    let a = memory.matrix(m, k, |i, p| (i % 5) as f32 - (p % 3) as f32);
    let b = memory.matrix(k, n, |p, j| (j % 7) as f32 - (p % 4) as f32);
    let c = memory.matrix(m, n, |_, _| 0.0);
    exercise::multiply(&mut memory, a, b, c);
    (memory.values(c).to_vec(), memory.counts())
}

#[test]
fn product_is_right_whatever_the_shape() {
    for (m, k, n) in [(1, 1, 1), (5, 3, 7), (24, 24, 24), (25, 49, 31), (100, 1, 9), (3, 0, 4)] {
        let (c, _) = run(m, k, n);
        for (at, &value) in c.iter().enumerate() {
            let (i, j) = (at / n, at % n);
            let expected: i32 = (0..k)
                .map(|p| ((i % 5) as i32 - (p % 3) as i32) * ((j % 7) as i32 - (p % 4) as i32))
                .sum();
            assert_eq!(value, expected as f32, "{m}×{k} times {k}×{n}: row {i}, column {j}");
        }
    }
}

#[test]
fn a_block_stays_in_the_cache() {
    let n = 100;
    let (_, counts) = run(n, n, n);
    let steps = (n * n * n) as u64;
    let block = exercise::BLOCK;
    println!("with blocks of {block}×{block}: {} misses in {steps} steps", counts.l1_misses);
    assert!(
        counts.l1_misses < steps / 64,
        "{} of {steps} steps fetch a line; without blocks it is one in 16, and one in 64 is the goal",
        counts.l1_misses
    );
}
