//! The test of the exercise `reduction`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use cpu_gpu::simt::{Counts, Machine};
use lab::check::{done, near, pairs};

fn run(blocks: usize, threads: usize, seed: u64) -> (Vec<f32>, Vec<f32>, Counts) {
    let mut machine = Machine::new(seed);
    let numbers: Vec<f32> = (0..blocks * threads).map(|i| (i * 37 % 101) as f32 - 50.0).collect();
    let (x, sums) = (machine.array(&numbers), machine.unwritten(blocks));
    let counts = machine.launch("sum", [blocks, 1], [threads, 1], |t| exercise::sum(t, x, sums));
    let wanted = numbers.chunks(threads).map(|block| block.iter().sum()).collect();
    (machine.read(sums), wanted, done(counts, "the kernel"))
}

#[test]
fn every_block_has_its_sum_in_whatever_order_its_warps_run() {
    for (threads, seed) in pairs([32, 64, 256, 1024], 0..4) {
        let (sums, wanted, _) = run(2, threads, seed);
        near(sums, wanted, 1e-2, format!("{threads} threads"));
    }
}

#[test]
fn whole_warps_rest() {
    let (_, _, counts) = run(1, 256, 1);
    println!("{} instructions, {} divergences", counts.instructions, counts.divergences);
    assert!(counts.instructions <= 140, "{} instructions of warps", counts.instructions);
}
