//! The test of the exercise `three-point`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use cpu_gpu::simt::{Counts, Machine};
use exercise::smooth;
use lab::check::{done, near};

fn run(count: usize, blocks: usize, threads: usize) -> Counts {
    let mut machine = Machine::new(1);
    let values: Vec<f32> = (0..count).map(|i| (i * i % 23) as f32).collect();
    let (x, y) = (machine.array(&values), machine.unwritten(count));
    let what = format!("{count} elements, {blocks} blocks of {threads}");
    let counts = machine.launch("smooth", [blocks, 1], [threads, 1], |t| smooth(t, x, y, count));
    let counts = done(counts, &what);
    let at = |i: usize| values[i.min(count - 1)];
    let wanted = |i: usize| (at(i.saturating_sub(1)) + at(i) + at(i + 1)) / 3.0;
    near(machine.read(y), (0..count).map(wanted).collect::<Vec<f32>>(), 1e-5, what);
    counts
}

#[test]
fn any_number_of_elements() {
    for count in [1, 2, 3, 31, 32, 33, 63, 64, 100] {
        run(count, count.div_ceil(64), 64);
    }
}

#[test]
fn any_grid() {
    for (blocks, threads) in [(1, 32), (1, 64), (2, 64), (3, 96), (20, 32)] {
        run(500, blocks, threads);
    }
}

#[test]
fn a_piece_of_32_costs_four_instructions() {
    for (count, blocks) in [(64, 1), (256, 2), (1000, 3)] {
        let counts = run(count, blocks, 64);
        let wanted = 4 * count.div_ceil(32) as u64;
        println!("{count} elements: {} instructions", counts.instructions);
        assert_eq!(counts.instructions, wanted, "instructions for {count} elements");
    }
}
