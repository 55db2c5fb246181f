//! Which vector instructions this CPU has.

lab::named! {
    /// The vector instructions that a product uses.
    pub enum Level("level") {
        /// Whatever the compiler makes of plain arrays.
        Portable = "portable",
        /// AVX2 and FMA: vectors of 8.
        Avx2 = "avx2",
        /// AVX-512F: vectors of 16.
        Avx512 = "avx512",
    }
}

impl Level {
    /// Whether this CPU has it.
    pub fn available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => is_x86_feature_detected!("avx512f") && has_avx2(),
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// The widest that this CPU has.
    pub fn best() -> Self {
        let found = Self::ALL.into_iter().rfind(|level| level.available());
        found.unwrap_or(Self::Portable)
    }

    /// Values in a register.
    pub(crate) fn lanes(self) -> usize {
        match self {
            Self::Portable => 4,
            Self::Avx2 => 8,
            Self::Avx512 => 16,
        }
    }

    /// Rows and columns of the largest tile of C: two registers side by side, and as many rows as leave registers for a
    /// row of B and a value of A. AVX2 has 16 registers (12 hold sums), AVX-512 has 32 (28 hold sums).
    pub fn tile(self) -> (usize, usize) {
        let rows = match self {
            Self::Portable => 4,
            Self::Avx2 => 6,
            Self::Avx512 => 14,
        };
        (rows, 2 * self.lanes())
    }
}

/// Whether this CPU has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}
