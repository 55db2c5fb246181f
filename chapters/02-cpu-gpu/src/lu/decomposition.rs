//! A decomposition PA = LU as a value: its parts, and what it is for, solving a system of equations.

use super::{
    blocked::{self, Plan},
    error::{LuError, Result, check_length},
    unblocked,
};

/// A decomposition PA = LU, with both triangles in A's memory.
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
    /// [`LuError::Length`], [`LuError::Singular`] or [`LuError::NotFinite`].
    pub fn unblocked(mut a: Vec<f32>, rows: usize, cols: usize) -> Result<Self> {
        let swaps = unblocked::factor(&mut a, rows, cols)?;
        Ok(Self { rows, cols, values: a, swaps })
    }

    /// Decomposes an m×n matrix, a block of columns after the other.
    ///
    /// # Errors
    /// [`LuError::Length`], [`LuError::Singular`] or [`LuError::NotFinite`].
    ///
    /// ```
    /// use cpu_gpu::lu::{Lu, Plan};
    /// // 2x + y = 4 and 4x + 4y = 12.
    /// let lu = Lu::blocked(vec![2.0, 1.0, 4.0, 4.0], 2, 2, &Plan::default())?;
    /// assert_eq!(lu.permutation(), [1, 0]); // The larger 4 is divided by, not the 2.
    /// assert_eq!(lu.solve(&[4.0, 12.0], 1)?, [1.0, 2.0]);
    /// # Ok::<(), cpu_gpu::lu::LuError>(())
    /// ```
    pub fn blocked(mut a: Vec<f32>, rows: usize, cols: usize, plan: &Plan) -> Result<Self> {
        let swaps = blocked::factor(&mut a, rows, cols, plan)?.swaps;
        Ok(Self { rows, cols, values: a, swaps })
    }

    /// A decomposition that was made elsewhere: the triangles in one m×n matrix, and for each step the row that
    /// was swapped with that step's row.
    ///
    /// # Errors
    /// [`LuError::Length`] when the values are not m×n, or the swaps not min(m, n) rows of the matrix that lie at
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
            return Err(LuError::Length { rows, cols, len: swaps.len() });
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

    /// For each step, the row that was swapped with that step's row.
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
    /// [`LuError::NotSquare`] or [`LuError::Length`]. NaN and infinities in B reach X.
    pub fn solve(&self, b: &[f32], sides: usize) -> Result<Vec<f32>> {
        let n = self.rows;
        if n != self.cols {
            return Err(LuError::NotSquare { rows: self.rows, cols: self.cols });
        }
        check_length(b.len(), n, sides)?;
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
        Ok(x)
    }
}

/// row ← row − factor·other, as long as `other` is.
fn subtract(row: &mut [f32], factor: f32, other: &[f32]) {
    for (x, y) in row.iter_mut().zip(other) {
        *x -= factor * y;
    }
}
