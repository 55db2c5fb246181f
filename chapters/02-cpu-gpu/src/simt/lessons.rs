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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simt::fault::Who;

    fn numbers(count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 37 + 11) % 101) as f32 - 50.0).collect()
    }

    #[test]
    fn vectors_are_added_for_any_count() {
        for count in [0, 1, 31, 32, 33, 64, 100, 257] {
            let mut gpu = Machine::new(1);
            let (x, y) = (numbers(count), numbers(count + 1)[1..].to_vec());
            let (a, b, c) = (gpu.array(&x), gpu.array(&y), gpu.unwritten(count));
            let grid = [count.div_ceil(64), 1];
            let counts = gpu.launch("add", grid, [64, 1], |t| add(t, a, b, c, count)).unwrap();
            let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
            assert_eq!(gpu.read(c), wanted);
            assert_eq!(counts.flops, count as u64);
            // Two loads and a store for each warp with a thread inside; each 4 sectors or fewer at the end.
            let warps = count.div_ceil(32) as u64;
            assert_eq!((counts.load_requests, counts.store_requests), (2 * warps, warps));
            let sectors = count.div_ceil(8) as u64;
            assert_eq!((counts.load_sectors, counts.store_sectors), (2 * sectors, sectors));
            assert_eq!(counts.divergences, u64::from(!count.is_multiple_of(32)));
            assert_eq!(counts.useful_bytes, 12 * count as u64);
        }
    }

    #[test]
    fn a_stride_moves_what_nobody_asked_for() {
        for (stride, sectors) in [(1, 4), (2, 8), (3, 12), (8, 32), (9, 32)] {
            let x = numbers(32 * stride);
            let (counts, y) = launch_strided(&mut Machine::new(1), &x).unwrap();
            assert_eq!((counts.load_sectors, counts.store_sectors), (sectors, 4), "{stride}");
            assert_eq!(y, x.into_iter().step_by(stride).collect::<Vec<_>>());
        }
    }

    #[test]
    fn threads_that_part_take_turns_and_meet_again() {
        let run = |of| {
            let mut gpu = Machine::new(1);
            let (x, y) = (gpu.array(&numbers(64)), gpu.unwritten(64));
            gpu.watch([0, 0], 0);
            let counts = gpu.launch("diverge", [1, 1], [64, 1], |t| diverge(t, x, y, of)).unwrap();
            let lanes: Vec<u32> = gpu.events().iter().map(|e| e.lanes.count_ones()).collect();
            (counts, lanes, gpu.read(y))
        };
        let x = numbers(64);
        let (counts, lanes, y) = run(2);
        assert_eq!((counts.divergences, lanes), (2, vec![32, 16, 16, 32]));
        for (i, y) in y.iter().enumerate() {
            let wanted = x[i] + if i % 2 == 0 { x[0] } else { x[1] };
            assert!((y - wanted).abs() < 1e-6);
        }
        // The first warp holds the one thread that is a multiple of 64.
        let (counts, lanes, _) = run(64);
        assert_eq!((counts.divergences, lanes), (1, vec![32, 1, 31, 32]));
        // All the same way: no thread waits.
        let (counts, lanes, _) = run(1);
        assert_eq!((counts.divergences, lanes), (0, vec![32, 32, 32]));
        assert!((counts.lanes() - 32.0).abs() < 1e-12);
    }

    #[test]
    fn three_transposes_give_one_matrix_at_three_costs() {
        const WAYS: [&str; 3] = ["transpose", "transpose_32", "transpose_33"];
        let launch = |way, n| launch_transpose(&mut Machine::new(5), way, &numbers(n * n)).unwrap();
        for n in [1, 31, 32, 33, 64] {
            let a = numbers(n * n);
            for way in WAYS {
                let (_, b) = launch(way, n);
                for i in 0..n * n {
                    assert!((b[i] - a[i % n * n + i / n]).abs() < 1e-9, "n = {n}, {way}");
                }
            }
        }
        let [plain, conflicts, padded] = WAYS.map(|way| launch(way, 64).0);
        assert_eq!((plain.store_sectors, padded.store_sectors), (64 * 64, 64 * 64 / 8));
        assert_eq!(plain.load_sectors, padded.load_sectors);
        // Each of the 4 · 32 warps reads a column of 32 words of one bank.
        assert_eq!((conflicts.conflicts(), padded.conflicts()), (4 * 32 * 31, 0));
        assert_eq!(conflicts.store_sectors, padded.store_sectors);
    }

    #[test]
    fn both_sums_are_right_and_one_diverges_less() {
        let run = |way, seed| launch_sum(&mut Machine::new(seed), way, &numbers(512), 256).unwrap();
        let wanted: Vec<f32> = numbers(512).chunks(256).map(|x| x.iter().sum()).collect();
        for seed in 0..4 {
            for way in ["sum_divergent", "sum"] {
                assert_eq!(run(way, seed).1, wanted, "{way}");
            }
        }
        let (one, two) = (run("sum_divergent", 0).0, run("sum", 0).0);
        assert_eq!(one.flops, two.flops);
        assert!(two.divergences < one.divergences / 2, "{one:?} {two:?}");
        assert!(two.instructions < one.instructions);
        assert_eq!(one.barriers, 2 * 8);
    }

    #[test]
    fn a_missing_barrier_is_a_race_with_both_lines() {
        for seed in 0..8 {
            let machine = &mut Machine::new(seed);
            let fault = launch_sum(machine, "sum_without_barrier", &numbers(256), 256).unwrap_err();
            match &fault {
                KernelFault::Race { memory: "shared", one, two, at, .. } => {
                    assert_ne!(one, two);
                    assert!(at[0].file().ends_with("lessons.rs"));
                }
                // A warp that runs first reads what is not yet written.
                KernelFault::Unwritten { memory: "a shared", .. } => {}
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn without_the_check_a_missing_barrier_is_a_wrong_sum() {
        let wanted: f32 = numbers(256).iter().sum();
        let wrong = (0..8).filter(|seed| {
            let machine = &mut Machine::unchecked(*seed);
            let (_, sums) = launch_sum(machine, "sum_without_barrier", &numbers(256), 256).unwrap();
            let error = (sums[0] - wanted).abs();
            error.is_nan() || error > 1e-3
        });
        assert!(wrong.count() >= 7);
    }

    #[test]
    fn a_barrier_that_some_never_reach_is_named() {
        let machine = &mut Machine::new(0);
        let fault = launch_sum(machine, "sum_with_barrier_inside", &numbers(64), 64).unwrap_err();
        let KernelFault::BarrierDivergence { other, elsewhere, .. } = &fault else {
            panic!("{fault}")
        };
        assert_eq!((*other, *elsewhere), (Who { block: [0, 0], thread: [32, 0] }, None));
        let text = fault.to_string();
        assert!(text.contains("has ended without it") && !text.contains('\n'), "{text}");
    }
}
