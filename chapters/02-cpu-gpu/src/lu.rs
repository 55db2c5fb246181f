//! LU decomposition with partial pivoting, PA = LU: what solves a system of equations, and what ran on a GPU in
//! 2005 because nearly all of it is one matrix product after another.
//!
//! A is m×n, row after row, in f32. P exchanges rows, L is m×min(m,n) with ones on its diagonal and zeros above, U is
//! min(m,n)×n with zeros below its diagonal. Both fit in A's place: the ones of L are not stored.
//!
//! The modules in the order of the page:
//!
//! 1. [`unblocked`]: one column after the other, as in a textbook.
//! 2. [`panel`]: the same for a few columns at once, halved and halved again.
//! 3. [`triangle`]: a triangular solve made of products.
//! 4. [`blocked`]: panel, row swaps, triangular solve, product; and the time that each of them takes.
//! 5. [`device`]: the matrix stays on a GPU, and the panels travel.
//! 6. `peer`: the library that does it for a living (with the cargo feature `peers`).
//! 7. [`check`]: how far off a decomposition is, and matrices that try it.

pub mod blocked;
pub mod check;
pub mod device;
pub mod panel;
#[cfg(feature = "peers")]
pub mod peer;
pub mod triangle;
pub mod unblocked;

pub use blocked::{BLOCK, Plan, Times};

/// A `Result` whose error is [`Fault`].
pub type Result<T, E = Fault> = std::result::Result<T, E>;

/// Why a matrix has no decomposition, or a system no solution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
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

impl From<Fault> for crate::Error {
    fn from(fault: Fault) -> Self {
        Self::message(fault.to_string())
    }
}

/// Fails unless the slice holds rows×cols values.
pub(crate) fn check_length(len: usize, rows: usize, cols: usize) -> Result<()> {
    if rows.checked_mul(cols) == Some(len) {
        Ok(())
    } else {
        Err(Fault::Length { rows, cols, len })
    }
}

/// A decomposition PA = LU, with both triangles in the place of A.
#[derive(Clone, Debug, PartialEq)]
pub struct Lu {
    rows: usize,
    cols: usize,
    values: Vec<f32>,
    swaps: Vec<usize>,
}

impl Lu {
    /// Decomposes an m×n matrix, one column after the other.
    ///
    /// # Errors
    /// [`Fault::Length`], [`Fault::Singular`] or [`Fault::NotFinite`].
    pub fn unblocked(mut a: Vec<f32>, rows: usize, cols: usize) -> Result<Self> {
        let swaps = unblocked::factor(&mut a, rows, cols)?;
        Ok(Self { rows, cols, values: a, swaps })
    }

    /// Decomposes an m×n matrix, a block of columns after the other.
    ///
    /// # Errors
    /// [`Fault::Length`], [`Fault::Singular`] or [`Fault::NotFinite`].
    ///
    /// ```
    /// use cpu_gpu::lu::{Lu, Plan};
    /// // 2x + y = 4 and 4x + 4y = 12.
    /// let lu = Lu::blocked(vec![2.0, 1.0, 4.0, 4.0], 2, 2, &Plan::default())?;
    /// assert_eq!(lu.permutation(), [1, 0]); // The larger 4 is divided by, not the 2.
    /// assert_eq!(lu.solve(&[4.0, 12.0], 1)?, [1.0, 2.0]);
    /// # Ok::<(), cpu_gpu::lu::Fault>(())
    /// ```
    pub fn blocked(mut a: Vec<f32>, rows: usize, cols: usize, plan: &Plan) -> Result<Self> {
        let swaps = blocked::factor(&mut a, rows, cols, plan)?.swaps;
        Ok(Self { rows, cols, values: a, swaps })
    }

