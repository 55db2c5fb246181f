//! The test of the exercise `lifetimes`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Operation, peak};
use lab::check::all;

fn made(bytes: u64, reads: &[usize]) -> Operation {
    Operation { bytes, reads: reads.to_vec() }
}

#[test]
fn by_hand() {
    // Forward alone: an input of 784 values, 128 hidden units, ReLU, ten scores.
    let forward = [made(3136, &[]), made(512, &[0]), made(512, &[1]), made(40, &[2])];
    let chain = [vec![made(8, &[])], (0..99).map(|at| made(8, &[at])).collect()].concat();
    // The first result is read by the last operation, as a skip connection's is.
    let skip = [made(100, &[]), made(10, &[0]), made(50, &[1]), made(10, &[2]), made(100, &[3, 0])];
    let two = [made(5, &[]), made(7, &[]), made(11, &[]), made(1, &[2])];
    // x, x·x, and then a chain that is larger than the rest together.
    let square = [made(4, &[]), made(4, &[0, 0]), made(20, &[1]), made(20, &[2])];
    all([
        ("a chain needs two neighbours", peak(&forward), 3136 + 512),
        ("a long chain needs two neighbours", peak(&chain), 16),
        ("what is read later waits", peak(&skip), 100 + 10 + 100),
        ("a result without readers stays", peak(&two), 5 + 7 + 11 + 1),
        ("no operation", peak(&[]), 0),
        ("one operation", peak(&[made(9, &[])]), 9),
        ("what is read twice is dropped once", peak(&square), 40),
    ]);
}

#[test]
fn a_backward_pass_keeps_the_activations() {
    // Eight layers of 10 bytes. The gradient of a layer reads the one behind it, and the activation before it.
    let mut program = vec![made(10, &[])];
    program.extend((1..=8).map(|layer| made(10, &[layer - 1])));
    assert_eq!(peak(&program), 20, "forward alone");
    program.push(made(10, &[8]));
    program.extend((9..17).map(|at| made(10, &[at, 16 - at])));
    println!("with the backward pass: {} bytes", peak(&program));
    // Nine activations, and the gradient of the last one.
    assert_eq!(peak(&program), 100);
}
