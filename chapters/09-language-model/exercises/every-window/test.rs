//! The test of the exercise `every-window`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::window;
use lab::check::{SplitMix64, pairs};
use std::collections::HashSet;

/// One epoch.
fn epoch(seed: u64, epoch: u64, windows: u64) -> Vec<u64> {
    (0..windows).map(|index| window((seed, epoch), index, windows)).collect()
}

#[test]
fn every_window_is_drawn_once() {
    for windows in [1, 2, 3, 4, 5, 7, 16, 17, 64, 100, 257, 1000, 4096, 4097, 65_537] {
        for (index, at) in epoch(1, 0, windows).into_iter().enumerate() {
            assert!(at < windows, "index {index} gives window {at}, and there are {windows}");
        }
        let drawn: HashSet<u64> = epoch(1, 0, windows).into_iter().collect();
        let missing = windows - drawn.len() as u64;
        let what = format!("{missing} of {windows} windows are never drawn");
        assert_eq!(missing, 0, "{what}, because others are drawn twice");
    }
}

#[test]
fn an_order_can_be_had_again_and_no_other_epoch_has_it() {
    let first = epoch(1, 0, 1000);
    assert!(first == epoch(1, 0, 1000), "the same arguments give another window");
    for (what, other) in [("seed", epoch(2, 0, 1000)), ("epoch", epoch(1, 1, 1000))] {
        // Two random orders agree at one index on average.
        let same = first.iter().zip(&other).filter(|(one, two)| one == two).count();
        assert!(same < 20, "another {what}: {same} of 1,000 windows stay where they were");
    }
    assert!(epoch(1, 2, 1000) != epoch(2, 1, 1000), "seed and epoch are not only added");
}

#[test]
fn the_order_looks_random() {
    let windows = 10_000;
    let order = epoch(5, 3, windows);
    // Of random orders, 63% of the distances between neighbours differ; a fixed stride has one.
    let different = |of: &dyn Fn(u64, u64) -> u64| {
        order.windows(2).map(|pair| of(pair[0], pair[1])).collect::<HashSet<u64>>().len()
    };
    let found = different(&|one, next| (next + windows - one) % windows);
    assert!(found > 5000, "neighbours are only {found} different distances apart");
    // And a product with a matrix of bits has a few patterns of bits that change.
    let found = different(&|one, next| next ^ one);
    assert!(found > 4000, "neighbours differ in only {found} different patterns of bits");
    let off = |at: u64| at as f64 - (windows - 1) as f64 / 2.0;
    let both: f64 = (0..).zip(&order).map(|(index, at)| off(index) * off(*at)).sum();
    let correlation = both / (0..windows).map(|index| off(index).powi(2)).sum::<f64>();
    assert!(correlation.abs() < 0.05, "windows follow their indices: {correlation:.3}");
}

#[test]
fn over_many_seeds_each_index_gives_each_window_equally_often() {
    let mut times = [[0; 5]; 5];
    for (seed, index) in pairs(0..5000, 0..5) {
        let at = window((seed, 0), index, 5);
        assert!(at < 5, "index {index} gives window {at} of 5");
        times[index as usize][at as usize] += 1;
    }
    // A thousand, with a deviation of 28.
    let is_even = times.iter().flatten().all(|times| (850..1150).contains(times));
    assert!(is_even, "some windows are drawn more often at an index, of 5,000 times: {times:?}");
}

#[test]
fn there_is_no_list() {
    // No memory holds a list of so many.
    let mut random = SplitMix64::new(8);
    for windows in [1_000_000_007, 1_000_000_000_000_003, (1 << 62) + 1, u64::MAX] {
        let mut indices: HashSet<u64> = (0..1000).map(|_| random.next() % windows).collect();
        indices.extend([0, 1, windows - 2, windows - 1]);
        let drawn: HashSet<u64> = indices.iter().map(|at| window((4, 2), *at, windows)).collect();
        assert!(drawn.iter().all(|at| *at < windows), "a window that is not below {windows}");
        assert_eq!(drawn.len(), indices.len(), "of {windows} windows, some were drawn twice");
        let late = drawn.iter().filter(|at| **at >= windows / 2).count();
        assert!((400..600).contains(&late), "{late} of 1,000 are in the second half of {windows}");
    }
}
