//! Loops in the vectors of the CPU that runs them.
//!
//! A program is compiled for every x86-64 CPU, so the compiler takes vectors of four `f32`. [`wide!`](crate::wide) compiles what it is given
//! two more times, for vectors of eight (AVX2) and of sixteen (AVX-512), and chooses when the program runs. No multiplication
//! is fused with an addition, so the results have the same bits on every CPU.

/// Runs a closure, compiled for the widest vectors that this CPU has. What it calls must be inlined into it.
///
/// A macro and no function: the closure stands three times in the program, once for each width, so that each copy has one
/// caller and is inlined there. A copy with three callers would stay a function of its own, for vectors of four.
///
/// ```
/// let mut x = [1.0_f32; 100];
/// lab::wide!(|| x.iter_mut().for_each(|x| *x *= 2.0));
/// assert_eq!(x, [2.0; 100]);
/// ```
#[macro_export]
macro_rules! wide {
    ($work:expr) => {{
        use $crate::vectors::Width;
        match Width::best() {
            Width::Avx512 => {
                let work = $work;
                // SAFETY: this CPU has AVX-512 F, BW and VL.
                unsafe { $crate::vectors::on_avx512(work) }
            }
            Width::Avx2 => {
                let work = $work;
                // SAFETY: this CPU has AVX2.
                unsafe { $crate::vectors::on_avx2(work) }
            }
            Width::Any => ($work)(),
        }
    }};
}

pub use crate::wide;

/// The vectors that [`wide!`] chooses from, and [`crate::peak`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// AVX-512 F, BW and VL.
    Avx512,
    /// AVX2 and FMA.
    Avx2,
    /// What every CPU of this kind has.
    Any,
}

impl Width {
    /// The widest of this CPU.
    #[inline]
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Any
    }
}

/// Runs `work` on AVX-512.
///
/// # Safety
/// The CPU is of [`Width::Avx512`].
#[doc(hidden)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
pub unsafe fn on_avx512<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Runs `work` on AVX2.
///
/// # Safety
/// The CPU is of [`Width::Avx2`] or wider.
#[doc(hidden)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
pub unsafe fn on_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// e to the power of `x`, without a branch or a call, so that a loop of it becomes vectors. The relative error is below
/// 2·10⁻⁷; below -87.3, where a normal `f32` ends, it is 0, and above 88.3 it stays at its largest value.
///
/// The method is that of Cephes (Moshier 1989, `expf`): x = n·ln 2 + r, a polynomial of r, and n in the exponent.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    const MAGIC: f32 = 12_582_912.0; // 1.5·2²³: added to a number it leaves the nearest integer in the last bits
    let near = x.clamp(-87.3, 88.3);
    let rounded = near * std::f32::consts::LOG2_E + MAGIC;
    let n = rounded - MAGIC;
    let r = near - n * (355.0 / 512.0); // ln 2 in two parts; this one has nine bits: the product is exact
    let r = r + n * 2.121_944_4e-4;
    let mut p = 1.987_569_2e-4;
    for factor in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p * r + factor;
    }
    let power = f32::from_bits((rounded.to_bits() << 23).wrapping_add(1.0_f32.to_bits()));
    let value = (p * r * r + r + 1.0) * power;
    if x < -87.3 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_has_seven_digits_everywhere() {
        let mut worst: f64 = 0.0;
        for step in -8_730..=8_830 {
            let x = step as f32 / 100.0;
            let wanted = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) - wanted).abs() / wanted);
        }
        assert!(worst < 2e-7, "{worst:e}");
        for (x, wanted) in [(0.0, 1.0), (-0.0, 1.0), (-88.0, 0.0), (f32::NEG_INFINITY, 0.0)] {
            assert_eq!(exp(x).to_bits(), f32::to_bits(wanted), "{x}");
        }
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(1e30) > 2e38 && exp(f32::INFINITY).is_finite());
    }

    #[test]
    fn wide_loops_have_the_bits_of_narrow_ones() {
        for len in [0, 1, 7, 16, 33, 1000] {
            let x: Vec<f32> = (0..len).map(|i| i as f32 * 0.37 - 90.0).collect();
            let narrow: Vec<u32> = x.iter().map(|x| exp(*x).to_bits()).collect();
            let mut out = vec![0.0_f32; len];
            let found = wide!(|| {
                out.iter_mut().zip(&x).for_each(|(out, x)| *out = exp(*x));
                out.len()
            });
            assert_eq!(found, len);
            assert_eq!(out.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), narrow);
        }
    }
}
