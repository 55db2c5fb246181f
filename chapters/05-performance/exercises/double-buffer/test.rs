//! The test of the exercise `double-buffer`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::seconds;
use lab::check::{all_near, near};

#[test]
fn copies_and_computations_overlap_as_far_as_there_are_buffers() {
    // The second batch is copied at 2. The third needs the buffer of the first, which is free at 11, and not at 2.
    let long = [(1.0, 10.0), (1.0, 1.0), (5.0, 1.0)];
    all_near([
        ("one buffer is in turns", seconds(&[(1.0, 2.0); 5], 1), 15.0),
        ("one batch is in turns", seconds(&[(1.0, 2.0)], 3), 3.0),
        ("no batch", seconds(&[], 2), 0.0),
        ("with two the longer one counts", seconds(&[(1.0, 2.0); 5], 2), 1.0 + 5.0 * 2.0),
        ("the longer one is the copy", seconds(&[(2.0, 1.0); 5], 2), 5.0 * 2.0 + 1.0),
        ("both are as long", seconds(&[(2.0, 2.0); 5], 2), 12.0),
        ("a copy waits for a place", seconds(&long, 2), 17.0),
        ("with three it does not", seconds(&long, 3), 13.0),
    ]);
}

#[test]
fn a_third_gains_where_the_times_vary() {
    let even = [(1.0, 1.0); 40];
    near(seconds(&even, 3), seconds(&even, 2), 1e-9, "where they do not");
    // Every fourth copy is slow, and every fourth computation, but not of the same batch.
    let batch = |at: usize| [(0.5, 1.0), (0.5, 2.5), (0.5, 0.5), (2.5, 0.5)][at % 4];
    let uneven: Vec<(f64, f64)> = (0..40).map(batch).collect();
    let times = [1, 2, 3, 4, 40].map(|buffers| seconds(&uneven, buffers));
    println!("with 1, 2, 3, 4 and 40 buffers: {times:?} s");
    assert!(times.windows(2).all(|pair| pair[1] <= pair[0]), "{times:?}");
    assert!(times[2] < 0.95 * times[1], "{times:?}");
}
