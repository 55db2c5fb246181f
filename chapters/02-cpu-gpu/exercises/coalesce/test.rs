//! The test of the exercise `coalesce`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use cpu_gpu::simt::{Counts, Machine};

fn run(rows: usize, columns: usize) -> (Vec<f32>, Counts) {
    let mut machine = Machine::new(3);
    let values: Vec<f32> = (0..rows * columns).map(|i| (i % 17) as f32).collect();
    let numbers: Vec<f32> = (0..rows).map(|i| i as f32 + 0.5).collect();
    let (matrix, factors) = (machine.array(&values), machine.array(&numbers));
    let grid = exercise::grid(rows, columns);
    let counts = machine
        .launch("scale_rows", grid, exercise::BLOCK, |t| {
            exercise::scale_rows(t, matrix, factors, rows, columns)
        })
        .unwrap_or_else(|fault| panic!("{fault}"));
    (machine.read(matrix), counts)
}

#[test]
fn every_row_is_scaled_whatever_the_shape() {
    for (rows, columns) in [(1, 1), (1, 100), (100, 1), (33, 65), (64, 32), (7, 9)] {
        let (scaled, _) = run(rows, columns);
        for (i, value) in scaled.iter().enumerate() {
            let wanted = (i % 17) as f32 * ((i / columns) as f32 + 0.5);
            assert!(
                (value - wanted).abs() < 1e-4,
                "{rows}×{columns}: element {i} is {value}, not {wanted}"
            );
        }
    }
}

#[test]
fn a_warp_touches_neighbours() {
    let (_, counts) = run(64, 64);
    // 64·64/32 warps: 4 sectors of the matrix and one of the factors for each, at best.
    println!("{} sectors for {} loads", counts.load_sectors, counts.load_requests);
    assert!(
        counts.load_sectors <= 5 * 128,
        "{} sectors are moved for {} loads of warps; 5 for every two loads would be enough",
        counts.load_sectors,
        counts.load_requests
    );
}
