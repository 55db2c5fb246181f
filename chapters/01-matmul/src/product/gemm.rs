//! `sgemm` and `bgemm`: a product in f32, or with inputs rounded to bf16.

use crate::{
    bf16::Input,
    level::Level,
    pairs::Pairs,
    product::{
        error::{Error, Result},
        kernel::Kernels,
        operand::{Operand, Output},
        options::{Epilogue, Options},
        pack::{Paired, Rounded},
        tiled, vectors,
        view::{MatMut, MatRef},
    },
    tiles,
};
use lab::{machine, peak, record::Limit};

/// Fails unless C can hold A·B.
pub(crate) fn check_shapes<A, B>(c: &MatMut<f32>, a: &MatRef<A>, b: &MatRef<B>) -> Result<()> {
    if a.cols() != b.rows() {
        return Err(Error::Inner { a: (a.rows(), a.cols()), b: (b.rows(), b.cols()) });
    }
    let (product, c) = ((a.rows(), b.cols()), (c.rows(), c.cols()));
    if product != c {
        return Err(Error::Output { product, c });
    }
    Ok(())
}

/// Fails unless C can hold A·B and the bias fits.
fn check<A, B>(c: &MatMut<f32>, a: &MatRef<A>, b: &MatRef<B>, epilogue: Epilogue) -> Result<()> {
    check_shapes(c, a, b)?;
    match epilogue {
        Epilogue::Bias(bias) | Epilogue::BiasRelu(bias) if bias.len() != c.cols() => {
            Err(Error::Bias { bias: bias.len(), cols: c.cols() })
        }
        _ => Ok(()),
    }
}

/// What multiplies values that are rounded to bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The f32 kernels, with inputs that are rounded while they are packed.
    Vectors(Level),
    /// Vectors that multiply pairs of bf16 (AVX512-BF16).
    Pairs,
    /// AMX tiles.
    Tiles,
    /// A model of AVX512-BF16 in plain Rust: for tests, and very slow.
    PairsModel,
    /// A model of AMX tiles in plain Rust: for tests, and very slow.
    Model,
}

impl Unit {
    /// The fastest on this CPU: vectors that multiply pairs of bf16 are left out where they
    /// [do not pay](machine::pairs_pay).
    pub fn best() -> Self {
        Self::of_bf16()
            .filter(|&unit| unit != Self::Pairs || machine::pairs_pay())
            .unwrap_or_else(|| Self::Vectors(Level::best()))
    }

    /// What multiplies bf16 numbers as they are, if this CPU has such a unit: tiles before vectors.
    pub fn of_bf16() -> Option<Self> {
        [Self::Tiles, Self::Pairs].into_iter().find(|unit| unit.available())
    }

    /// What `threads` cores reach on it at most, measured once in a process.
    pub fn peak(self, threads: usize) -> Limit {
        let of_bf16 = match self {
            Self::Tiles => peak::amx_bf16(threads),
            Self::Pairs => peak::pairs_bf16(threads),
            _ => None,
        };
        of_bf16.unwrap_or_else(|| peak::fma_f32(threads))
    }

    /// Why a CPU does not have it, as a clause.
    pub fn missing(self) -> &'static str {
        match self {
            Self::Tiles => machine::why_no_amx().unwrap_or("this CPU has no AMX"),
            Self::Pairs => "this CPU has no AVX512-BF16",
            Self::Vectors(Level::Avx512) => "this CPU has no AVX-512",
            Self::Vectors(Level::Avx2) => "this CPU has no AVX2",
            _ => "it runs on every CPU",
        }
    }

    /// Whether this CPU has it.
    pub fn available(self) -> bool {
        match self {
            Self::Vectors(level) => level.available(),
            Self::Pairs => Pairs::Hardware.available(),
            Self::Tiles => tiles::available(),
            Self::PairsModel | Self::Model => true,
        }
    }

    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vectors(level) => level.name(),
            Self::Pairs => "avx512bf16",
            Self::Tiles => "amx",
            Self::PairsModel => "avx512bf16 model",
            Self::Model => "amx model",
        }
    }
}

