//! The test of the exercise `micro-kernel`.

#![allow(clippy::float_cmp)] // The numbers are whole and small: nothing rounds.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{MR, NR, Tile, micro_kernel};
use lab::{Plan, Race, Unit, check::near};
use matmul::{MatMut, MatRef, Options, sgemm};
use std::hint::black_box;

/// Whole numbers, so that no order of adding rounds.
fn panels(k: usize) -> (Vec<f32>, Vec<f32>) {
    let a = (0..k * MR).map(|at| (at % 7) as f32 - 3.0).collect();
    let b = (0..k * NR).map(|at| (at % 5) as f32 - 2.0).collect();
    (a, b)
}

#[test]
fn tile_is_right() {
    for k in [0, 1, 2, 3, 7, 64, 257] {
        let (a, b) = panels(k);
        let tile: Tile = micro_kernel(&a, &b);
        for (i, row) in tile.iter().enumerate() {
            let sum = |j: usize| (0..k).map(|p| a[p * MR + i] * b[p * NR + j]).sum();
            let wanted: Vec<f32> = (0..NR).map(sum).collect();
            near(row, wanted, 0.0, format!("row {i}, {k} steps"));
        }
    }
}

#[test]
fn not_a_number_stays_in_its_row() {
    let (mut a, b) = panels(5);
    a[2 * MR + 1] = f32::NAN; // Row 1, third step.
    let tile = micro_kernel(&a, &b);
    for (i, row) in tile.iter().enumerate() {
        assert!(row.iter().all(|x| x.is_nan() == (i == 1)), "row {i}: {row:?}");
    }
}

/// Shown, not demanded: how fast a kernel is depends on the machine.
#[test]
fn race() -> lab::Result<()> {
    // As many operations in the calls of yours as in one product of ours.
    const N: usize = 384;
    const K: usize = 256;
    const CALLS: usize = N * N * N / (MR * NR * K);
    // Without a product there is no rate: the stub's would be meaningless.
    assert_eq!(micro_kernel(&[1.0; MR], &[1.0; NR])[0][0], 1.0, "no product, no rate");
    let (x, y) = panels(K);
    let (a, b, mut c) = (vec![1.0; N * N], vec![1.0; N * N], vec![0.0; N * N]);
    let (a, b) = (MatRef::new(&a, N, N)?, MatRef::new(&b, N, N)?);
    let mut race = Race::new();
    race.add("yours", || {
        for _ in 0..CALLS {
            black_box(micro_kernel(black_box(&x), black_box(&y)));
        }
        Ok(())
    });
    race.add("ours", || Ok(sgemm(MatMut::new(&mut c, N, N)?, a, b, Options::default())?));
    let results = race.run(Plan::QUICK)?;
    let rate = |name| -> lab::Result<String> {
        let rate = results.rate(name, (2 * N * N * N) as f64)?;
        Ok(Unit::FlopsPerSecond.format(rate.median()))
    };
    let ratio = results.ratio("ours", "yours")?;
    let (low, high) = ratio.spread();
    println!(
        "micro-kernel, yours over ours: {:.2} ({low:.2} to {high:.2}); yours {}, ours {} (a whole product, n = {N})",
        ratio.median(),
        rate("yours")?,
        rate("ours")?,
    );
    Ok(())
}
