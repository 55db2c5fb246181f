//! The test of the exercise `scan`.

#![allow(clippy::result_large_err)] // a fault ends a launch; its size costs nothing

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use cpu_gpu::simt::{Counts, Machine};
use lab::check::{done, near, pairs};

/// Numbers for the counts: enough for hundreds of blocks, and odd.
const MANY: usize = 50_001;

/// What a scan of `numbers` gives and costs, and the instructions of one warp of one block along x.
fn run(numbers: &[f32], seed: u64, block: usize, warp: usize) -> (Vec<f32>, Counts, usize) {
    let mut machine = Machine::new(seed);
    machine.watch([block, 0], warp);
    let (x, sums) = (machine.array(numbers), machine.unwritten(numbers.len()));
    let counts = exercise::scan(&mut machine, x, sums, numbers.len());
    let counts = done(counts, format!("{} numbers, seed {seed}", numbers.len()));
    (machine.read(sums), counts, machine.events().len())
}

/// `len` small whole numbers: no order of adding rounds.
fn whole(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i * 37 % 101) as f32 - 49.0).collect()
}

/// For each number the sum of all up to it, in f64.
fn running(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let add = |sum: &mut f64, x: f64| {
        *sum += x;
        Some(*sum)
    };
    numbers.scan(0.0, add).collect()
}

#[track_caller]
fn is_right(len: usize, seed: u64) {
    let numbers = whole(len);
    let (found, ..) = run(&numbers, seed, 0, 0);
    let wanted = running(numbers.iter().map(|x| f64::from(*x)));
    // NaN fails too: it was never written.
    near(found, wanted, 0.5, format!("the sums of {len} numbers, seed {seed}"));
}

#[test]
fn every_sum_is_right_in_whatever_order_the_warps_run() {
    for (len, seed) in pairs([0, 1, 2, 31, 32, 33, 255, 256, 257, 1000, 1023, 1025, 4099], 0..4) {
        is_right(len, seed);
    }
}

#[test]
fn there_may_be_more_blocks_than_a_block_has_threads() {
    is_right(256 * 256 + 1, 1);
}

#[test]
fn sums_of_fractions_are_as_exact_as_f32_allows() {
    let numbers: Vec<f32> = (0..3001).map(|i| (i * 7919 % 1000) as f32 / 997.0 - 0.5).collect();
    let (found, ..) = run(&numbers, 2, 0, 0);
    let wide = || numbers.iter().map(|x| f64::from(*x));
    let sizes = running(wide().map(f64::abs));
    for (i, (wanted, size)) in running(wide()).into_iter().zip(sizes).enumerate() {
        let error = (f64::from(found[i]) - wanted).abs() / size;
        assert!(error < 1e-5, "sum {i} is {} and not {wanted}: off by {error:.1e}", found[i]);
    }
}

#[test]
fn the_work_is_that_of_whole_warps() {
    let (_, counts, _) = run(&whole(MANY), 1, 0, 0);
    let each = counts.instructions as f64 / MANY as f64;
    println!("{each:.2} instructions of warps for each number, {:.1} lanes each", counts.lanes());
    let found = format!("{each:.2} instructions of warps for each of {MANY} numbers");
    assert!(each <= 1.5, "{found}; one thread alone needs 2, and 1.5 are enough");
}

#[test]
fn no_warp_does_most_of_it() {
    for (block, warp) in [(0, 0), (1, 0), (0, 1), (MANY / 1024, 0)] {
        let (.., steps) = run(&whole(MANY), 1, block, warp);
        let said =
            format!("warp {warp} of block {block}: {steps} instructions one after the other");
        println!("{said}");
        assert!(steps <= 300, "{said} for {MANY} numbers; 300 are enough");
        let idle = block == 1 && steps == 0;
        assert!(!idle, "block 1 does nothing: spread the work over blocks along x");
    }
}
