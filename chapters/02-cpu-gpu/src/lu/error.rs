//! Why a matrix has no decomposition, or a system no solution: each as a message.

/// A `Result` whose error is [`LuError`].
pub type Result<T, E = LuError> = std::result::Result<T, E>;

/// Why a matrix has no decomposition, or a system no solution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LuError {
    /// A slice that does not hold the matrix.
    #[error("a {rows}×{cols} matrix has {} values, but the slice holds {len}", rows.saturating_mul(*cols))]
    Length {
        /// Rows that were asked for.
        rows: usize,
        /// Columns that were asked for.
        cols: usize,
        /// Values in the slice.
        len: usize,
    },
    /// No row has anything left in this column (counted from 0) to divide by.
    #[error(
        "the matrix is singular: in column {column} (counted from 0) nothing but zeros is left to divide by, \
         because that column is a sum of multiples of the columns before it"
    )]
    Singular {
        /// The column.
        column: usize,
    },
    /// A column (counted from 0) holds NaN or an infinity.
    #[error(
        "column {column} (counted from 0) has come to hold a number that is not finite: the matrix contains NaN or \
         infinity, or numbers so large that their products overflow; check the input, or scale it down"
    )]
    NotFinite {
        /// The column.
        column: usize,
    },
    /// Only a square system has one solution.
    #[error(
        "a system of equations needs as many equations as unknowns, but the matrix is {rows}×{cols}"
    )]
    NotSquare {
        /// The matrix's rows.
        rows: usize,
        /// The matrix's columns.
        cols: usize,
    },
}

impl From<LuError> for crate::Error {
    fn from(fault: LuError) -> Self {
        Self::message(fault.to_string())
    }
}

/// Fails unless the slice holds rows×cols values.
pub(super) fn check_length(len: usize, rows: usize, cols: usize) -> Result<()> {
    if rows.checked_mul(cols) == Some(len) {
        Ok(())
    } else {
        Err(LuError::Length { rows, cols, len })
    }
}
