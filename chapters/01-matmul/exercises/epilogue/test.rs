//! The test of the exercise `epilogue`.

#![allow(clippy::float_cmp)] // The numbers are whole and small: nothing rounds.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use matmul::cache::{Counts, Memory};

const BATCH: usize = 8;
const INPUTS: usize = 16;
const OUTPUTS: usize = 24;

fn input(i: usize, k: usize) -> i32 {
    (i % 5) as i32 - (k % 3) as i32
}

fn weight(k: usize, j: usize) -> i32 {
    (j % 7) as i32 - (k % 4) as i32
}

fn bias(j: usize) -> i32 {
    (j % 4) as i32 - 2
}

fn run() -> (Vec<f32>, Counts) {
    let mut memory = Memory::default();
    let x = memory.matrix(BATCH, INPUTS, |i, k| input(i, k) as f32);
    let w = memory.matrix(INPUTS, OUTPUTS, |k, j| weight(k, j) as f32);
    let b = memory.matrix(1, OUTPUTS, |_, j| bias(j) as f32);
    let y = memory.matrix(BATCH, OUTPUTS, |_, _| f32::NAN);
    exercise::layer(&mut memory, x, w, b, y);
    (memory.values(y).to_vec(), memory.counts())
}

#[test]
fn layer_is_right() {
    let (y, _) = run();
    let mut negative = 0;
    for (at, &value) in y.iter().enumerate() {
        let (i, j) = (at / OUTPUTS, at % OUTPUTS);
        let sum: i32 = (0..INPUTS).map(|k| input(i, k) * weight(k, j)).sum::<i32>() + bias(j);
        negative += usize::from(sum < 0);
        assert_eq!(value, sum.max(0) as f32, "row {i}, column {j}");
    }
    assert!(negative > 0, "the example has to need the ReLU");
}

#[test]
fn writes_each_element_once() {
    let (_, counts) = run();
    println!("{} loads and {} stores", counts.loads, counts.stores);
    assert_eq!(counts.stores, (BATCH * OUTPUTS) as u64, "stores to Y");
    let product = BATCH * INPUTS * (1 + OUTPUTS);
    assert!(
        counts.loads <= (product + BATCH * OUTPUTS) as u64,
        "{} loads: the product needs {product} and the bias {}, and Y need not be read at all",
        counts.loads,
        BATCH * OUTPUTS
    );
}
