//! LU decomposition one column after the other. Each step divides a column by its pivot and takes a multiple of
//! one row away from all rows below: two operations for each value that is read and written, so memory sets
//! the pace.

use super::error::{LuError, Result, check_length};

/// Where the bits of a number's size are, without its sign.
const SIZE: u32 = u32::MAX >> 1;
/// The bits of infinity. Those of NaN are above, those of finite sizes below, in the order of the numbers.
const INFINITY: u32 = f32::INFINITY.to_bits();

/// Turns the m×n matrix into its LU decomposition, in place. Returns, for each step, the row that changed places
/// with that step's row.
///
/// # Errors
/// [`LuError::Length`], [`LuError::Singular`] or [`LuError::NotFinite`]; after the last two the matrix is half done.
// ANCHOR: unblocked
pub fn factor(a: &mut [f32], rows: usize, cols: usize) -> Result<Vec<usize>> {
    check_length(a.len(), rows, cols)?;
    let mut swaps = Vec::new();
    for j in 0..rows.min(cols) {
        let column = (j..rows).map(|i| a[i * cols + j]);
        let pivot = j + largest(j, column)?;
        swap_rows(a, cols, j, pivot);
        swaps.push(pivot);
        let (top, below) = a.split_at_mut((j + 1) * cols);
        let pivot_row = &top[j * cols + j..];
        for row in below.chunks_exact_mut(cols) {
            let factor = row[j] / pivot_row[0];
            row[j] = factor;
            for (x, u) in row[j + 1..].iter_mut().zip(&pivot_row[1..]) {
                *x -= factor * u;
            }
        }
    }
    check_finite(a, rows, cols)?;
    Ok(swaps)
}
// ANCHOR_END: unblocked

/// The index of the value with the largest magnitude, the first of them if there are several. `column` is for the error.
///
/// # Errors
/// [`LuError::NotFinite`] if there is NaN or an infinity among the numbers, else [`LuError::Singular`] if there is
/// nothing but zeros.
pub fn largest(column: usize, numbers: impl Iterator<Item = f32>) -> Result<usize> {
    let (mut place, mut size) = (0, 0);
    for (at, x) in numbers.enumerate() {
        let this = x.to_bits() & SIZE;
        if this > size {
            (place, size) = (at, this);
        }
    }
    pivot_is_usable(column, size)?;
    Ok(place)
}

/// [`largest`] for contiguous values: one pass finds the magnitude with vectors, another its index.
///
/// # Errors
/// As [`largest`].
pub fn largest_in(column: usize, numbers: &[f32]) -> Result<usize> {
    let bits = |x: &f32| x.to_bits() & SIZE;
    let size = numbers.iter().map(bits).fold(0, u32::max);
    pivot_is_usable(column, size)?;
    Ok(numbers.iter().position(|x| bits(x) == size).unwrap_or(0))
}

fn pivot_is_usable(column: usize, size: u32) -> Result<()> {
    match size {
        0 => Err(LuError::Singular { column }),
        INFINITY.. => Err(LuError::NotFinite { column }),
        _ => Ok(()),
    }
}

/// What no pivot search has looked at: the columns past the last pivot's, where a matrix is wider than tall.
///
/// # Errors
/// [`LuError::NotFinite`] for the first of these columns that is not finite.
pub(crate) fn check_finite(a: &[f32], rows: usize, cols: usize) -> Result<()> {
    if rows >= cols {
        return Ok(());
    }
    let bad = (rows..cols).find(|&j| (0..rows).any(|i| !a[i * cols + j].is_finite()));
    bad.map_or(Ok(()), |column| Err(LuError::NotFinite { column }))
}

/// Exchanges two rows, the first not below the second, of a matrix with `cols` columns.
pub(crate) fn swap_rows(a: &mut [f32], cols: usize, upper: usize, lower: usize) {
    if upper < lower {
        let (top, bottom) = a.split_at_mut(lower * cols);
        top[upper * cols..][..cols].swap_with_slice(&mut bottom[..cols]);
    }
}
