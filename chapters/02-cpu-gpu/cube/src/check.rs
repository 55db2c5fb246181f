//! Matrices that are the same on every machine, and how far a product is from sums in f64.

/// m, n and k: A is m×k, B is k×n, C is m×n, all of them row-major.
pub type Shape = [usize; 3];

/// Numbers in -1..1, drawn with SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
pub struct Random(pub u64);

impl Random {
    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// So many numbers.
    pub fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
    }

    /// A and B.
    pub fn matrices(&mut self, [m, n, k]: Shape) -> [Vec<f32>; 2] {
        [self.numbers(m * k), self.numbers(k * n)]
    }
}

/// How many elements of `c` are further from the sum in f64 than k roundings of
/// f32 can bring them. NaN is wrong: no comparison with it holds.
pub fn wrong(c: &[f32], a: &[f32], b: &[f32], [m, n, k]: Shape) -> usize {
    assert_eq!(c.len(), m * n);
    let is_right = |at: &usize| {
        let (row, column) = (at / n, at % n);
        let (mut sum, mut size) = (0.0, 0.0);
        for p in 0..k {
            let term = f64::from(a[row * k + p]) * f64::from(b[p * n + column]);
            sum += term;
            size += term.abs();
        }
        (f64::from(c[*at]) - sum).abs() <= k as f64 * f64::from(f32::EPSILON) * size
    };
    (0..m * n).filter(|at| !is_right(at)).count()
}
