//! The test of the exercise `guarded-edge`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use cpu_gpu::{simt::Machine, verify::Problem};
use exercise::{TILE, product};
use matmul::Shape;

/// Runs the kernel on the simulator and checks what it computed.
fn check(m: usize, k: usize, n: usize) {
    let shape = Shape::new(m, k, n);
    let problem = Problem::random(shape, 1);
    let mut gpu = Machine::new(1);
    let (a, b, c) = (gpu.array(&problem.a), gpu.array(&problem.b), gpu.unwritten(m * n));
    let grid = [n.div_ceil(TILE), m.div_ceil(TILE)];
    let run = gpu.launch("product", grid, [TILE, TILE], |t| product(t, a, b, c, shape));
    if let Err(fault) = run {
        panic!("A of {m}×{k}, B of {k}×{n}: {fault}");
    }
    if let Err(fault) = problem.check(&gpu.read(c)) {
        panic!("A of {m}×{k}, B of {k}×{n}: {fault}");
    }
}

#[test]
fn whole_tiles_are_right() {
    check(2 * TILE, TILE, 3 * TILE);
}

#[test]
fn rows_may_end_anywhere() {
    check(TILE + 5, TILE, TILE);
}

#[test]
fn columns_may_end_anywhere() {
    check(TILE, TILE, TILE + 3);
}

#[test]
fn sums_may_end_anywhere() {
    check(TILE, TILE + 7, TILE);
}

#[test]
fn all_at_once() {
    check(TILE + 5, 2 * TILE + 7, TILE - 3);
    check(1, 1, 1);
    check(3, 40, 2);
}
