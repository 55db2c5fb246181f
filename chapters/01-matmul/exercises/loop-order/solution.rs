//! Change the order of two loops, so that the innermost one runs along rows.

use matmul::cache::{Matrix, Memory};

/// C ← C + A·B, for square matrices in traced memory.
pub fn multiply(memory: &mut Memory, a: Matrix, b: Matrix, c: Matrix) {
    let n = c.rows;
    // EXERCISE: begin
    for i in 0..n {
        for k in 0..n {
            for j in 0..n {
                // EXERCISE: instead
                // for i in 0..n {
                //     for j in 0..n {
                //         for k in 0..n {
                // EXERCISE: end
                let product = memory.load(a.at(i, k)) * memory.load(b.at(k, j));
                let sum = memory.load(c.at(i, j)) + product;
                memory.store(c.at(i, j), sum);
            }
        }
    }
}
