//! The test of the exercise `epilogue`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use lab::check::near_rows;
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
    let sum = |at: usize| {
        let (i, j) = (at / OUTPUTS, at % OUTPUTS);
        (0..INPUTS).map(|k| input(i, k) * weight(k, j)).sum::<i32>() + bias(j)
    };
    let sums: Vec<i32> = (0..BATCH * OUTPUTS).map(sum).collect();
    assert!(sums.iter().any(|sum| *sum < 0), "the example has to need the ReLU");
    let wanted: Vec<i32> = sums.iter().map(|sum| *sum.max(&0)).collect();
    near_rows(run().0, wanted, OUTPUTS, 0.0, "the layer");
}

#[test]
fn writes_each_element_once() {
    let (_, counts) = run();
    let (loads, stores) = (counts.loads, counts.stores);
    println!("{loads} loads and {stores} stores");
    let (product, bias) = ((BATCH * INPUTS * (1 + OUTPUTS)) as u64, (BATCH * OUTPUTS) as u64);
    assert_eq!(stores, bias, "stores to Y");
    let needs = format!("{loads} loads: the product needs {product} and the bias {bias}");
    assert!(loads <= product + bias, "{needs}, and Y need not be read at all");
}
