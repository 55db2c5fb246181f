//! The test of the exercise `draw-a-product`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Image, READS, multiply};

/// The largest difference between the drawn product and the true one, in levels.
fn off(a: &Image, b: &Image, side: usize) -> f64 {
    let drawn = multiply(a, b);
    let wanted = |i: usize, j: usize| {
        let term = |p: usize| f64::from(a.number(i, p)) * f64::from(b.number(p, j));
        (0..side).map(term).sum::<f64>() / side as f64
    };
    let pixels = (0..side * side).map(|at| (at / side, at % side));
    let each = pixels.map(|(i, j)| (f64::from(drawn.number(i, j)) - wanted(i, j)).abs() * 255.0);
    each.fold(0.0, f64::max)
}

/// The fewest passes that read all terms, each of which is two texels.
fn fewest(side: usize) -> usize {
    side.div_ceil(READS / 2)
}

/// Each pass rounds by half a level at the most, and as few passes as possible are made.
#[track_caller]
fn check(a: &Image, b: &Image, side: usize, what: &str) {
    let (off, limit) = (off(a, b, side), fewest(side) as f64 / 2.0);
    println!("{what}, {side}×{side}: off by {off:.2} levels, and {limit} are the limit");
    assert!(off <= limit + 1e-3, "{what}, {side}×{side}: off by {off:.2} levels of 255");
}

#[test]
fn bright_images_are_right_and_dim_images_do_not_vanish() {
    let bright = [1, 2, 4, 7, 32].map(|side| ("bright", 0.95, side));
    let dim = [8, 30, 64].map(|side| ("dim", 0.3, side));
    for (what, level, side) in bright.into_iter().chain(dim) {
        let image = Image::new(side, |_, _| level);
        check(&image, &image, side, what);
    }
}

#[test]
fn rows_meet_columns() {
    for side in [3, 8, 33] {
        let a = Image::new(side, |row, col| ((5 * row + 3 * col) % 11) as f32 / 10.0);
        let b = Image::new(side, |row, col| ((2 * row + 7 * col) % 13) as f32 / 12.0);
        check(&a, &b, side, "mixed");
    }
}

#[test]
fn as_few_passes_as_possible_are_made() {
    for side in [1, 4, 5, 30, 64] {
        let image = Image::new(side, |_, _| 0.5);
        assert_eq!(multiply(&image, &image).passes(), fewest(side), "passes for {side}×{side}");
    }
}
