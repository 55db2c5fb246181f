//! The test of the exercise `one-message`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Report, average};
use lab::check::{about, done, same_bits};
use multi_gpu::{PointToPoint, comm::counting::Counting, communicator::part_of, threads};
use std::ops::Range;

/// Two derivatives and the loss of image `i`.
fn image(i: usize) -> [f32; 3] {
    let x = i as f32;
    [x - 3.0, (2.0 * x).cos(), 1.0 / (1.0 + x)]
}

/// The means over some images: 0/0 over none.
fn means(images: Range<usize>) -> [f32; 3] {
    let count = images.len() as f32;
    let sum =
        images.map(image).fold([0.0; 3], |sum: [f32; 3], x| [0, 1, 2].map(|at| sum[at] + x[at]));
    sum.map(|sum| sum / count)
}

/// A batch of so many images on so many ranks, of which those in `stopped` want to stop.
#[track_caller]
fn holds(law: &str, batch: usize, ranks: usize, stopped: &[usize]) {
    let found = threads::run(ranks, |rank| {
        let mut comm = Counting::new(rank);
        let part = part_of(batch, comm.rank(), ranks);
        let stop = stopped.contains(&comm.rank().0);
        let [a, b, loss] = means(part.clone());
        let mut gradient = [a, b];
        let report = average(&mut comm, &mut gradient, Report { images: part.len(), loss, stop })?;
        Ok((gradient, report, comm.traffic().sent))
    });
    let what = format!("{law}: {batch} images on {ranks} ranks");
    let found = done(found, "no rank fails");
    let loss = found[0].1.loss;
    for ([a, b], report, sent) in &found {
        let told = [*a, *b, report.loss];
        about(told, means(0..batch), 1e-5, format!("{what}: two derivatives, the loss"));
        assert_eq!(report.images, batch, "{what}: the images of the batch");
        assert_eq!(report.stop, !stopped.is_empty(), "{what}: {stopped:?} want to stop");
        let ring = 2 * (ranks - 1);
        assert_eq!(*sent, ring, "{what}: messages of one rank, where a ring sends 2(p − 1)");
        same_bits(report.loss, loss, format!("{what}: the ranks differ in the last bit"));
    }
}

#[test]
fn the_means_of_all_parts_are_those_of_the_batch() {
    holds("equal parts", 12, 4, &[]);
    holds("equal parts", 5, 1, &[]);
    holds("parts that do not divide", 10, 4, &[]);
    holds("parts that do not divide", 97, 3, &[]);
    holds("parts that do not divide", 2, 4, &[]);
    holds("one request stops all", 12, 4, &[2]);
    holds("one request stops all", 12, 3, &[0, 1, 2]);
    holds("one request stops all", 2, 4, &[3]);
}

#[test]
fn all_ranks_do_the_same_number_of_steps() {
    let steps = threads::run(3, |mut comm| {
        let rank = comm.rank().0;
        for step in 1..=20 {
            // Ctrl-C on rank 1, during its seventh step.
            let stop = rank == 1 && step == 7;
            let report = average(&mut comm, &mut [0.5], Report { images: 1, loss: 1.0, stop })?;
            if report.stop {
                return Ok(step);
            }
        }
        Ok(20)
    });
    assert_eq!(done(steps, "a rank was left alone"), [7, 7, 7], "steps of each rank");
}
