//! A micro-kernel: a small tile of C that stays in registers while A and B stream by.

/// Rows of the tile.
pub const MR: usize = 6;
/// Columns of the tile.
pub const NR: usize = 16;
/// A tile of C.
pub type Tile = [[f32; NR]; MR];

/// The product of an MR×k panel of A and a k×NR panel of B, both packed.
///
/// `a` holds A's panel column by column: MR numbers for each step of k. `b` holds B's panel row by row: NR numbers for
/// each step. Both have the same number of steps.
pub fn micro_kernel(a: &[f32], b: &[f32]) -> Tile {
    // EXERCISE: begin
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: this CPU has both features.
        return unsafe { with_avx2(a, b) };
    }
    let mut tile = [[0.0; NR]; MR];
    for (column, row) in a.as_chunks::<MR>().0.iter().zip(b.as_chunks::<NR>().0) {
        for (sums, x) in tile.iter_mut().zip(column) {
            for (sum, y) in sums.iter_mut().zip(row) {
                *sum += x * y;
            }
        }
    }
    tile
}

/// The same loop with registers of eight numbers: twelve of them hold the tile.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2(a: &[f32], b: &[f32]) -> Tile {
    use std::arch::x86_64::{
        _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps,
    };
    let mut sums = [[_mm256_setzero_ps(); 2]; MR];
    for (column, row) in a.as_chunks::<MR>().0.iter().zip(b.as_chunks::<NR>().0) {
        // SAFETY: a row has sixteen numbers.
        let y = unsafe { [_mm256_loadu_ps(row.as_ptr()), _mm256_loadu_ps(row[8..].as_ptr())] };
        for i in 0..MR {
            let x = _mm256_set1_ps(column[i]);
            for v in 0..2 {
                sums[i][v] = _mm256_fmadd_ps(x, y[v], sums[i][v]);
            }
        }
    }
    let mut tile = [[0.0; NR]; MR];
    for i in 0..MR {
        for v in 0..2 {
            // SAFETY: a row of the tile has sixteen numbers, and this writes eight from 0 or from 8.
            unsafe { _mm256_storeu_ps(tile[i][8 * v..].as_mut_ptr(), sums[i][v]) };
        }
    }
    tile
    // EXERCISE: instead
    // let _ = (a, b);
    // [[0.0; NR]; MR]
    // EXERCISE: end
}
