//! A comparison with a reference in f64 that neither NaN nor an element that was never written passes.
//!
//! Chapter 2's `verify` does it for products, with a bound for each sum. Here the bound is relative: an element may be
//! as far off as `tolerance` times its own size or the typical size of all, whichever is larger.

use cpu_gpu::verify::{Fault, UNWRITTEN};
use std::cmp::Ordering;

/// The largest error as a fraction of what is allowed, or what is wrong. `cols` are the elements of a row, to name the
/// place.
///
/// # Errors
/// The [`Fault`]. Another number of elements than there should be counts as unwritten.
pub fn compare(got: &[f32], want: &[f64], cols: usize, tolerance: f64) -> Result<f64, Fault> {
    let place = |at: usize| (at / cols.max(1), at % cols.max(1));
    let first = |bad: Vec<usize>| bad.first().map(|at| (bad.len(), place(*at)));
    let find =
        |is_bad: &dyn Fn(usize) -> bool| first((0..got.len()).filter(|i| is_bad(*i)).collect());
    if got.len() < want.len() {
        let (count, first) = (want.len() - got.len(), place(got.len()));
        return Err(Fault::Unwritten { count, first });
    }
    if let Some((count, first)) = find(&|i| got[i].to_bits() == UNWRITTEN) {
        return Err(Fault::Unwritten { count, first });
    }
    if let Some((count, first)) = find(&|i| !got[i].is_finite()) {
        return Err(Fault::NotANumber { count, first });
    }
    let square: f64 = want.iter().map(|x| x * x).sum();
    let typical = (square / want.len().max(1) as f64).sqrt();
    let allowed = |i: usize| tolerance * f64::max(want[i].abs(), typical);
    let error = |i: usize| (f64::from(got[i]) - want[i]).abs();
    // Written so that whatever is not certainly correct is an error.
    if let Some((count, first)) =
        find(&|i| i >= want.len() || error(i).partial_cmp(&allowed(i)).is_none_or(Ordering::is_gt))
    {
        let at = (first.0 * cols.max(1) + first.1).min(want.len().saturating_sub(1));
        let (got, want) = (got[at], want.get(at).copied().unwrap_or(f64::NAN));
        return Err(Fault::Inaccurate { count, first, got, want, allowed: tolerance * want.abs() });
    }
    let shares = (0..want.len()).map(|i| error(i) / allowed(i).max(f64::MIN_POSITIVE));
    Ok(shares.fold(0.0, f64::max))
}
