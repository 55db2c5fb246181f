//! How far off a decomposition or a solution is, in f64, in units of what rounding alone explains; and matrices
//! that try it: random ones, one whose numbers grow as much as they can, one that is nearly singular.

use super::{
    decomposition::Lu,
    error::{LuError, Result, check_length},
};
use lab::random::numbers;

/// How far LU is from PA: ‖PA − LU‖ / (max(m, n)·ε·‖A‖), with the norm √Σx² and ε the f32 machine epsilon. A sound
/// decomposition of a matrix without extreme growth is below 1. The sums are in f64. NaN if there is any.
///
/// # Errors
/// [`LuError::Length`] when A is not as large as the decomposition.
pub fn backward_error(a: &[f32], lu: &Lu) -> Result<f64> {
    let (rows, cols) = lu.shape();
    check_length(a.len(), rows, cols)?;
    let steps = rows.min(cols);
    let (l, u) = (lu.l(), lu.u());
    let (mut off, mut size) = (0.0, 0.0);
    for (i, row) in lu.permutation().into_iter().enumerate() {
        let mut left: Vec<f64> = a[row * cols..][..cols].iter().map(|&x| f64::from(x)).collect();
        size += left.iter().map(|x| x * x).sum::<f64>();
        for (k, &factor) in l[i * steps..][..steps].iter().enumerate() {
            for (x, &u) in left.iter_mut().zip(&u[k * cols..][..cols]) {
                *x -= f64::from(factor) * f64::from(u);
            }
        }
        off += left.iter().map(|x| x * x).sum::<f64>();
    }
    Ok(scaled(off.sqrt(), rows.max(cols), size.sqrt()))
}

/// How far x is from a solution of A·x = b, scaled as the HPL benchmark does it:
/// ‖b − A·x‖ / (n·ε·(‖A‖·‖x‖ + ‖b‖)), with the largest sum of a row's sizes for ‖A‖ and the largest size for vectors.
/// HPL passes below 16. The sums are in f64. NaN if there is any.
///
/// # Errors
/// [`LuError::Length`] when A is not n×n for a b of n values, or x is not as long as b.
pub fn residual(a: &[f32], x: &[f32], b: &[f32]) -> Result<f64> {
    let n = b.len();
    check_length(a.len(), n, n)?;
    check_length(x.len(), n, 1)?;
    let (mut off, mut norm) = (0.0_f64, 0.0_f64);
    for (i, &b) in b.iter().enumerate() {
        let (mut left, mut sum) = (f64::from(b), 0.0);
        for (&a, &x) in a[i * n..][..n].iter().zip(x) {
            left -= f64::from(a) * f64::from(x);
            sum += f64::from(a).abs();
        }
        off = larger(off, left.abs());
        norm = larger(norm, sum);
    }
    let most = |v: &[f32]| v.iter().fold(0.0, |most, &x| larger(most, f64::from(x).abs()));
    Ok(scaled(off, n, norm * most(x) + most(b)))
}

/// The larger of the two, and NaN if one is: `f64::max` would drop it.
fn larger(a: f64, b: f64) -> f64 {
    if b.is_nan() || b > a { b } else { a }
}

/// off / (n·ε·size). Nothing off is nothing, also in a matrix of zeros.
fn scaled(off: f64, n: usize, size: f64) -> f64 {
    if off == 0.0 { 0.0 } else { off / (n as f64 * f64::from(f32::EPSILON) * size) }
}

/// rows×cols numbers from −1 to 1, always the same for a seed.
pub fn random(rows: usize, cols: usize, seed: u64) -> Vec<f32> {
    numbers(rows * cols, seed)
}

/// Wilkinson's n×n matrix: ones on the diagonal and in the last column, −1 below the diagonal. Each step doubles
/// the last column, up to 2ⁿ⁻¹, the most that partial pivoting allows.
pub fn wilkinson(n: usize) -> Vec<f32> {
    let value = |i: usize, j: usize| match (i, j) {
        _ if i == j || j + 1 == n => 1.0,
        _ if i > j => -1.0,
        _ => 0.0,
    };
    (0..n * n).map(|at| value(at / n, at % n)).collect()
}

/// The largest size in U over the largest in A: how much the numbers have grown. NaN without numbers.
///
/// # Errors
/// [`LuError::Length`] when A is not as large as the decomposition.
pub fn growth(a: &[f32], lu: &Lu) -> Result<f64, LuError> {
    let (rows, cols) = lu.shape();
    check_length(a.len(), rows, cols)?;
    let most = |v: &[f32]| v.iter().fold(0.0, |most, &x| larger(most, f64::from(x).abs()));
    Ok(most(&lu.u()) / most(a))
}