    /// A decomposition that was made elsewhere: the triangles in one m×n matrix, and for each step the row that
    /// changed places with that step's row.
    ///
    /// # Errors
    /// [`Fault::Length`] when the values are not m×n, or the swaps not min(m, n) rows of the matrix that lie at
    /// or below their step.
    pub fn from_parts(
        values: Vec<f32>,
        rows: usize,
        cols: usize,
        swaps: Vec<usize>,
    ) -> Result<Self> {
        check_length(values.len(), rows, cols)?;
        let inside = swaps.iter().enumerate().all(|(step, &row)| (step..rows).contains(&row));
        if swaps.len() != rows.min(cols) || !inside {
            return Err(Fault::Length { rows, cols, len: swaps.len() });
        }
        Ok(Self { rows, cols, values, swaps })
    }

    /// Rows and columns of the matrix.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Both triangles in one m×n matrix: U on and above the diagonal, L without its ones below.
    pub fn packed(&self) -> &[f32] {
        &self.values
    }

    /// For each step, the row that changed places with that step's row.
    pub fn swaps(&self) -> &[usize] {
        &self.swaps
    }

    /// Which row of A is row i of PA, for each i.
    pub fn permutation(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.rows).collect();
        for (step, &row) in self.swaps.iter().enumerate() {
            rows.swap(step, row);
        }
        rows
    }

    /// L, m×min(m,n), with its ones.
    pub fn l(&self) -> Vec<f32> {
        let steps = self.rows.min(self.cols);
        let mut l = vec![0.0; self.rows * steps];
        for i in 0..self.rows {
            let below = i.min(steps);
            l[i * steps..][..below].copy_from_slice(&self.values[i * self.cols..][..below]);
            if i < steps {
                l[i * steps + i] = 1.0;
            }
        }
        l
    }

    /// U, min(m,n)×n.
    pub fn u(&self) -> Vec<f32> {
        let steps = self.rows.min(self.cols);
        let mut u = self.values[..steps * self.cols].to_vec();
        for i in 0..steps {
            u[i * self.cols..][..i].fill(0.0);
        }
        u
    }

    /// Solves A·X = B for X. B and X are n×sides, a right-hand side in each column: LU·X = PB is two triangular
    /// systems, the first from the top down, the second from the bottom up.
    ///
    /// # Errors
    /// [`Fault::NotSquare`] or [`Fault::Length`]. NaN and infinities in B reach X.
    pub fn solve(&self, b: &[f32], sides: usize) -> Result<Vec<f32>> {
        let n = self.rows;
        if n != self.cols {
            return Err(Fault::NotSquare { rows: self.rows, cols: self.cols });
        }
        check_length(b.len(), n, sides)?;
        // ANCHOR: solve
        let mut x = Vec::with_capacity(n * sides);
        for row in self.permutation() {
            x.extend_from_slice(&b[row * sides..][..sides]);
        }
        for i in 0..n {
            let (above, row) = x.split_at_mut(i * sides);
            for j in 0..i {
                subtract(row, self.values[i * n + j], &above[j * sides..][..sides]);
            }
        }
        for i in (0..n).rev() {
            let (upper, below) = x.split_at_mut((i + 1) * sides);
            let row = &mut upper[i * sides..];
            for j in i + 1..n {
                let solved = &below[(j - i - 1) * sides..][..sides];
                subtract(row, self.values[i * n + j], solved);
            }
            for x in row {
                *x /= self.values[i * n + i];
            }
        }
        // ANCHOR_END: solve
        Ok(x)
    }
}

/// row ← row − factor·other, as long as `other` is.
fn subtract(row: &mut [f32], factor: f32, other: &[f32]) {
    for (x, y) in row.iter_mut().zip(other) {
        *x -= factor * y;
    }
}

/// Operations of a decomposition of an n×n matrix: 2/3·n³, without the lower powers of n.
pub fn operations(n: usize) -> f64 {
    2.0 / 3.0 * (n as f64).powi(3)
}

/// The share of [`operations`] that the blocked algorithm spends in its trailing product: step s of N = n/b
/// multiplies (n−sb)×b by b×(n−sb), and 2b·Σ(n−sb)² over 2/3·n³ is 1 − 3b/(2n) + b²/(2n²).
// ANCHOR: predicted
pub fn product_share(n: usize, block: usize) -> f64 {
    let part = (block as f64 / n as f64).min(1.0);
    1.0 - 1.5 * part + 0.5 * part * part
}
// ANCHOR_END: predicted
