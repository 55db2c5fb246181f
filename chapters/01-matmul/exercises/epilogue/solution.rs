//! A layer of a neural network, Y = ReLU(X·W + bias), in one pass over Y.

use matmul::cache::{Matrix, Memory};

/// Y ← ReLU(X·W + bias) in traced memory. X is batch×inputs, W inputs×outputs, `bias` 1×outputs.
pub fn layer(memory: &mut Memory, x: Matrix, w: Matrix, bias: Matrix, y: Matrix) {
    let mut sums = vec![0.0; y.cols]; // Represents registers: nothing is counted.
    for i in 0..y.rows {
        sums.fill(0.0);
        for k in 0..x.cols {
            let factor = memory.load(x.at(i, k));
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum += factor * memory.load(w.at(k, j));
            }
        }
        for (j, &sum) in sums.iter().enumerate() {
            // EXERCISE: begin
            let value = sum + memory.load(bias.at(0, j));
            memory.store(y.at(i, j), value.max(0.0));
            // EXERCISE: instead
            // memory.store(y.at(i, j), sum);
            // EXERCISE: end
        }
    }
    // EXERCISE: begin
    // EXERCISE: instead
    // // Now the bias: another pass over Y.
    // for i in 0..y.rows {
    //     for j in 0..y.cols {
    //         let value = memory.load(y.at(i, j)) + memory.load(bias.at(0, j));
    //         memory.store(y.at(i, j), value);
    //     }
    // }
    // // And ReLU, max(0, x): a third one.
    // for i in 0..y.rows {
    //     for j in 0..y.cols {
    //         let value = memory.load(y.at(i, j)).max(0.0);
    //         memory.store(y.at(i, j), value);
    //     }
    // }
    // EXERCISE: end
}
