//! The test of the exercise `shift`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{SIDE, amount, shift};
use std::collections::HashMap;

/// An image with another value in each pixel of a row and of a column, and ink up to the edges.
fn image() -> Vec<u8> {
    (0..SIDE * SIDE).map(|at| (1 + (at % SIDE) + 7 * (at / SIDE)) as u8).collect()
}

/// The pixel at a position, paper where that is outside.
fn pixel(image: &[u8], x: isize, y: isize) -> u8 {
    let inside = |at: isize| usize::try_from(at).ok().filter(|at| *at < SIDE);
    inside(x).zip(inside(y)).map_or(0, |(x, y)| image[y * SIDE + x])
}

#[test]
fn every_pixel_moves_and_what_leaves_is_lost() {
    let before = image();
    for right in [-30, -28, -27, -3, -1, 0, 1, 2, 27, 28, 40] {
        for down in [-28, -2, -1, 0, 1, 5, 27, 28] {
            let after = shift(&before, [right, down]);
            assert_eq!(after.len(), SIDE * SIDE);
            for (x, y) in (0..28).flat_map(|y| (0..28).map(move |x| (x, y))) {
                let (found, wanted) = (pixel(&after, x, y), pixel(&before, x - right, y - down));
                assert_eq!(found, wanted, "column {x}, row {y}, moved by {right}, {down}");
            }
        }
    }
}

#[test]
fn all_ways_are_taken_and_each_about_equally_often() {
    let mut seen: HashMap<[isize; 2], usize> = HashMap::new();
    for image in 0..25_000 {
        *seen.entry(amount(1, 1, image, 2)).or_default() += 1;
    }
    // 25 ways of 1,000 each; the deviation of each count is 31.
    assert_eq!(seen.len(), 25, "{seen:?}");
    for (way, count) in &seen {
        assert!(way.iter().all(|by| by.abs() <= 2), "{way:?} is more than 2");
        assert!((840..1160).contains(count), "{way:?} comes {count} times of 25,000");
    }
}

#[test]
fn with_nothing_to_move_by_nothing_moves() {
    assert_eq!(amount(1, 2, 3, 0), [0, 0]);
    assert_eq!(shift(&image(), [0, 0]), image());
}

#[test]
fn it_is_a_function_of_seed_epoch_and_image() {
    // A hundred images: that all move as they did is no coincidence.
    let ways = |seed: u64, epoch: usize, first: usize| -> Vec<[isize; 2]> {
        (first..first + 100).map(|image| amount(seed, epoch, image, 3)).collect()
    };
    assert_eq!(ways(1, 2, 0), ways(1, 2, 0), "the same again");
    assert_ne!(ways(1, 2, 0), ways(2, 2, 0), "another seed");
    assert_ne!(ways(1, 2, 0), ways(1, 3, 0), "another epoch");
    assert_ne!(ways(1, 2, 0), ways(2, 1, 0), "seed and epoch exchanged");
    assert_ne!(ways(1, 2, 0), ways(1, 2, 100), "other images");
}
