//! What the products of a step read: numbers of 32 bits, or the same numbers rounded to 16. A model says nothing of it. As
//! with PyTorch's `autocast`, whoever takes the step says it, and each product asks: dense layers, convolutions and
//! attention, forward and backward. Their sums are f32, and so is all that is not a product: normalisations, softmax, loss,
//! optimizer.

use matmul::{
    MatMut, MatRef, Options, bgemm,
    narrow::{to_bf16, to_f16},
    sgemm,
};
use std::cell::Cell;

/// What products read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Operands {
    /// All 32 bits.
    #[default]
    F32,
    /// Rounded to bf16, which reaches as far as f32.
    Bf16,
    /// Rounded to f16. Derivatives are multiplied by a factor first, and divided by it afterwards: without it the small ones
    /// would be zero. It should be a power of two, which changes no other bit; it is chapter 6's loss scale.
    F16 {
        /// The factor.
        scale: f32,
    },
}

thread_local! {
    static NOW: Cell<Operands> = const { Cell::new(Operands::F32) };
}

// ANCHOR: autocast
/// Does `work`, in which products read these operands: a forward pass, and
/// the backward pass of its tape. Other threads know nothing of it.
pub fn autocast<R>(operands: Operands, work: impl FnOnce() -> R) -> R {
    /// Puts back what was before, after a panic too.
    struct Before(Operands);
    impl Drop for Before {
        fn drop(&mut self) {
            NOW.set(self.0);
        }
    }
    let _before = Before(NOW.replace(operands));
    work()
}

/// What a product that begins now reads.
pub fn operands() -> Operands {
    NOW.get()
}
// ANCHOR_END: autocast

impl Operands {
    /// Rounds numbers to what a product reads.
    pub fn round(self, values: &mut [f32]) {
        match self {
            Self::F32 => {}
            Self::Bf16 => to_bf16(values),
            Self::F16 { .. } => to_f16(values, 1.0),
        }
    }

    // ANCHOR: gradient
    /// The same for derivatives, which in f16 need the factor. What is too
    /// large for f16 becomes infinite, and stays so.
    pub fn round_gradient(self, derivatives: &mut [f32]) {
        match self {
            Self::F32 | Self::Bf16 => self.round(derivatives),
            Self::F16 { scale } => to_f16(derivatives, scale),
        }
    }
    // ANCHOR_END: gradient

    /// Makes numbers ready for [`Operands::product`], which rounds to bf16 itself while it packs them.
    pub fn operand(self, values: &mut [f32]) {
        if self != Self::Bf16 {
            self.round(values);
        }
    }

    /// The same for derivatives.
    pub fn operand_gradient(self, derivatives: &mut [f32]) {
        if self != Self::Bf16 {
            self.round_gradient(derivatives);
        }
    }

    // ANCHOR: product
    /// C = A·B of operands that are ready, with sums in f32: on a CPU with a
    /// unit for bf16 that unit multiplies, if it is the faster one.
    ///
    /// # Errors
    /// As [`sgemm`].
    pub fn product(
        self,
        c: MatMut<f32>,
        a: MatRef<f32>,
        b: MatRef<f32>,
        options: Options,
    ) -> matmul::Result<()> {
        match self {
            Self::Bf16 => bgemm(c, a, b, options),
            Self::F32 | Self::F16 { .. } => sgemm(c, a, b, options),
        }
    }
    // ANCHOR_END: product
}
