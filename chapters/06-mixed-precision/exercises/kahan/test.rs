//! The test of the exercise `kahan`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use backprop::random::SplitMix64;
use exercise::sum;

#[test]
fn small_terms_do_not_stall() {
    const N: usize = 25_000_000;
    let found = f64::from(sum(std::iter::repeat_n(1e-4, N)));
    let wanted = f64::from(1e-4_f32) * N as f64;
    assert!((found / wanted - 1.0).abs() < 1e-6, "{found}, and not {wanted}");
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
        let found = f64::from(sum(terms.into_iter()));
        // Twice a half gap of the sum of the sizes, and no more for more terms.
        assert!((found - exact).abs() <= 1.3e-7 * sizes, "{found}, and not {exact}");
    }
}

#[test]
fn few_terms_are_added_as_ever() {
    assert!(sum(std::iter::empty()).abs() < f32::MIN_POSITIVE);
    assert!((sum([1.5, 2.25].into_iter()) - 3.75).abs() < f32::EPSILON);
}
