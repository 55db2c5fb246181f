//! The test of the exercise `blocking`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use lab::check::near_rows;
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
        let a = |i: usize, p: usize| (i % 5) as i32 - (p % 3) as i32;
        let b = |p: usize, j: usize| (j % 7) as i32 - (p % 4) as i32;
        let sum = |at: usize| (0..k).map(|p| a(at / n, p) * b(p, at % n)).sum();
        let wanted: Vec<i32> = (0..m * n).map(sum).collect();
        near_rows(c, wanted, n, 0.0, format!("{m}×{k} times {k}×{n}"));
    }
}

#[test]
fn a_block_stays_in_the_cache() {
    let (_, counts) = run(100, 100, 100);
    let (misses, steps, block) = (counts.l1_misses, 1_000_000, exercise::BLOCK);
    println!("with blocks of {block}×{block}: {misses} misses in {steps} steps");
    let goal = "without blocks it is one in 16, and one in 64 is the goal";
    assert!(misses < steps / 64, "{misses} of {steps} steps fetch a line; {goal}");
}
