//! The test of the exercise `loader`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use backprop::order::order;
use exercise::Loader;

type Batch = (Vec<f32>, Vec<u8>);

/// The batches of an epoch of so many images of three values. Image i is i, i + 0.25, i + 0.5, and its label i.
fn epoch(images: usize, batch: usize, drop_last: bool, number: usize) -> Vec<Batch> {
    let values: Vec<f32> =
        (0..images).flat_map(|i| [0.0, 0.25, 0.5].map(|more| i as f32 + more)).collect();
    let labels: Vec<u8> = (0..images).map(|i| i as u8).collect();
    let order = order(7, number, images);
    let (images, labels, order) = (&values, &labels, &order);
    let loader = Loader { images, labels, pixels: 3, order, batch, drop_last, at: 0 };
    loader.take(1000).collect()
}

#[test]
fn each_image_meets_its_label() {
    for (images, labels) in epoch(20, 4, false, 1) {
        let image = |label: &u8| [0.0, 0.25, 0.5].map(|more| f32::from(*label) + more);
        let wanted: Vec<f32> = labels.iter().flat_map(image).collect();
        assert_eq!(images, wanted, "labels {labels:?}");
    }
}

#[test]
fn each_image_is_there_once() {
    for (count, batch) in [(20, 4), (23, 4), (3, 5), (1, 1), (0, 4)] {
        let mut seen: Vec<u8> =
            epoch(count, batch, false, 2).into_iter().flat_map(|b| b.1).collect();
        seen.sort_unstable();
        let all: Vec<u8> = (0..count as u8).collect();
        assert_eq!(seen, all, "{count} images in batches of {batch}");
    }
}

#[test]
fn the_last_batch_is_short_or_left_out() {
    let sizes = |drop_last| -> Vec<usize> {
        epoch(10, 4, drop_last, 1).iter().map(|batch| batch.1.len()).collect()
    };
    assert_eq!(sizes(false), [4, 4, 2]);
    assert_eq!(sizes(true), [4, 4]);
    assert_eq!(epoch(8, 4, true, 1).len(), 2, "a whole last batch stays");
    assert!(epoch(3, 4, true, 1).is_empty());
}

#[test]
fn the_order_is_that_of_the_epoch() {
    let labels = |number| -> Vec<usize> {
        let batches = epoch(50, 8, false, number);
        batches.into_iter().flat_map(|batch| batch.1).map(usize::from).collect()
    };
    assert_eq!(labels(1), order(7, 1, 50));
    assert_eq!(labels(2), order(7, 2, 50));
}
