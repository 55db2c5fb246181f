//! The test of the exercise `bank-conflicts`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use cpu_gpu::simt::{Counts, Machine};
use exercise::SIDE;
use lab::check::{done, near};

fn run(n: usize) -> (Vec<f32>, Vec<f32>, Counts) {
    let mut machine = Machine::new(5);
    let values: Vec<f32> = (0..n * n).map(|i| i as f32).collect();
    let (a, b) = (machine.array(&values), machine.unwritten(n * n));
    let kernel = |t| exercise::transpose(t, a, b, n);
    let counts = machine.launch("transpose", [n / SIDE; 2], [SIDE; 2], kernel);
    (values, machine.read(b), done(counts, "the kernel"))
}

#[test]
fn the_matrix_is_turned() {
    for n in [32, 96] {
        let (a, b, _) = run(n);
        let wanted: Vec<f32> = (0..n * n).map(|i| a[i % n * n + i / n]).collect();
        near(b, wanted, 1e-6, format!("n = {n}"));
    }
}

#[test]
fn no_two_lanes_want_one_bank() {
    let (_, _, counts) = run(64);
    println!("{} passes, {} of them for conflicts", counts.shared_passes, counts.conflicts());
    assert_eq!(counts.conflicts(), 0, "passes that bank conflicts cost");
    assert!(4 * exercise::WORDS <= 4 * SIDE * SIDE + 128, "{} words are too many", exercise::WORDS);
}
