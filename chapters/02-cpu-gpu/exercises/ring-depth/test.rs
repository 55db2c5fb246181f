//! The test of the exercise `ring-depth`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Multiprocessor, Tile, best, slots};
use lab::check::pairs;

/// Roughly one of an H100: 4,096 operations in a cycle, 227 KiB, and half of the registers for sums.
const SM: Multiprocessor =
    Multiprocessor { operations: 4096, latency: 1500, shared: 227 << 10, sums: 1 << 15 };

/// The cycles that a ring of so many slots takes for so many slots' data. A slot is requested as soon as
/// it is empty.
fn simulated(slots: usize, latency: usize, each: usize, count: usize) -> usize {
    let mut emptied = vec![0; slots];
    let mut free = 0; // when the tensor cores are
    for slot in (0..slots).cycle().take(count) {
        free = free.max(emptied[slot] + latency) + each;
        emptied[slot] = free;
    }
    free
}

/// The fewest slots without a wait, by trying.
fn fewest(tile: Tile, on: Multiprocessor) -> usize {
    let each = tile.cycles(on);
    let busy = |slots: usize| simulated(slots, on.latency, each, 500) == on.latency + 500 * each;
    (1..400).find(|slots| busy(*slots)).unwrap_or(0)
}

/// Tiles from 64×64 to 256×256, in steps of 64, with two depths.
fn tiles() -> Vec<Tile> {
    let sides = [64, 128, 192, 256];
    let tile = |((rows, cols), depth)| Tile { rows, cols, depth };
    pairs(pairs(sides, sides), [32, 64]).into_iter().map(tile).collect()
}

#[test]
fn the_ring_is_as_deep_as_the_latency_asks() {
    for latency in [0, 1, 100, 512, 513, 1500, 5000] {
        let on = Multiprocessor { latency, ..SM };
        for tile in tiles() {
            let (found, wanted) = (slots(tile, on), fewest(tile, on));
            assert_eq!(found, wanted, "{tile:?}, {} cycles each, {on:?}", tile.cycles(on));
        }
    }
}

#[test]
fn the_best_tile_fits_and_none_that_fits_is_better() {
    for (latency, shared, sums) in
        [(1500, 227 << 10, 1 << 15), (1500, 100 << 10, 1 << 15), (600, 64 << 10, 1 << 14)]
    {
        let on = Multiprocessor { latency, shared, sums, ..SM };
        let fits =
            |tile: Tile| tile.rows * tile.cols <= sums && fewest(tile, on) * tile.bytes() <= shared;
        let found = best(&tiles(), on).expect("some of them fit");
        println!("{shared} bytes: {found:?} in {} slots", slots(found, on));
        assert!(fits(found), "{found:?} does not fit: {on:?}");
        // Bytes for each sum and step along k.
        let asked = |tile: Tile| (tile.rows + tile.cols) as f64 / (tile.rows * tile.cols) as f64;
        for tile in tiles().into_iter().filter(|tile| fits(*tile)) {
            let better = asked(tile) < asked(found) - 1e-9;
            assert!(!better, "{tile:?} fetches less than {found:?} and fits: {on:?}");
        }
    }
}

#[test]
fn where_nothing_fits_there_is_none() {
    assert_eq!(best(&tiles(), Multiprocessor { shared: 1024, ..SM }), None);
    assert_eq!(best(&tiles(), Multiprocessor { sums: 1024, ..SM }), None);
    assert_eq!(best(&[], SM), None);
}
