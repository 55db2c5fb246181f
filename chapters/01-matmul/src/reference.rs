//! The product that every other one is tested against: plain loops, every sum in f64.

use crate::product::view::MatRef;

/// A·B in f64, row after row, and next to it |A|·|B|: the sums of the terms' magnitudes, which bound what
/// rounding can do to each element.
///
/// A sum of k rounded products is off by at most about k·ε·(|A|·|B|) (Higham, *Accuracy and Stability
/// of Numerical Algorithms*, 2nd edition, section 3.1).
///
/// # Panics
/// When A has not as many columns as B has rows.
pub fn multiply<A, B>(a: MatRef<A>, b: MatRef<B>) -> (Vec<f64>, Vec<f64>)
where
    A: Copy + Into<f64>,
    B: Copy + Into<f64>,
{
    assert_eq!(a.cols(), b.rows(), "A·B needs as many columns in A as rows in B");
    let mut sums = vec![0.0; a.rows() * b.cols()];
    let mut magnitudes = vec![0.0; a.rows() * b.cols()];
    for i in 0..a.rows() {
        for p in 0..a.cols() {
            let x: f64 = (*a.at(i, p)).into();
            for j in 0..b.cols() {
                let y: f64 = (*b.at(p, j)).into();
                sums[i * b.cols() + j] += x * y;
                magnitudes[i * b.cols() + j] += (x * y).abs();
            }
        }
    }
    (sums, magnitudes)
}
