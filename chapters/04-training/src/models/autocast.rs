//! What the products of a step read: numbers of 32 bits, or the same numbers rounded to 16. A model says nothing of it. As
//! with PyTorch's `autocast`, whoever takes the step says it, and each product asks: dense layers, convolutions and
//! attention, forward and backward. Their sums are f32, and so is all that is not a product: normalisations, softmax, loss,
//! optimizer.

#![allow(clippy::inline_always, reason = "what a vector loop calls is compiled for its CPU")]

use half::{f16, slice::HalfFloatSliceExt as _};
use lab::vectors::wide;
use matmul::{Input as _, MatMut, MatRef, Options, bgemm, sgemm};
use std::{borrow::Cow, cell::Cell};

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
            Self::Bf16 => wide!(|| values.iter_mut().for_each(|x| *x = to_bf16(*x))),
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

    /// [`Operands::operand`] of numbers that stay as they are elsewhere.
    pub fn operand_of(self, values: &[f32]) -> Cow<'_, [f32]> {
        if !matches!(self, Self::F16 { .. }) {
            return Cow::Borrowed(values);
        }
        let mut own = values.to_vec();
        self.operand(&mut own);
        Cow::Owned(own)
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

/// The nearest bf16, ties to even.
#[inline(always)]
fn to_bf16(x: f32) -> f32 {
    f32::from_bits(u32::from(x.bits()) << 16)
}

/// The nearest f16 of each number times `scale`, ties to even, divided by it again.
fn to_f16(values: &mut [f32], scale: f32) {
    let mut room = [f16::ZERO; 1024];
    for values in values.chunks_mut(room.len()) {
        let room = &mut room[..values.len()];
        wide!(|| values.iter_mut().for_each(|x| *x *= scale));
        room.convert_from_f32_slice(values);
        room.convert_to_f32_slice(values);
        let back = scale.recip();
        wide!(|| values.iter_mut().for_each(|x| *x *= back));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;

    const HALF: Operands = Operands::F16 { scale: 1024.0 };

    #[test]
    fn numbers_become_the_nearest_of_their_format() {
        let random = lab::random::numbers(3000, 1);
        let special = [0.0, -0.0, 1e-9, 3e-8, 65519.0, 65520.0, f32::INFINITY, f32::MIN_POSITIVE];
        for x in random.into_iter().chain(special) {
            let round = |read: Operands| {
                let (mut one, mut derivative) = ([x], [x]);
                read.round(&mut one);
                read.round_gradient(&mut derivative);
                [one[0].to_bits(), derivative[0].to_bits()]
            };
            assert_eq!(round(Operands::F32), [x.to_bits(); 2]);
            assert_eq!(round(Operands::Bf16), [bf16::from_f32(x).to_f32().to_bits(); 2], "{x}");
            let scaled = f16::from_f32(x * 1024.0).to_f32() / 1024.0;
            let wanted = [f16::from_f32(x).to_f32().to_bits(), scaled.to_bits()];
            assert_eq!(round(HALF), wanted, "{x}");
        }
        for read in [Operands::Bf16, HALF] {
            let mut nan = [f32::NAN];
            read.round(&mut nan);
            assert!(nan[0].is_nan());
        }
    }

    #[test]
    fn the_factor_saves_what_is_small_and_shows_what_is_large() {
        let mut small = [1e-8, 100.0];
        HALF.round_gradient(&mut small);
        assert!((small[0] - 1e-8).abs() < 1e-10 && small[1].is_infinite(), "{small:?}");
        HALF.round(&mut small[..1]);
        assert_eq!(small[0].to_bits(), 0.0_f32.to_bits());
    }

    #[test]
    fn a_product_is_that_of_the_rounded_numbers() -> matmul::Result<()> {
        let (m, k, n) = (5, 37, 9);
        let (a, b) = (lab::random::numbers(m * k, 2), lab::random::numbers(k * n, 3));
        for read in [Operands::F32, Operands::Bf16, HALF] {
            let (x, y) = (read.operand_of(&a), read.operand_of(&b));
            let mut c = vec![0.0; m * n];
            let (x, y) = (MatRef::new(&x, m, k)?, MatRef::new(&y, k, n)?);
            read.product(MatMut::new(&mut c, m, n)?, x, y, Options::default())?;
            let (mut a, mut b) = (a.clone(), b.clone());
            read.round(&mut a);
            read.round(&mut b);
            for (at, c) in c.iter().enumerate() {
                let term = |i: usize| f64::from(a[at / n * k + i]) * f64::from(b[i * n + at % n]);
                let exact: f64 = (0..k).map(term).sum();
                assert!((f64::from(*c) - exact).abs() < 1e-4, "{read:?}: {c} is not {exact}");
            }
        }
        Ok(())
    }

    #[test]
    fn it_ends_with_its_work_and_after_a_panic() {
        let inner = autocast(HALF, || {
            let inner = autocast(Operands::Bf16, operands);
            assert_eq!(operands(), HALF);
            assert_eq!(std::thread::spawn(operands).join().unwrap(), Operands::F32);
            inner
        });
        assert_eq!((inner, operands()), (Operands::Bf16, Operands::F32));
        let panicked = std::panic::catch_unwind(|| autocast(HALF, || panic!("on purpose")));
        assert!(panicked.is_err());
        assert_eq!(operands(), Operands::F32);
    }
}
