//! Random numbers that are functions of a seed: the same on every machine, and number `i` can be had
//! without the numbers before it, so that several threads can draw from one row.

/// `SplitMix64` (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", figure 14).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

/// 2⁶⁴ over the golden ratio: from one state to the next.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Turns neighbouring states into unrelated numbers.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Number `index` of the row that starts with `key`: what [`SplitMix64::next`] gives after `index` others.
pub const fn at(key: u64, index: u64) -> u64 {
    mix(key.wrapping_add(index.wrapping_add(1).wrapping_mul(STEP)))
}

/// A key from several numbers (a seed, an epoch, a step): another row for each combination.
pub fn key(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |key, part| at(key ^ part.wrapping_mul(0xd1b5_4a32_d192_ed03), 0))
}

/// `len` numbers from −1 to 1, 1 excluded: operands for a measurement or a check.
pub fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut random = SplitMix64::new(seed);
    (0..len).map(|_| (random.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0).collect()
}

impl SplitMix64 {
    /// The row that starts with `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "the row never ends")]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `limit`: the high half of a 128-bit product, whose bias is below 2⁻³² for limits below
    /// 2³².
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    /// A number from 0 up to, not including, 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from the normal distribution with mean 0 and deviation 1 (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// So many numbers from the normal distribution with mean 0 and this deviation.
    pub fn normals(&mut self, len: usize, deviation: f64) -> Vec<f32> {
        (0..len).map(|_| (deviation * self.normal()) as f32).collect()
    }

    /// The numbers below `count` in some order (Fisher and Yates' shuffle).
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_published_generator() {
        // The first numbers from seed 1234567, as in the test of the Java and C reference versions.
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn any_number_of_the_row_can_be_had_at_once() {
        let mut random = SplitMix64::new(99);
        for index in 0..100 {
            assert_eq!(random.next(), at(99, index));
        }
    }

    #[test]
    fn keys_differ_with_each_part_and_their_order() {
        let keys = [key(&[1, 2]), key(&[2, 1]), key(&[1, 2, 0]), key(&[1, 3]), key(&[])];
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn normal_numbers_have_mean_0_and_deviation_1() {
        let mut random = SplitMix64::new(5);
        let numbers: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let square = numbers.iter().map(|x| x * x).sum::<f64>() / 1e5;
        let fourth = numbers.iter().map(|x| x.powi(4)).sum::<f64>() / 1e5;
        // Their deviations are 0.003, 0.0045 and 0.03.
        assert!(mean.abs() < 0.015 && (square - 1.0).abs() < 0.02 && (fourth - 3.0).abs() < 0.15);
    }

    #[test]
    fn units_and_limits_are_kept() {
        let mut random = SplitMix64::new(2);
        assert!((0..1000).map(|_| random.unit()).all(|x| (0.0..1.0).contains(&x)));
        let mut seen = [0; 3];
        (0..3000).for_each(|_| seen[random.below(3)] += 1);
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
    }

    #[test]
    fn numbers_are_spread_over_their_range() {
        let numbers = numbers(10_000, 1);
        assert!(numbers.iter().all(|x| (-1.0..1.0).contains(x)));
        let mean = numbers.iter().sum::<f32>() / 10_000.0;
        assert!(mean.abs() < 0.03, "{mean}");
        assert!(numbers.iter().any(|x| *x < -0.9) && numbers.iter().any(|x| *x > 0.9));
    }

    #[test]
    fn an_order_has_each_number_once() {
        for n in [0, 1, 2, 1000] {
            let mut order = SplitMix64::new(7).order(n);
            order.sort_unstable();
            assert_eq!(order, (0..n).collect::<Vec<_>>());
        }
    }
}
