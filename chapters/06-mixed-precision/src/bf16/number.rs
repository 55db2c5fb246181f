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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_any_length_is_rounded_as_half_does() {
        for len in [0, 1, 7, 8, 15, 16, 100, 1001] {
            let from: Vec<f32> = (0..len).map(|i| (i as f32 - 50.3).powi(3) / 7.0).collect();
            let mut to = vec![bf16::NAN; len];
            bf16::convert(&from, &mut to);
            assert_eq!(to, from.iter().map(|x| bf16::from_f32(*x)).collect::<Vec<_>>());
        }
        let mut to = [bf16::ZERO; 4];
        bf16::convert(&[f32::NAN, f32::INFINITY, f32::MAX, 1e-40], &mut to);
        assert!(to[0].is_nan() && to[1] == bf16::INFINITY && to[2] == bf16::INFINITY);
        assert_eq!(to[3], bf16::from_f32(1e-40));
    }

    #[test]
    fn an_f32_stays_where_it_is_and_a_bf16_is_a_copy() {
        let (mut values, mut kept) = (vec![1.0_f32], vec![2.0_f32]);
        f32::exchange(&mut values, &mut kept);
        assert_eq!((values[0].value(), kept[0].value()), (2.0, 1.0));
        assert_eq!(f32::operand(&values, &[]), [2.0]);
        let copy = [bf16::from_f32(3.0)];
        assert_eq!(bf16::operand(&values, &copy), copy);
    }
}