/// C = A·B (or C + A·B) in f32, with the epilogue at the end. A is m×k, B is k×n, C is m×n; any of them may be
/// transposed or strided. With k = 0, A·B is zero.
///
/// # Errors
/// [`Error::Inner`], [`Error::Output`] or [`Error::Bias`] when the shapes do not fit.
///
/// ```
/// use matmul::{Epilogue, MatMut, MatRef, Options, sgemm};
/// let (a, b) = ([1.0, 2.0], [3.0, 4.0, -5.0, -6.0]);
/// let mut c = [f32::NAN; 2];
/// let options = Options { epilogue: Epilogue::BiasRelu(&[0.5, 8.5]), ..Options::default() };
/// sgemm(MatMut::new(&mut c, 1, 2)?, MatRef::new(&a, 1, 2)?, MatRef::new(&b, 2, 2)?, options)?;
/// assert_eq!(c, [0.0, 0.5]); // (3 - 10) + 0.5, and (4 - 12) + 8.5
/// # Ok::<(), matmul::Error>(())
/// ```
pub fn sgemm(c: MatMut<f32>, a: MatRef<f32>, b: MatRef<f32>, options: Options) -> Result<()> {
    sgemm_on(Level::best(), c, a, b, options)
}

/// [`sgemm`] with the kernels of a given level.
///
/// # Errors
/// As [`sgemm`]; [`Error::Unavailable`] where this CPU does not have the level.
pub fn sgemm_on(
    level: Level,
    c: MatMut<f32>,
    a: MatRef<f32>,
    b: MatRef<f32>,
    options: Options,
) -> Result<()> {
    if !level.available() {
        return Err(Error::Unavailable(level.name()));
    }
    check(&c, &a, &b, options.epilogue)?;
    let (c, threads) = (Output::new(c, &options), options.threads.count());
    vectors::product(Kernels::of(level), c, Operand::of(a), Operand::of(b), threads);
    Ok(())
}

/// C = A·B (or C + A·B) with the inputs rounded to bf16 and the sums in f32. The same options as [`sgemm`].
///
/// On a CPU with AMX the tiles do it, on one with AVX512-BF16 its vectors, if they are faster than those of f32; elsewhere
/// the rounded inputs go through the f32 kernels. Both units take denormal numbers for zero and add the terms in another
/// order, so the last bits differ.
///
/// # Errors
/// [`Error::Inner`], [`Error::Output`] or [`Error::Bias`] when the shapes do not fit.
pub fn bgemm<A: Input, B: Input>(
    c: MatMut<f32>,
    a: MatRef<A>,
    b: MatRef<B>,
    options: Options,
) -> Result<()> {
    bgemm_on(Unit::best(), c, a, b, options)
}

/// [`bgemm`] on a given unit.
///
/// # Errors
/// As [`bgemm`]; [`Error::Unavailable`] where this CPU does not have the unit.
pub fn bgemm_on<A: Input, B: Input>(
    unit: Unit,
    c: MatMut<f32>,
    a: MatRef<A>,
    b: MatRef<B>,
    options: Options,
) -> Result<()> {
    if !unit.available() {
        return Err(Error::Unavailable(unit.name()));
    }
    check(&c, &a, &b, options.epilogue)?;
    let (c, threads) = (Output::new(c, &options), options.threads.count());
    let (a, b) = (Operand::of(a), Operand::of(b));
    match unit {
        Unit::Vectors(level) => {
            let (a, b) = (a.cast::<Rounded<A>>(), b.cast::<Rounded<B>>());
            vectors::product(Kernels::of(level), c, a, b, threads);
        }
        Unit::Pairs | Unit::PairsModel => {
            let on = if unit == Unit::Pairs { Pairs::Hardware } else { Pairs::Model };
            let (a, b) = (a.cast::<Paired<A>>(), b.cast::<Paired<B>>());
            vectors::product(Kernels::of_pairs(on), c, a, b, threads);
        }
        _ if a.rows == 0 || b.cols == 0 => {}
        Unit::Tiles => tiled::product::<tiles::Hardware, A, B>(a, b, c, threads),
        Unit::Model => tiled::product::<tiles::Model, A, B>(a, b, c, threads),
    }
    Ok(())
}
