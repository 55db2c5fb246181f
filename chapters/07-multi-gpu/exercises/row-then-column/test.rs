//! The test of the exercise `row-then-column`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Matrix, two_layers};
use lab::check::near;
use multi_gpu::{comm::counting::Counting, threads};

fn matrix(height: usize, width: usize, seed: f32) -> Matrix {
    let values = (0..height * width).map(|i| (i as f32 * 1.7 + seed).sin()).collect();
    Matrix { width, values }
}

/// The messages that each rank sent for two layers of 5×12 and 12×8.
fn messages(ranks: usize) -> Vec<usize> {
    let (x, a, b) = (matrix(4, 5, 0.1), matrix(5, 12, 0.2), matrix(12, 8, 0.3));
    let wanted = x.times(&a).relu().times(&b);
    threads::run(ranks, |comm| {
        let mut wire = Counting::new(comm);
        let found = two_layers(&x, &a, &b, &mut wire)?;
        assert_eq!(found.width, wanted.width);
        near(found.values, &wanted.values, 1e-4, format!("the product, {ranks} ranks"));
        Ok(wire.traffic().sent)
    })
    .unwrap()
}

#[test]
fn every_rank_has_the_product() {
    (1..=4).for_each(|ranks| drop(messages(ranks)));
}

#[test]
fn one_all_reduce_is_enough() {
    // A ring's all-reduce is 2 (p - 1) messages.
    for ranks in 2..=4 {
        assert_eq!(messages(ranks), vec![2 * (ranks - 1); ranks], "{ranks} ranks");
    }
}
