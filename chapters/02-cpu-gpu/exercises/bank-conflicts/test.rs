//! The test of the exercise `bank-conflicts`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use cpu_gpu::simt::{Counts, Machine};
use exercise::SIDE;

fn run(n: usize) -> (Vec<f32>, Vec<f32>, Counts) {
    let mut machine = Machine::new(5);
    let values: Vec<f32> = (0..n * n).map(|i| i as f32).collect();
    let (a, b) = (machine.array(&values), machine.unwritten(n * n));
    let counts = machine
        .launch("transpose", [n / SIDE; 2], [SIDE; 2], |t| exercise::transpose(t, a, b, n))
        .unwrap_or_else(|fault| panic!("{fault}"));
    (values, machine.read(b), counts)
}

#[test]
fn the_matrix_is_turned() {
    for n in [32, 96] {
        let (a, b, _) = run(n);
        for i in 0..n * n {
            assert!((b[i] - a[i % n * n + i / n]).abs() < 1e-6, "n = {n}: element {i} is {}", b[i]);
        }
    }
}

#[test]
fn no_two_lanes_want_one_bank() {
    let (_, _, counts) = run(64);
    println!("{} passes, {} of them for conflicts", counts.shared_passes, counts.conflicts());
    assert_eq!(counts.conflicts(), 0, "passes that bank conflicts cost");
    assert!(4 * exercise::WORDS <= 4 * SIDE * SIDE + 128, "{} words are too many", exercise::WORDS);
}
