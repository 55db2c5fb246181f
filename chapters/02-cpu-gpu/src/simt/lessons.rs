//! The first kernels: what each part of a GPU does, seen in the counts.

use super::{
    counts::Counts,
    fault::KernelFault,
    machine::Machine,
    memory::{Global, WARP},
    thread::Thread,
};

/// What a launch has cost, and its result.
type Launched = Result<(Counts, Vec<f32>), KernelFault>;

// ANCHOR: add
/// c = a + b, one element for each thread.
pub async fn add(t: Thread, a: Global, b: Global, c: Global, count: usize) {
    let i = t.block_index[0] * t.block[0] + t.index[0];
    if i >= count {
        return; // the last block reaches beyond the end
    }
    let x = t.load(a, i).await;
    let y = t.load(b, i).await;
    t.store(c, i, t.add(x, y)).await;
}
// ANCHOR_END: add

/// y = x, each thread `stride` numbers away from its neighbour.
pub async fn strided(t: Thread, x: Global, y: Global, stride: usize) {
    let value = t.load(x, t.index[0] * stride).await;
    t.store(y, t.index[0], value).await;
}

// ANCHOR: diverge
/// Threads whose number is a multiple of `of` take one way, the others another.
pub async fn diverge(t: Thread, x: Global, y: Global, of: usize) {
    let i = t.number();
    let mut value = t.load(x, i).await;
    if i.is_multiple_of(of) {
        value = t.add(value, t.load(x, 0).await);
    } else {
        value = t.add(value, t.load(x, 1).await);
    }
    t.store(y, i, value).await; // together again
}
// ANCHOR_END: diverge

/// Threads along each side of a block of the transposes.
pub const SIDE: usize = WARP;

/// B = Aᵀ for an n×n matrix: reads along rows, writes down columns.
pub async fn transpose(t: Thread, a: Global, b: Global, n: usize) {
    let row = t.block_index[1] * SIDE + t.index[1];
    let column = t.block_index[0] * SIDE + t.index[0];
    if row < n && column < n {
        let value = t.load(a, row * n + column).await;
        t.store(b, column * n + row, value).await;
    }
}

// ANCHOR: transpose_shared
/// The same through shared memory: both matrices are touched along rows, and
/// the tile is turned. Its rows are `PITCH` words apart.
pub async fn transpose_shared<const PITCH: usize>(
    t: Thread,
    a: Global, // n×n
    b: Global, // its transpose
    n: usize,
) {
    let [tile] = t.shared([SIDE * PITCH]);
    let [x, y] = t.index;
    let [left, top] = t.block_index.map(|block| block * SIDE);
    if top + y < n && left + x < n {
        let value = t.load(a, (top + y) * n + left + x).await;
        t.store(tile, y * PITCH + x, value).await;
    }
    t.barrier().await;
    if left + y < n && top + x < n {
        let value = t.load(tile, x * PITCH + y).await; // a column of the tile
        t.store(b, (left + y) * n + top + x, value).await;
    }
}
// ANCHOR_END: transpose_shared

// ANCHOR: sum_divergent
/// The sum of a block's numbers, one for each of 2, 4, 8, … threads. Ever fewer
/// threads add, and those that do are far apart.
pub async fn sum_divergent(t: Thread, x: Global, sums: Global) {
    let (i, threads) = (t.index[0], t.block[0]);
    let [partial] = t.shared([threads]);
    let value = t.load(x, t.block_index[0] * threads + i).await;
    t.store(partial, i, value).await;
    let mut step = 1;
    while step < threads {
        t.barrier().await;
        if i.is_multiple_of(2 * step) {
            let other = t.load(partial, i + step).await;
            let own = t.load(partial, i).await;
            t.store(partial, i, t.add(own, other)).await;
        }
        step *= 2;
    }
    if i == 0 {
        t.store(sums, t.block_index[0], t.load(partial, 0).await).await;
    }
}
// ANCHOR_END: sum_divergent

// ANCHOR: sum
/// The same sum; the threads that add are neighbours, so that whole warps rest.
pub async fn sum(t: Thread, x: Global, sums: Global) {
    let (i, threads) = (t.index[0], t.block[0]);
    let [partial] = t.shared([threads]);
    let value = t.load(x, t.block_index[0] * threads + i).await;
    t.store(partial, i, value).await;
    let mut half = threads / 2;
    while half > 0 {
        t.barrier().await;
        if i < half {
            let other = t.load(partial, i + half).await;
            let own = t.load(partial, i).await;
            t.store(partial, i, t.add(own, other)).await;
        }
        half /= 2;
    }
    if i == 0 {
        t.store(sums, t.block_index[0], t.load(partial, 0).await).await;
    }
}
// ANCHOR_END: sum

