//! The test of the exercise `weave`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{SIDE, Tile, pack_a, pack_b, word};
use lab::check::near_rows;
use matmul::tiles::{Model, Tiles};

/// One instruction of the matrix unit, on the crate's model of it: 16×16 sums.
fn multiply(a: &Tile, b: &Tile) -> Vec<f32> {
    let (mut unit, mut sums) = (Model::start(), Tile::default());
    unit.zero::<0>();
    // SAFETY: each of the three is 16 rows of 64 bytes, one after the other.
    unsafe {
        unit.load::<4>(a.as_ptr().cast(), 64);
        unit.load::<6>(b.as_ptr().cast(), 64);
        unit.multiply::<0, 4, 6>();
        unit.store::<0>(sums.as_mut_ptr().cast(), 64);
    }
    sums.into_iter().flatten().map(f32::from_bits).collect()
}

#[test]
fn a_word_has_two_terms_of_one_column() {
    // Three rows of two columns: the fourth row is not there.
    let tile = pack_b(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2);
    assert_eq!(tile[0][..3], [word(1.0, 3.0), word(2.0, 4.0), 0], "the rows 0 and 1");
    assert_eq!(tile[1][..3], [word(5.0, 0.0), word(6.0, 0.0), 0], "the rows 2 and 3");
    assert!(tile[2..].iter().flatten().all(|word| *word == 0), "there are no rows from 4 on");
}

#[test]
fn one_instruction_multiplies() {
    for (m, k, n) in [(16, 32, 16), (16, 31, 16), (3, 5, 7), (1, 2, 16), (16, 1, 1)] {
        let a: Vec<f32> = (0..m * k).map(|at| (at * 7 % 11) as f32 - 5.0).collect();
        let b: Vec<f32> = (0..k * n).map(|at| (at * 5 % 13) as f32 - 6.0).collect();
        let sums = multiply(&pack_a(&a, k), &pack_b(&b, n));
        let wanted = |at: usize| {
            let (i, j) = (at / SIDE, at % SIDE);
            let terms = |p: usize| a[i * k + p] * b[p * n + j];
            if i < m && j < n { (0..k).map(terms).sum() } else { 0.0 }
        };
        let wanted: Vec<f32> = (0..SIDE * SIDE).map(wanted).collect();
        near_rows(sums, wanted, SIDE, 0.0, format!("{m}×{k} times {k}×{n}"));
    }
}
