#![allow(clippy::float_cmp, reason = "what is compared are numbers of a format, to the bit")]

use backprop::random::SplitMix64;
use mixed_precision::formats::Format;
use mixed_precision::formats::sums::{Arithmetic, kahan_stall, products, stall};

fn random(seed: u64, n: usize) -> Vec<f64> {
    let mut random = SplitMix64::new(seed);
    (0..n).map(|_| Format::F16.nearest(random.unit())).collect()
}

#[test]
fn emulated_f32_is_the_cpus() {
    let terms: Vec<f32> = random(1, 5000).iter().map(|&x| x as f32 * 0.37).collect();
    let wide: Vec<f64> = terms.iter().map(|&x| x.into()).collect();
    let mut f32s = Arithmetic::nearest(Format::F32);
    assert_eq!(f32s.running(wide.iter().copied()) as f32, terms.iter().sum::<f32>());
    let ones = vec![1.0; terms.len()];
    assert_eq!(f32s.running(wide) as f32, matmul::sums::one_sum(&terms, &ones));
}

#[test]
fn emulated_f16_is_halfs() {
    let terms = random(2, 3000);
    let mut sum = half::f16::ZERO;
    for &term in &terms {
        sum += half::f16::from_f64(term);
    }
    assert_eq!(Arithmetic::nearest(Format::F16).running(terms), sum.to_f64());
}

#[test]
fn a_sum_stalls_where_predicted() {
    for (format, steps) in [(Format::F16, 4000), (Format::BF16, 1000), (Format::E4M3, 400)] {
        for tenths in [1.0, 1.7, 3.0, 8.0] {
            let term = format.nearest(tenths * if format == Format::E4M3 { 0.1 } else { 1e-4 });
            let end = Arithmetic::nearest(format).running(std::iter::repeat_n(term, steps));
            assert_eq!(end, stall(format, term), "{} {term}", format.name());
            // One term before, it still grew: the sum is not a fixed point below.
            let below = end - format.gap(0.99 * end);
            assert!(format.nearest(below + term) > below);
        }
    }
    assert_eq!(stall(Format::F16, 1000.0), f64::INFINITY);
}

#[test]
fn kahans_sum_stalls_where_predicted() {
    for (format, term, steps) in
        [(Format::E4M3, 0.125, 1000), (Format::BF16, Format::BF16.nearest(1e-2), 200_000)]
    {
        let end = Arithmetic::nearest(format).kahan(std::iter::repeat_n(term, steps));
        assert_eq!(end, kahan_stall(format, term), "{} {term}", format.name());
    }
}

#[test]
fn a_term_of_exactly_half_a_gap_is_also_lost() {
    // 2048 + 1 in f16 is a tie, which goes to the even 2048.
    assert_eq!(stall(Format::F16, 1.0), 2048.0);
    let ones = std::iter::repeat_n(1.0, 3000);
    assert_eq!(Arithmetic::nearest(Format::F16).running(ones), 2048.0);
}

#[test]
fn dice_do_not_stall() {
    let term = Format::F16.nearest(1e-4);
    let n = 40_000;
    let ends: Vec<f64> = (0..20)
        .map(|seed| {
            let mut f16s = Arithmetic::stochastic(Format::F16, seed);
            f16s.running(std::iter::repeat_n(term, n))
        })
        .collect();
    let mean = ends.iter().sum::<f64>() / ends.len() as f64;
    let exact = term * n as f64;
    // Deviation of one run: each step's is at most half a gap; the mean of 20 has less by √20.
    let allowed = 5.0 * 0.5 * Format::F16.gap(exact) * (n as f64).sqrt() / 20f64.sqrt();
    assert!((mean - exact).abs() < allowed, "{mean}, not {exact}");
    assert!(mean > 10.0 * stall(Format::F16, term));
}

#[test]
fn kahan_and_pairs_are_closer() {
    let mut f16s = Arithmetic::nearest(Format::F16);
    for (seed, n) in [(1, 1000), (2, 4001), (3, 10_000)] {
        let terms = random(seed, n);
        let exact: f64 = terms.iter().sum();
        let error = |sum: f64| (sum - exact).abs() / exact;
        let running = error(f16s.running(terms.iter().copied()));
        let kahan = error(f16s.kahan(terms.iter().copied()));
        let pairs = error(f16s.pairwise(&terms));
        // Higham: 2u + O(n u²) and u·log2 n, with u = 2⁻¹¹.
        let u = 2f64.powi(-11);
        assert!(kahan <= 2.0 * u + 2.0 * n as f64 * u * u, "{n}: {kahan:e}");
        assert!(pairs <= u * (n as f64).log2().ceil(), "{n}: {pairs:e}");
        assert!(running > 2.0 * kahan.max(pairs), "{n}: {running:e} {kahan:e} {pairs:e}");
    }
}

#[test]
fn sums_of_nothing_are_zero() {
    let mut f16s = Arithmetic::nearest(Format::F16);
    assert_eq!((f16s.running([]), f16s.kahan([]), f16s.pairwise(&[])), (0.0, 0.0, 0.0));
    assert_eq!(f16s.pairwise(&[0.1]), Format::F16.nearest(0.1));
}

#[test]
fn products_of_f16_numbers_are_exact() {
    for (x, y) in random(5, 100).into_iter().zip(random(6, 100)) {
        let product = products(&[x], &[y]).next().unwrap();
        // 22 bits: also exact in f32.
        assert_eq!(f64::from(product as f32), product);
    }
}
