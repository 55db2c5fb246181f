//! The test of the exercise `kahan`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::sum;
use lab::check::{SplitMix64, close, near};

#[test]
fn small_terms_do_not_stall() {
    const N: usize = 25_000_000;
    let found = sum(std::iter::repeat_n(1e-4, N));
    close(found, f64::from(1e-4_f32) * N as f64, 1e-6, "many small terms");
}

#[test]
fn terms_of_all_sizes_and_signs_are_added() {
    for seed in 0..5 {
        let mut random = SplitMix64::new(seed);
        let terms: Vec<f32> = (0..100_000)
            .map(|_| (random.normal() * 10f64.powi(random.below(8) as i32 - 4)) as f32)
            .collect();
        let exact: f64 = terms.iter().copied().map(f64::from).sum();
        let sizes: f64 = terms.iter().map(|&x| f64::from(x.abs())).sum();
        // Twice a half gap of the sum of the sizes, and no more for more terms.
        near(sum(terms.into_iter()), exact, 1.3e-7 * sizes, format!("terms of seed {seed}"));
    }
}

#[test]
fn few_terms_are_added_as_ever() {
    near(sum(std::iter::empty()), 0.0, 0.0, "no term");
    near(sum([1.5, 2.25].into_iter()), 3.75, 1e-7, "two terms");
}
