//! What can be wrong with the matrices of a product, each as one message with the shapes in it.

/// A `Result` whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Shapes that do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A slice that does not hold exactly the matrix's values.
    #[error("a {rows}×{cols} matrix has {} values, but the slice holds {len}", rows.saturating_mul(*cols))]
    Length {
        /// Rows that were asked for.
        rows: usize,
        /// Columns that were asked for.
        cols: usize,
        /// Values in the slice.
        len: usize,
    },
    /// Strides that lead outside the slice.
    #[error(
        "a {rows}×{cols} matrix with a row every {row_stride} values and a column every {col_stride} \
         reaches past the slice, which holds {len}"
    )]
    Outside {
        /// Rows that were asked for.
        rows: usize,
        /// Columns that were asked for.
        cols: usize,
        /// From one row to the next.
        row_stride: usize,
        /// From one column to the next.
        col_stride: usize,
        /// Values in the slice.
        len: usize,
    },
    /// Two elements of a matrix that is written would overlap.
    #[error(
        "a {rows}×{cols} matrix with a row every {row_stride} values and a column every {col_stride} has \
         elements that overlap, so it cannot be written to"
    )]
    Overlap {
        /// Rows that were asked for.
        rows: usize,
        /// Columns that were asked for.
        cols: usize,
        /// From one row to the next.
        row_stride: usize,
        /// From one column to the next.
        col_stride: usize,
    },
    /// A block that leaves its matrix.
    #[error(
        "a {rows}×{cols} block at row {row}, column {col} does not fit in a {of_rows}×{of_cols} matrix"
    )]
    Block {
        /// The block's first row.
        row: usize,
        /// The block's first column.
        col: usize,
        /// The block's rows.
        rows: usize,
        /// The block's columns.
        cols: usize,
        /// The matrix's rows.
        of_rows: usize,
        /// The matrix's columns.
        of_cols: usize,
    },
    /// A and B do not fit each other.
    #[error(
        "A is {a_rows}×{a_cols} and B is {b_rows}×{b_cols}: A·B needs as many columns in A as rows in B"
    )]
    Inner {
        /// Rows of A.
        a_rows: usize,
        /// Columns of A.
        a_cols: usize,
        /// Rows of B.
        b_rows: usize,
        /// Columns of B.
        b_cols: usize,
    },
    /// C does not fit A·B.
    #[error("A·B is {rows}×{cols}, but C is {c_rows}×{c_cols}")]
    Output {
        /// Rows of A·B.
        rows: usize,
        /// Columns of A·B.
        cols: usize,
        /// Rows of C.
        c_rows: usize,
        /// Columns of C.
        c_cols: usize,
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
