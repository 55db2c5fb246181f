//! The instruction of AVX512-BF16, `vdpbf16ps`: in each lane it adds two products of bf16 to a sum in f32. [`Pairs`] says
//! who carries it out: the CPU, or a model in plain Rust that does what Intel's manual says, so that packing, edges and
//! sums are tested on any machine.

#[cfg(target_arch = "x86_64")]
pub(crate) mod hardware;
pub(crate) mod model;

#[cfg(target_arch = "x86_64")]
pub use hardware::Hardware;
pub use model::Model;

use crate::{bf16::Input, level::Level};
use lab::machine;

/// Who multiplies pairs of bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// `vdpbf16ps`, in vectors of 16 pairs.
    Hardware,
    /// A model of it in plain Rust: for tests, and very slow.
    Model,
}

impl Pairs {
    /// Whether this CPU, and the system on it, can run it.
    pub fn available(self) -> bool {
        match self {
            Self::Model => true,
            Self::Hardware => Level::Avx512.available() && machine::avx512_bf16(),
        }
    }
}

/// A word: two terms of a row of A or of a column of B, the first one in the lower half. The kernels move words as if
/// they were f32 and compute nothing with them but this instruction.
#[inline(always)]
pub fn word(first: impl Input, second: impl Input) -> f32 {
    f32::from_bits(u32::from(first.bits()) | u32::from(second.bits()) << 16)
}
