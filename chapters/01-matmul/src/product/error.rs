//! What can be wrong with the matrices of a product, each as one message with the shapes in it.

/// A `Result` whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Rows and columns.
type Size = (usize, usize);

/// Shapes that do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A slice that does not hold exactly the matrix's values.
    #[error("a {}×{} matrix has {} values, but the slice holds {len}", size.0, size.1, size.0.saturating_mul(size.1))]
    Length {
        /// What was asked for.
        size: Size,
        /// Values in the slice.
        len: usize,
    },
    /// Strides that lead outside the slice.
    #[error(
        "a {}×{} matrix with a row every {} values and a column every {} reaches past the slice, which holds {len}",
        size.0, size.1, strides.0, strides.1
    )]
    Outside {
        /// What was asked for.
        size: Size,
        /// From one row to the next, and from one column to the next.
        strides: (usize, usize),
        /// Values in the slice.
        len: usize,
    },
    /// Two elements of a matrix that is written would overlap.
    #[error(
        "a {}×{} matrix with a row every {} values and a column every {} has elements that overlap, so it cannot be \
         written to",
        size.0, size.1, strides.0, strides.1
    )]
    Overlap {
        /// What was asked for.
        size: Size,
        /// From one row to the next, and from one column to the next.
        strides: (usize, usize),
    },
    /// A block that leaves its matrix.
    #[error(
        "a {}×{} block at row {}, column {} does not fit in a {}×{} matrix",
        size.0, size.1, at.0, at.1, of.0, of.1
    )]
    Block {
        /// The block's first row and column.
        at: (usize, usize),
        /// The block's.
        size: Size,
        /// The matrix's.
        of: Size,
    },
    /// A and B do not fit each other.
    #[error(
        "A is {}×{} and B is {}×{}: A·B needs as many columns in A as rows in B",
        a.0, a.1, b.0, b.1
    )]
    Inner {
        /// Of A.
        a: Size,
        /// Of B.
        b: Size,
    },
    /// C does not fit A·B.
    #[error("A·B is {}×{}, but C is {}×{}", product.0, product.1, c.0, c.1)]
    Output {
        /// Of A·B.
        product: Size,
        /// Of C.
        c: Size,
    },
    /// Instructions that this CPU does not have.
    #[error("this CPU has no {0}; leave the choice to `sgemm` and `bgemm`")]
    Unavailable(&'static str),
    /// The bias does not fit C.
    #[error("the bias has {bias} values, but C has {cols} columns")]
    Bias {
        /// Values in the bias.
        bias: usize,
        /// Columns of C.
        cols: usize,
    },
}
