//! Work in blocks, so that a piece of B stays in the cache until every row has used it.

use matmul::cache::{Matrix, Memory};

/// Rows and columns of a block of B.
// EXERCISE: begin
pub const BLOCK: usize = 32;
// EXERCISE: instead
// pub const BLOCK: usize = 1;
// EXERCISE: end

/// C ← C + A·B in traced memory.
pub fn multiply(memory: &mut Memory, a: Matrix, b: Matrix, c: Matrix) {
    let (m, k, n) = (c.rows, b.rows, c.cols);
    // EXERCISE: begin
    for p0 in (0..k).step_by(BLOCK) {
        for j0 in (0..n).step_by(BLOCK) {
            for i in 0..m {
                for p in p0..k.min(p0 + BLOCK) {
                    for j in j0..n.min(j0 + BLOCK) {
                        step(memory, a, b, c, (i, p, j));
                    }
                }
            }
        }
    }
    // EXERCISE: instead
    // for i in 0..m {
    //     for p in 0..k {
    //         for j in 0..n {
    //             step(memory, a, b, c, (i, p, j));
    //         }
    //     }
    // }
    // EXERCISE: end
}

/// C's element (i, j) gains the product of A's (i, p) and B's (p, j).
fn step(memory: &mut Memory, a: Matrix, b: Matrix, c: Matrix, (i, p, j): (usize, usize, usize)) {
    let product = memory.load(a.at(i, p)) * memory.load(b.at(p, j));
    let sum = memory.load(c.at(i, j)) + product;
    memory.store(c.at(i, j), sum);
}
