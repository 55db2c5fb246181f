//! The test of the exercise `register-tile`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use cpu_gpu::simt::{Counts, Machine};
use cpu_gpu::verify::Problem;
use exercise::{RESULTS, TILE, product};
use lab::check::done;
use matmul::Shape;

/// Runs the kernel on the simulator, checks what it computed, and returns what it cost.
fn run(m: usize, k: usize, n: usize) -> Counts {
    let shape = Shape::new(m, k, n);
    let problem = Problem::random(shape, 1);
    let mut gpu = Machine::new(1);
    let (a, b, c) = (gpu.array(&problem.a), gpu.array(&problem.b), gpu.unwritten(m * n));
    let grid = [n.div_ceil(TILE), m.div_ceil(TILE)];
    let (block, what) = ([TILE, TILE / RESULTS], format!("A of {m}×{k}, B of {k}×{n}"));
    let counts = done(gpu.launch("product", grid, block, |t| product(t, a, b, c, shape)), &what);
    done(problem.check(&gpu.read(c)), &what);
    counts
}

#[test]
fn product_is_right() {
    run(TILE, TILE, TILE);
    run(TILE + 5, TILE + 1, TILE - 7);
    run(1, 3, 2);
}

#[test]
fn each_thread_computes_four_elements() {
    assert_eq!(RESULTS, 4, "RESULTS says how many elements a thread computes");
}

#[test]
fn each_number_of_b_is_read_once_for_four_steps() {
    let counts = run(TILE, 2 * TILE, TILE);
    // A step is a multiplication and an addition of one thread; a request is an instruction of a whole warp.
    let steps = counts.flops as f64 / 2.0;
    let accesses = 32.0 * counts.shared_requests as f64 / steps;
    println!("accesses to shared memory for each step: {accesses:.2}");
    let found = format!("{accesses:.2} accesses to shared memory for each step");
    assert!(accesses < 1.4, "{found}; five reads for four steps are 1.25, and some writes");
}
