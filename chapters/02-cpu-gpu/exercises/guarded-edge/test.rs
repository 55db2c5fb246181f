//! The test of the exercise `guarded-edge`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use cpu_gpu::{simt::Machine, verify::Problem};
use exercise::{TILE, product};
use lab::check::done;
use matmul::Shape;

/// Runs the kernel on the simulator and checks what it computed.
fn check(law: &str, m: usize, k: usize, n: usize) {
    let shape = Shape::new(m, k, n);
    let problem = Problem::random(shape, 1);
    let mut gpu = Machine::new(1);
    let (a, b, c) = (gpu.array(&problem.a), gpu.array(&problem.b), gpu.unwritten(m * n));
    let grid = [n.div_ceil(TILE), m.div_ceil(TILE)];
    let what = format!("{law}: A of {m}×{k}, B of {k}×{n}");
    done(gpu.launch("product", grid, [TILE, TILE], |t| product(t, a, b, c, shape)), &what);
    done(problem.check(&gpu.read(c)), &what);
}

#[test]
fn whole_tiles_are_right() {
    check("whole tiles are right", 2 * TILE, TILE, 3 * TILE);
}

#[test]
fn each_side_may_end_anywhere() {
    check("rows may end anywhere", TILE + 5, TILE, TILE);
    check("columns may end anywhere", TILE, TILE, TILE + 3);
    check("sums may end anywhere", TILE, TILE + 7, TILE);
}

#[test]
fn all_at_once() {
    check("all at once", TILE + 5, 2 * TILE + 7, TILE - 3);
    check("all at once", 1, 1, 1);
    check("all at once", 3, 40, 2);
}
