//! The test of the exercise `feed-the-unit`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::batch;
use lab::check::pairs;

/// Operations for each byte.
fn intensity(b: u64, k: u64, n: u64, size: u64) -> f64 {
    (2 * b * k * n) as f64 / (size * (b * k + k * n) + 4 * b * n) as f64
}

#[test]
fn it_is_the_smallest_that_reaches_the_ridge() {
    for (k, n) in [(784, 128), (2048, 2048), (4096, 1000), (64, 4096)] {
        for (size, ridge) in pairs([2, 4], [3.0, 7.5, 10.0, 20.0]) {
            let what = format!("{k}×{n}, {size} bytes, ridge {ridge}");
            let found = batch(k, n, size, ridge).unwrap_or_else(|| panic!("{what}: none"));
            let at = intensity(found, k, n, size);
            assert!(at >= ridge * (1.0 - 1e-12), "{what}: {at:.2} at a batch of {found}");
            let before = intensity(found - 1, k, n, size);
            assert!(before < ridge, "{what}: {before:.2} at {} already", found - 1);
        }
    }
}

#[test]
fn a_narrow_layer_never_gets_there() {
    // Ten outputs: at most 2·10/2 operations for each byte of an input of bf16.
    assert_eq!(batch(2048, 10, 2, 10.0), None);
    assert!(batch(2048, 10, 2, 9.0).is_some());
    assert_eq!(batch(2048, 10, 4, 9.0), None, "in f32 it is half");
}

#[test]
fn a_faster_unit_wants_more() {
    // One core with a ridge of 8 in f32; a unit of sixteen times the rate, with bf16.
    let slow = batch(2048, 2048, 4, 8.0).expect("f32");
    let fast = batch(2048, 2048, 2, 128.0).expect("bf16");
    println!("a batch of {slow} in f32, of {fast} on the matrix unit");
    assert_eq!((slow, fast), (17, 158));
}
