//! The test of the exercise `double-buffer`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::seconds;

#[track_caller]
fn takes(batches: &[(f64, f64)], buffers: usize, wanted: f64) {
    let found = seconds(batches, buffers);
    assert!((found - wanted).abs() < 1e-9, "{found} s with {buffers} buffers, and not {wanted}");
}

#[test]
fn one_buffer_is_in_turns() {
    takes(&[(1.0, 2.0); 5], 1, 15.0);
    takes(&[(1.0, 2.0)], 3, 3.0);
    takes(&[], 2, 0.0);
}

#[test]
fn with_two_the_longer_one_counts() {
    takes(&[(1.0, 2.0); 5], 2, 1.0 + 5.0 * 2.0);
    takes(&[(2.0, 1.0); 5], 2, 5.0 * 2.0 + 1.0);
    takes(&[(2.0, 2.0); 5], 2, 12.0);
}

#[test]
fn a_copy_waits_for_a_place() {
    // The second batch is copied at 2. The third needs the buffer of the first, which is free at 11, and not at 2.
    takes(&[(1.0, 10.0), (1.0, 1.0), (5.0, 1.0)], 2, 17.0);
    takes(&[(1.0, 10.0), (1.0, 1.0), (5.0, 1.0)], 3, 13.0);
}

#[test]
fn a_third_gains_where_the_times_vary() {
    let even = [(1.0, 1.0); 40];
    assert!((seconds(&even, 2) - seconds(&even, 3)).abs() < 1e-9);
    // Every fourth copy is slow, and every fourth computation, but not of the same batch.
    let batch = |at: usize| [(0.5, 1.0), (0.5, 2.5), (0.5, 0.5), (2.5, 0.5)][at % 4];
    let uneven: Vec<(f64, f64)> = (0..40).map(batch).collect();
    let times = [1, 2, 3, 4, 40].map(|buffers| seconds(&uneven, buffers));
    println!("with 1, 2, 3, 4 and 40 buffers: {times:?} s");
    assert!(times.windows(2).all(|pair| pair[1] <= pair[0]), "{times:?}");
    assert!(times[2] < 0.95 * times[1], "{times:?}");
}
