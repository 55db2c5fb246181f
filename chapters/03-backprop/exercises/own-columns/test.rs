//! The test of the exercise `own-columns`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{gradient, ranges};
use lab::{check::same_bits, random::numbers};
use std::{collections::HashSet, ops::Range, sync::Mutex, thread};

/// A batch of 32 images with 9 values each, and the derivatives of 10 outputs.
const SHAPE: [usize; 3] = [32, 9, 10];

/// Xᵀ·dY for these images and columns: each sum from the first image to the last.
fn product(images: Range<usize>, columns: Range<usize>) -> Vec<f32> {
    let [batch, inputs, outputs] = SHAPE;
    let (x, dy) = (numbers(batch * inputs, 1), numbers(batch * outputs, 2));
    let sum = |i: usize, j: usize| {
        let terms = images.clone().map(|row| x[row * inputs + i] * dy[row * outputs + j]);
        terms.fold(0.0, |sum, term| sum + term)
    };
    (0..inputs).flat_map(|i| columns.clone().map(move |j| (i, j))).map(|(i, j)| sum(i, j)).collect()
}

#[test]
fn the_bits_are_the_same_on_any_number_of_cores() {
    let wanted = product(0..SHAPE[0], 0..SHAPE[2]);
    for cores in 1..=16 {
        let found = gradient(&product, SHAPE, cores).expect("the product does not panic");
        same_bits(found, &wanted, format!("{cores} cores: sums have other bits"));
    }
}

#[test]
fn each_core_does_its_part_and_no_other() {
    for cores in 1..=16 {
        let calls = Mutex::new(Vec::new());
        let part = |images: Range<usize>, columns: Range<usize>| {
            let call = (thread::current().id(), images.clone(), columns.clone());
            calls.lock().expect("no other call panicked").push(call);
            product(images, columns)
        };
        let found = gradient(&part, SHAPE, cores);
        assert!(found.is_ok(), "{cores} cores: a part panicked");
        let calls = calls.into_inner().expect("no call panicked");
        let threads: HashSet<_> = calls.iter().map(|(thread, ..)| *thread).collect();
        let parts = ranges(SHAPE[2], cores);
        assert_eq!(threads.len(), parts.len(), "{cores} cores: so many threads work");
        assert_eq!(calls.len(), parts.len(), "{cores} cores: so many parts are computed");
        let wanted: usize = parts.iter().map(Range::len).max().unwrap_or(0);
        for (_, images, columns) in &calls {
            assert_eq!(*images, 0..SHAPE[0], "a sum needs all images of the batch");
            assert!(columns.len() <= wanted, "{cores} cores: one has {} columns", columns.len());
        }
    }
}