// ANCHOR: sum_without_barrier
/// [`sum`] without the barrier: a classic bug.
pub async fn sum_without_barrier(t: Thread, x: Global, sums: Global) {
    let (i, threads) = (t.index[0], t.block[0]);
    let [partial] = t.shared([threads]);
    let value = t.load(x, t.block_index[0] * threads + i).await;
    t.store(partial, i, value).await;
    let mut half = threads / 2;
    while half > 0 {
        if i < half {
            let other = t.load(partial, i + half).await;
            let own = t.load(partial, i).await;
            t.store(partial, i, t.add(own, other)).await;
        }
        half /= 2;
    }
    if i == 0 {
        t.store(sums, t.block_index[0], t.load(partial, 0).await).await;
    }
}
// ANCHOR_END: sum_without_barrier

// ANCHOR: sum_with_barrier_inside
/// [`sum`] with the barrier inside the `if`: another.
pub async fn sum_with_barrier_inside(t: Thread, x: Global, sums: Global) {
    let (i, threads) = (t.index[0], t.block[0]);
    let [partial] = t.shared([threads]);
    let value = t.load(x, t.block_index[0] * threads + i).await;
    t.store(partial, i, value).await;
    let mut half = threads / 2;
    while half > 0 {
        if i < half {
            t.barrier().await;
            let other = t.load(partial, i + half).await;
            let own = t.load(partial, i).await;
            t.store(partial, i, t.add(own, other)).await;
        }
        half /= 2;
    }
    if i == 0 {
        t.store(sums, t.block_index[0], t.load(partial, 0).await).await;
    }
}
// ANCHOR_END: sum_with_barrier_inside

/// Launches [`strided`] with one warp on numbers of 32 strides.
///
/// # Errors
/// A [`KernelFault`] of the kernel.
pub fn launch_strided(gpu: &mut Machine, x: &[f32]) -> Launched {
    let stride = x.len() / WARP;
    let (x, y) = (gpu.array(x), gpu.unwritten(WARP));
    let counts = gpu.launch("strided", [1, 1], [WARP, 1], |t| strided(t, x, y, stride))?;
    Ok((counts, gpu.read(y)))
}

/// Launches a transpose of a square matrix: `transpose`, or by way of tiles `transpose_32` and `transpose_33`.
///
/// # Errors
/// A [`KernelFault`] of the kernel.
pub fn launch_transpose(gpu: &mut Machine, kernel: &str, a: &[f32]) -> Launched {
    let n = a.len().isqrt();
    let (a, b) = (gpu.array(a), gpu.unwritten(n * n));
    let (grid, block) = ([n.div_ceil(SIDE); 2], [SIDE; 2]);
    let counts = match kernel {
        "transpose_32" => gpu.launch(kernel, grid, block, |t| transpose_shared::<32>(t, a, b, n)),
        "transpose_33" => gpu.launch(kernel, grid, block, |t| transpose_shared::<33>(t, a, b, n)),
        _ => gpu.launch(kernel, grid, block, |t| transpose(t, a, b, n)),
    }?;
    Ok((counts, gpu.read(b)))
}

/// Launches one of the sums by its name, with blocks of so many threads.
///
/// # Errors
/// A [`KernelFault`] of the kernel.
pub fn launch_sum(gpu: &mut Machine, kernel: &str, x: &[f32], threads: usize) -> Launched {
    let (grid, block) = ([x.len() / threads, 1], [threads, 1]);
    let (x, sums) = (gpu.array(x), gpu.unwritten(grid[0]));
    let counts = match kernel {
        "sum_divergent" => gpu.launch(kernel, grid, block, |t| sum_divergent(t, x, sums)),
        "sum_without_barrier" => {
            gpu.launch(kernel, grid, block, |t| sum_without_barrier(t, x, sums))
        }
        "sum_with_barrier_inside" => {
            gpu.launch(kernel, grid, block, |t| sum_with_barrier_inside(t, x, sums))
        }
        _ => gpu.launch(kernel, grid, block, |t| sum(t, x, sums)),
    }?;
    Ok((counts, gpu.read(sums)))
}
