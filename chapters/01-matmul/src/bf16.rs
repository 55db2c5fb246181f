//! bf16: the upper half of an f32. The same range, 8 bits of precision instead of 24.

pub use half::bf16;

/// A number that a product can take in bf16: a bf16 itself, or an f32 that is rounded to the nearest one.
pub trait Input: Copy + Send + Sync + sealed::Sealed + 'static {
    /// Rounded to the nearest bf16, ties to even.
    fn to_bf16(self) -> bf16;

    /// The value of [`Input::to_bf16`], as an f32.
    fn rounded(self) -> f32 {
        self.to_bf16().to_f32()
    }
}

impl Input for bf16 {
    fn to_bf16(self) -> bf16 {
        self
    }
}

impl Input for f32 {
    fn to_bf16(self) -> bf16 {
        bf16::from_f32(self)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::bf16 {}
    impl Sealed for f32 {}
}
