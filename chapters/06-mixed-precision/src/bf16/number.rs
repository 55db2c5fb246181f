//! What a product of the network reads: an f32, or a bf16 that was made from one.

#![allow(clippy::inline_always, reason = "what a vector loop calls is compiled for its CPU")]

use half::bf16;
use lab::vectors::wide;
use matmul::{Input, MatMut, MatRef, Options, Result, Unit, bgemm_on, sgemm};

/// The numbers in which a network keeps what its products read.
pub trait Number: Input + Default {
    /// What multiplies them.
    type Products: Copy + Send;

    /// Whether they are copies of f32 values that lie elsewhere. If not, they are those values.
    const COPIED: bool;

    /// The number as an f32, exactly.
    fn value(self) -> f32;

    /// The nearest number to `x`, ties to even.
    fn of(x: f32) -> Self;

    /// Writes the nearest numbers to `from`.
    #[inline]
    fn convert(from: &[f32], to: &mut [Self]) {
        wide!(|| to.iter_mut().zip(from).for_each(|(to, from)| *to = Self::of(*from)));
    }

    /// What a product reads where `master` are the f32 values and `copy` their copies, if they are copied.
    fn operand<'a>(master: &'a [f32], copy: &'a [Self]) -> &'a [Self];

    /// Exchanges f32 values that need no copy with those that are kept.
    fn exchange(values: &mut Vec<f32>, kept: &mut Vec<Self>);

    /// C = A·B in f32 sums, with the epilogue at the end.
    ///
    /// # Errors
    /// As [`sgemm`] and [`bgemm_on`].
    fn product(
        by: Self::Products,
        c: MatMut<f32>,
        a: MatRef<Self>,
        b: MatRef<Self>,
        options: Options,
    ) -> Result<()>;
}

impl Number for f32 {
    /// The unit that takes them rounded to bf16, while it packs them; none for a product of all their digits.
    type Products = Option<Unit>;

    const COPIED: bool = false;

    #[inline(always)]
    fn value(self) -> f32 {
        self
    }

    #[inline(always)]
    fn of(x: f32) -> Self {
        x
    }

    fn operand<'a>(master: &'a [f32], _: &'a [Self]) -> &'a [Self] {
        master
    }

    fn exchange(values: &mut Vec<f32>, kept: &mut Vec<Self>) {
        std::mem::swap(values, kept);
    }

    fn product(
        by: Self::Products,
        c: MatMut<f32>,
        a: MatRef<Self>,
        b: MatRef<Self>,
        options: Options,
    ) -> Result<()> {
        match by {
            Some(unit) => bgemm_on(unit, c, a, b, options),
            None => sgemm(c, a, b, options),
        }
    }
}

impl Number for bf16 {
    type Products = Unit;

    const COPIED: bool = true;

    #[inline(always)]
    fn value(self) -> f32 {
        self.rounded()
    }

    #[inline(always)]
    fn of(x: f32) -> Self {
        Self::from_bits(x.bits())
    }

    fn operand<'a>(_: &'a [f32], copy: &'a [Self]) -> &'a [Self] {
        copy
    }

    fn exchange(_: &mut Vec<f32>, _: &mut Vec<Self>) {}

    fn product(
        by: Self::Products,
        c: MatMut<f32>,
        a: MatRef<Self>,
        b: MatRef<Self>,
        options: Options,
    ) -> Result<()> {
        bgemm_on(by, c, a, b, options)
    }
}
