//! The drawn digits: deterministic, of MNIST's shape, framed as MNIST frames its images.

use lab::data::drawn;
use sha2::{Digest, Sha256};

#[test]
fn has_mnists_shapes_and_all_digits() {
    let set = drawn(2000, 1000, 3);
    assert_eq!((set.train.len(), set.test.len()), (2000, 1000));
    assert_eq!((set.train.rows, set.train.cols), (28, 28));
    assert_eq!(set.train.images.len(), 2000 * 28 * 28);
    for digit in 0..10 {
        let count = set.train.labels.iter().map(|&label| u32::from(label == digit)).sum::<u32>();
        assert!((140..260).contains(&count), "{count} of {digit}");
    }
}

#[test]
fn the_seed_chooses_the_images() {
    assert_eq!(drawn(200, 100, 3), drawn(200, 100, 3));
    assert_ne!(drawn(200, 100, 3).train, drawn(200, 100, 4).train);
    let set = drawn(100, 100, 3);
    assert_ne!(set.train, set.test);
    // More of them begin with the same ones.
    assert_eq!(drawn(300, 0, 3).train.first(200), drawn(200, 0, 3).train);
}

#[test]
fn threads_do_not_change_it() {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let five = rayon::ThreadPoolBuilder::new().num_threads(5).build().unwrap();
    assert_eq!(one.install(|| drawn(1000, 500, 9)), five.install(|| drawn(1000, 500, 9)));
}

/// The bytes themselves: a change of the generator is stated here, because recorded accuracies change too.
#[test]
fn is_the_same_on_every_machine() {
    let set = drawn(1000, 0, 0);
    let sum = format!("{:x}", Sha256::digest(&set.train.images));
    assert_eq!(&sum[..16], "4a445920ec71dec4");
}

#[test]
fn is_framed_like_mnist() {
    let set = drawn(500, 0, 1).train;
    for i in 0..set.len() {
        let (mut mass, mut x, mut y) = (0.0, 0.0, 0.0);
        let (mut top, mut bottom, mut left, mut right) = (28, 0, 28, 0);
        for (at, &grey) in set.image(i).iter().enumerate() {
            let (row, col) = (at / 28, at % 28);
            mass += f64::from(grey);
            x += f64::from(grey) * (col as f64 + 0.5);
            y += f64::from(grey) * (row as f64 + 0.5);
            if grey > 127 {
                (top, bottom) = (top.min(row), bottom.max(row + 1));
                (left, right) = (left.min(col), right.max(col + 1));
            }
        }
        let middle = (x / mass, y / mass);
        assert!((middle.0 - 14.0).abs() < 1.6 && (middle.1 - 14.0).abs() < 1.6, "{i}: {middle:?}");
        let longer = (bottom - top).max(right - left);
        assert!((17..=22).contains(&longer), "{i}: {longer}");
    }
    // As much ink as MNIST has.
    let (mean, deviation) = set.mean_and_deviation();
    assert!((mean - 0.131).abs() < 0.01 && (deviation - 0.308).abs() < 0.015, "{mean} {deviation}");
}
