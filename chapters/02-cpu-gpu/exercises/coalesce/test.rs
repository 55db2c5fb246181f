//! The test of the exercise `coalesce`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use cpu_gpu::simt::{Counts, Machine};
use lab::check::{done, near};

fn run(rows: usize, columns: usize) -> (Vec<f32>, Counts) {
    let mut machine = Machine::new(3);
    let values: Vec<f32> = (0..rows * columns).map(|i| (i % 17) as f32).collect();
    let numbers: Vec<f32> = (0..rows).map(|i| i as f32 + 0.5).collect();
    let (matrix, factors) = (machine.array(&values), machine.array(&numbers));
    let grid = exercise::grid(rows, columns);
    let kernel = |t| exercise::scale_rows(t, matrix, factors, rows, columns);
    let counts = machine.launch("scale_rows", grid, exercise::BLOCK, kernel);
    (machine.read(matrix), done(counts, "the kernel"))
}

#[test]
fn every_row_is_scaled_whatever_the_shape() {
    for (rows, columns) in [(1, 1), (1, 100), (100, 1), (33, 65), (64, 32), (7, 9)] {
        let (scaled, _) = run(rows, columns);
        let wanted = |i: usize| (i % 17) as f32 * ((i / columns) as f32 + 0.5);
        let wanted: Vec<f32> = (0..rows * columns).map(wanted).collect();
        near(scaled, wanted, 1e-4, format!("{rows}×{columns}"));
    }
}

#[test]
fn a_warp_touches_neighbours() {
    let (_, counts) = run(64, 64);
    // 64·64/32 warps: 4 sectors of the matrix and one of the factors for each, at best.
    let (sectors, loads) = (counts.load_sectors, counts.load_requests);
    println!("{sectors} sectors for {loads} loads");
    let moved = format!("{sectors} sectors are moved for {loads} loads of warps");
    assert!(sectors <= 5 * 128, "{moved}; 5 for every two loads would be enough");
}
