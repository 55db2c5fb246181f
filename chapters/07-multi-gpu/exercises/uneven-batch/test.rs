//! The test of the exercise `uneven-batch`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::given;
use multi_gpu::{Communicator, communicator::part_of, threads};

/// Three derivatives of image `i`.
fn derivatives(i: usize) -> [f32; 3] {
    let x = i as f32;
    [x, x * x - 4.0, (3.0 * x).sin()]
}

/// The mean over some images: 0/0 over none.
fn mean(images: std::ops::Range<usize>) -> Vec<f32> {
    let count = images.len() as f32;
    let sum = images
        .map(derivatives)
        .fold([0.0; 3], |sum, d| [sum[0] + d[0], sum[1] + d[1], sum[2] + d[2]]);
    sum.map(|sum: f32| sum / count).into()
}

#[track_caller]
fn holds(whole: usize, ranks: usize) {
    let found = threads::run(ranks, |mut comm| {
        let part = part_of(whole, comm.rank(), comm.size());
        let mut gradient = given(&mean(part.clone()), part.len(), whole, ranks);
        gradient.resize(3, f32::NAN); // all ranks must give as many
        comm.all_reduce(&mut gradient)?;
        Ok(gradient)
    })
    .unwrap();
    for gradient in found {
        for (found, wanted) in gradient.iter().zip(mean(0..whole)) {
            assert!(
                (found - wanted).abs() <= 1e-5 * (1.0 + wanted.abs()),
                "{found} instead of {wanted}: {whole} images on {ranks} ranks"
            );
        }
    }
}

#[test]
fn equal_parts() {
    holds(12, 4);
    holds(5, 1);
}

#[test]
fn parts_that_do_not_divide() {
    holds(10, 4);
    holds(97, 3);
}

#[test]
fn fewer_images_than_ranks() {
    holds(2, 4);
    holds(1, 3);
}
