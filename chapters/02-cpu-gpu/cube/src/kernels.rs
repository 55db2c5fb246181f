//! The kernels. `#[cube]` turns each function into one that builds the kernel's program, from which CubeCL writes the
//! language of the device. A *cube* is a block of threads, a *unit* a thread.

#![allow(missing_docs)] // of what the macro makes

use cubecl::prelude::*;

/// Threads along each side of a block, and rows and columns of a tile: 256 threads are what WebGPU promises.
pub const TILE: usize = 16;

/// m, n and k.
pub type Sizes = (usize, usize, usize);

/// One thread for each element of C, as in `kernels/naive.cl`: neighbouring
/// threads go down a column.
#[cube(launch)]
pub fn naive(a: &[f32], b: &[f32], c: &mut [f32], sizes: Sizes) {
    let (m, n, k) = sizes;
    let row = ABSOLUTE_POS_X as usize; // x counts the rows
    let column = ABSOLUTE_POS_Y as usize;
    if row < m && column < n {
        let mut sum = 0.0;
        for p in 0..k {
            sum += a[row * k + p] * b[p * n + column];
        }
        c[row * n + column] = sum;
    }
}

/// The number in `row` and `column`, zero beyond the matrix: it adds nothing.
#[cube]
fn guarded(
    matrix: &[f32], // rows×columns
    rows: usize,
    columns: usize,
    row: usize,
    column: usize,
) -> f32 {
    let mut value = 0.0;
    if row < rows && column < columns {
        value = matrix[row * columns + column];
    }
    value
}

// ANCHOR: tiled
/// A block fetches a tile of A and one of B, and each number serves `TILE`
/// threads, as in `kernels/shared.cl`.
#[cube(launch)]
pub fn tiled(a: &[f32], b: &[f32], c: &mut [f32], sizes: Sizes) {
    let (m, n, k) = sizes;
    let mut a_tile = Shared::<[f32]>::new_slice(TILE * TILE);
    let mut b_tile = Shared::<[f32]>::new_slice(TILE * TILE);
    let (x, y) = (UNIT_POS_X as usize, UNIT_POS_Y as usize);
    let (row, column) = (ABSOLUTE_POS_Y as usize, ABSOLUTE_POS_X as usize);
    let mut sum = 0.0;
    for start in range_stepped(0, k, TILE) {
        a_tile[y * TILE + x] = guarded(a, m, k, row, start + x);
        b_tile[y * TILE + x] = guarded(b, k, n, start + y, column);
        sync_cube(); // both tiles are whole
        #[unroll]
        for p in 0..TILE {
            sum += a_tile[y * TILE + p] * b_tile[p * TILE + x];
        }
        sync_cube(); // they are no longer needed
    }
    if row < m && column < n {
        c[row * n + column] = sum;
    }
}
// ANCHOR_END: tiled

/// WRONG: [`tiled`] without its first barrier: a thread starts on tiles that
/// others have not filled. Nothing refuses it: all threads share the slices.
#[cube(launch)]
pub fn no_barrier_before(a: &[f32], b: &[f32], c: &mut [f32], sizes: Sizes) {
    let (m, n, k) = sizes;
    let mut a_tile = Shared::<[f32]>::new_slice(TILE * TILE);
    let mut b_tile = Shared::<[f32]>::new_slice(TILE * TILE);
    let (x, y) = (UNIT_POS_X as usize, UNIT_POS_Y as usize);
    let (row, column) = (ABSOLUTE_POS_Y as usize, ABSOLUTE_POS_X as usize);
    let mut sum = 0.0;
    for start in range_stepped(0, k, TILE) {
        a_tile[y * TILE + x] = guarded(a, m, k, row, start + x);
        b_tile[y * TILE + x] = guarded(b, k, n, start + y, column);
        #[unroll] // here the barrier is missing
        for p in 0..TILE {
            sum += a_tile[y * TILE + p] * b_tile[p * TILE + x];
        }
        sync_cube(); // they are no longer needed
    }
    if row < m && column < n {
        c[row * n + column] = sum;
    }
}
