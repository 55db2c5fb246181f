//! The three lengths of a product, and what follows from them.

/// The lengths of C = A·B: A is m×k, B is k×n, C is m×n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows of A and of C.
    pub m: usize,
    /// Columns of A and rows of B: the length of each sum.
    pub k: usize,
    /// Columns of B and of C.
    pub n: usize,
}

impl Shape {
    /// A is m×k and B is k×n.
    pub const fn new(m: usize, k: usize, n: usize) -> Self {
        Self { m, k, n }
    }

    /// All three matrices are n×n.
    pub const fn square(n: usize) -> Self {
        Self::new(n, n, n)
    }

    /// Operations of one product: 2mnk, a multiplication and an addition for each term of each sum.
    ///
    /// ```
    /// assert_eq!(matmul::Shape::new(2, 3, 5).operations(), 60.0);
    /// ```
    pub fn operations(self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }

    /// Bytes of the three matrices in f32: the least that a product has to move.
    ///
    /// ```
    /// assert_eq!(matmul::Shape::new(2, 3, 5).bytes(), 4.0 * (6.0 + 15.0 + 10.0));
    /// ```
    pub fn bytes(self) -> f64 {
        let (m, k, n) = (self.m as f64, self.k as f64, self.n as f64);
        4.0 * (m * k + k * n + m * n)
    }

    /// Panics unless the slices have the shape's lengths: the rungs take plain slices, so a wrong length is a
    /// bug in the program.
    pub(crate) fn check(self, c: &[f32], a: &[f32], b: &[f32]) {
        assert_eq!(a.len(), self.m * self.k, "A must be {}×{}", self.m, self.k);
        assert_eq!(b.len(), self.k * self.n, "B must be {}×{}", self.k, self.n);
        assert_eq!(c.len(), self.m * self.n, "C must be {}×{}", self.m, self.n);
    }
}
