//! The test of the exercise `attention`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{mixed, weights};
use lab::{check::near, random::SplitMix64};

/// Rows of random numbers: queries and keys of one width, values of another.
struct Head {
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    width: usize,
    out: usize,
}

impl Head {
    fn new([queries, keys, width, out]: [usize; 4], size: f64) -> Self {
        let mut random = SplitMix64::new((queries * 1000 + keys * 100 + width) as u64);
        let lengths = [(queries * width, size), (keys * width, size), (keys * out, 1.0)];
        let [queries, keys, values] = lengths.map(|(len, size)| random.normals(len, size));
        Self { queries, keys, values, width, out }
    }

    fn weights(&self) -> Vec<f32> {
        weights(&self.queries, &self.keys, self.width)
    }

    fn mixed(&self) -> Vec<f32> {
        mixed(&self.weights(), &self.values, self.out)
    }

    /// Weights and weighted sums in f64, element by element.
    fn reference(&self) -> [Vec<f64>; 2] {
        let wide = |row: &[f32]| row.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
        let (q, k, v) = (wide(&self.queries), wide(&self.keys), wide(&self.values));
        let (d, count) = (self.width, k.len() / self.width);
        let (mut weights, mut mixed) = (Vec::new(), Vec::new());
        for i in 0..q.len() / d {
            let score = |j: usize| -> f64 {
                (0..d).map(|p| q[i * d + p] * k[j * d + p]).sum::<f64>() / (d as f64).sqrt()
            };
            // A weight is one over the sum of e to the differences: no power of a score alone.
            let weight =
                |j: usize| 1.0 / (0..count).map(|l| (score(l) - score(j)).exp()).sum::<f64>();
            let row: Vec<f64> = (0..count).map(weight).collect();
            let output = |c: usize| (0..count).map(|j| row[j] * v[j * self.out + c]).sum::<f64>();
            mixed.extend((0..self.out).map(output));
            weights.extend(row);
        }
        [weights, mixed]
    }
}

fn heads() -> Vec<Head> {
    let sizes = [[1, 1, 1, 1], [16, 16, 16, 16], [3, 7, 5, 2], [7, 3, 4, 9], [1, 6, 64, 3]];
    sizes.map(|sizes| Head::new(sizes, 1.5)).into()
}

#[test]
fn weights_and_sums_are_those_of_the_formula() {
    for head in heads() {
        let [weights, sums] = head.reference();
        let (rows, cols) = (head.queries.len() / head.width, head.keys.len() / head.width);
        near(head.weights(), weights, 1e-5, format!("weights of {rows} queries, {cols} keys"));
        near(head.mixed(), sums, 1e-5, format!("sums of {rows} queries, {cols} keys"));
    }
}

#[test]
fn the_sum_uses_the_weights_that_it_is_given() {
    // Two queries, three keys, values of width 2.
    let out = mixed(&[0.0, 1.0, 0.0, 0.5, 0.25, 0.25], &[1.0, 2.0, 3.0, 4.0, 5.0, 8.0], 2);
    near(out, [3.0, 4.0, 2.5, 4.0], 1e-6, "two sums of three values");
}

#[test]
fn the_weights_of_a_query_sum_to_one() {
    for head in heads() {
        let keys = head.keys.len() / head.width;
        for row in head.weights().chunks(keys) {
            let sum: f32 = row.iter().sum();
            assert!((sum - 1.0).abs() < 1e-5 && row.iter().all(|weight| *weight >= 0.0), "{row:?}");
        }
    }
}

#[test]
fn keys_and_values_may_be_permuted_together() {
    for head in heads() {
        let before = head.mixed();
        assert!(before.iter().any(|x| x.abs() > 1e-3), "nothing but zeros");
        let reversed =
            |rows: &[f32], width: usize| rows.chunks(width).rev().flatten().copied().collect();
        let (keys, values) = (reversed(&head.keys, head.width), reversed(&head.values, head.out));
        let other = Head { keys, values, ..head };
        near(other.mixed(), before, 1e-5, "the sums of the permuted rows");
    }
}

#[test]
fn large_scores_are_no_problem() {
    for head in [Head::new([4, 5, 8, 3], 1000.0), Head::new([2, 9, 3, 3], 300.0)] {
        near(head.mixed(), &head.reference()[1], 1e-3, "sums of large scores");
    }
}
