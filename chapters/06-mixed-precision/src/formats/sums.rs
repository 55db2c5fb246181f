//! Sums in a format: one after the other, in pairs, with Kahan's correction, and with rounding by dice.
//!
//! Each operation is done in f64 and then rounded to the format. For the sum of two numbers of a format with up to 24
//! digits this gives the very result of a machine that has the format (Figueroa 1995: 53 ≥ 2·24 + 2).

use super::{Format, Overflow, Rounding};
use backprop::random::SplitMix64;

/// A format to compute in, and how it rounds.
#[derive(Clone, Debug)]
pub struct Arithmetic {
    format: Format,
    dice: Option<SplitMix64>,
}

impl Arithmetic {
    /// Rounds to the nearest number, ties to even.
    pub const fn nearest(format: Format) -> Self {
        Self { format, dice: None }
    }

    /// Rounds by dice that start with `seed`: [`Rounding::Stochastic`].
    pub const fn stochastic(format: Format, seed: u64) -> Self {
        Self { format, dice: Some(SplitMix64::new(seed)) }
    }

    /// `x` in the format; infinity (or NaN) where it is too large.
    pub fn round(&mut self, x: f64) -> f64 {
        let rounding =
            self.dice.as_mut().map_or(Rounding::Nearest, |d| Rounding::Stochastic(d.next()));
        self.format.decode(self.format.encode(x, rounding, Overflow::Special))
    }

    /// The sum from the first to the last.
    pub fn running(&mut self, terms: impl IntoIterator<Item = f64>) -> f64 {
        let mut sum = 0.0;
        for term in terms {
            sum = self.round(sum + term);
        }
        sum
    }

    // ANCHOR: pairwise
    /// The sum of the first half plus the sum of the second half, each in the
    /// same way.
    pub fn pairwise(&mut self, terms: &[f64]) -> f64 {
        match terms {
            [] => 0.0,
            &[one] => self.round(one),
            _ => {
                let (first, second) = terms.split_at(terms.len() / 2);
                let sum = self.pairwise(first) + self.pairwise(second);
                self.round(sum)
            }
        }
    }
    // ANCHOR_END: pairwise

    /// The sum from the first to the last with Kahan's correction: [`Kahan`].
    pub fn kahan(&mut self, terms: impl IntoIterator<Item = f64>) -> f64 {
        let mut kahan = Kahan::default();
        for term in terms {
            kahan.add(self, term);
        }
        kahan.sum
    }
}

/// A running sum, and what its roundings have lost so far (Kahan 1965).
#[derive(Clone, Copy, Debug, Default)]
pub struct Kahan {
    /// The sum.
    pub sum: f64,
    /// How much of the terms is not yet in the sum, negative.
    lost: f64,
}

impl Kahan {
    // ANCHOR: kahan
    /// Adds `term`. Each operation rounds to the format.
    pub fn add(&mut self, format: &mut Arithmetic, term: f64) {
        let term = format.round(term - self.lost);
        let sum = format.round(self.sum + term);
        // What the sum has grown by, less what it should have grown by.
        let grown = format.round(sum - self.sum);
        self.lost = format.round(grown - term);
        self.sum = sum;
    }
    // ANCHOR_END: kahan
}

// ANCHOR: stall
/// Where a running sum of terms `term` stops growing: the first power of two
/// at which half of the gap to the next number is no smaller than the term.
/// Infinity, if the format's numbers end before.
pub fn stall(format: Format, term: f64) -> f64 {
    // Above it a gap is 2 * term or more.
    let gap = 2f64.powf((2.0 * term).log2().ceil());
    let sum = gap / format.epsilon();
    if sum > format.max() { f64::INFINITY } else { sum }
}
// ANCHOR_END: stall

// ANCHOR: kahan_stall
/// Where a sum with Kahan's correction stops growing: what is lost is a running
/// sum itself, and must not stagnate before it is half of a gap of the sum.
pub fn kahan_stall(format: Format, term: f64) -> f64 {
    stall(format, stall(format, term))
}
// ANCHOR_END: kahan_stall

/// The exact products of two rows, from the first to the last: what a matrix unit adds up. Two numbers of up to 26 bits
/// have a product that is exact in f64.
pub fn products<'a>(x: &'a [f64], y: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    x.iter().zip(y).map(|(x, y)| x * y)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "what is compared are numbers of a format, to the bit")]
mod tests {
    use super::*;

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
}
