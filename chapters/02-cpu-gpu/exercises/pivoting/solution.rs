//! Choose the row to divide by, so that no factor is above one.

/// Turns the n×n matrix, row after row, into its LU decomposition in place: U on and above the diagonal, L without
/// its ones below. Returns, for each step, the row that was swapped with that step's row.
pub fn factor(a: &mut [f32], n: usize) -> Vec<usize> {
    let mut swaps = Vec::with_capacity(n);
    for j in 0..n {
        // EXERCISE: begin
        let size = |row: usize| a[row * n + j].abs();
        let pivot = (j..n).max_by(|&p, &q| size(p).total_cmp(&size(q))).unwrap_or(j);
        if pivot > j {
            let (upper, lower) = a.split_at_mut(pivot * n);
            upper[j * n..][..n].swap_with_slice(&mut lower[..n]);
        }
        // EXERCISE: instead
        // let pivot = j;
        // EXERCISE: end
        swaps.push(pivot);
        let (top, below) = a.split_at_mut((j + 1) * n);
        let pivot_row = &top[j * n..];
        for row in below.chunks_exact_mut(n) {
            let factor = row[j] / pivot_row[j];
            row[j] = factor;
            for k in j + 1..n {
                row[k] -= factor * pivot_row[k];
            }
        }
    }
    swaps
}
