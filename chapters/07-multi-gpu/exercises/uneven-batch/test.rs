//! The test of the exercise `uneven-batch`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::given;
use lab::check::{about, done};
use multi_gpu::{Communicator, communicator::part_of, threads};

/// Three derivatives of image `i`.
fn derivatives(i: usize) -> [f32; 3] {
    let x = i as f32;
    [x, x * x - 4.0, (3.0 * x).sin()]
}

/// The mean over some images: 0/0 over none.
fn mean(images: std::ops::Range<usize>) -> Vec<f32> {
    let count = images.len() as f32;
    let add = |sum: [f32; 3], d: [f32; 3]| [0, 1, 2].map(|at| sum[at] + d[at]);
    images.map(derivatives).fold([0.0; 3], add).map(|sum| sum / count).into()
}

#[track_caller]
fn holds(law: &str, whole: usize, ranks: usize) {
    let found = threads::run(ranks, |mut comm| {
        let part = part_of(whole, comm.rank(), comm.size());
        let mut gradient = given(&mean(part.clone()), part.len(), whole, ranks);
        gradient.resize(3, f32::NAN); // all ranks must give as many
        comm.all_reduce(&mut gradient)?;
        Ok(gradient)
    });
    for gradient in done(found, law) {
        about(gradient, mean(0..whole), 1e-5, format!("{law}: {whole} images on {ranks} ranks"));
    }
}

#[test]
fn the_sum_of_what_is_given_is_the_mean_of_all() {
    for (law, batches) in [
        ("equal parts", [(12, 4), (5, 1)]),
        ("parts that do not divide", [(10, 4), (97, 3)]),
        ("fewer images than ranks", [(2, 4), (1, 3)]),
    ] {
        for (whole, ranks) in batches {
            holds(law, whole, ranks);
        }
    }
}
