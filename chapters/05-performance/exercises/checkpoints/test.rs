//! The test of the exercise `checkpoints`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Layer, again, keep, peak};
use lab::{check::some, random::SplitMix64};

fn chain(layers: &[(u64, u64)]) -> Vec<Layer> {
    layers.iter().map(|&(bytes, operations)| Layer { bytes, operations }).collect()
}

/// Layers with so many bytes and operations at the most; some work in place and some cost nothing.
fn random_chain(random: &mut SplitMix64, len: usize, most: [usize; 2]) -> Vec<Layer> {
    let mut layer = || most.map(|most| random.below(most + 1) as u64);
    (0..len).map(|_| layer()).map(|[bytes, operations]| Layer { bytes, operations }).collect()
}

fn all(layers: &[Layer]) -> u64 {
    layers.iter().map(|layer| layer.bytes).sum()
}

/// What is computed again by a choice that must exist, be of the right length and fit.
#[track_caller]
fn cost(layers: &[Layer], budget: u64) -> u64 {
    let count = layers.len();
    let nothing = format!("{count} layers, {budget} bytes: nothing is found, but something fits");
    let kept = some(keep(layers, budget), nothing);
    assert_eq!(kept.len(), count, "a choice for each layer");
    let peak = peak(layers, &kept);
    assert!(peak <= budget, "{count} layers: {peak} bytes, and only {budget} are there");
    again(layers, &kept)
}

/// The least that any of all choices computes again.
fn least(layers: &[Layer], budget: u64) -> Option<u64> {
    let all = (0..1_u32 << layers.len())
        .map(|bits| (0..layers.len()).map(|at| bits >> at & 1 == 1).collect::<Vec<bool>>());
    all.filter(|kept| peak(layers, kept) <= budget).map(|kept| again(layers, &kept)).min()
}

#[test]
fn a_peak_by_hand() {
    let layers = chain(&[(4, 1), (3, 10), (2, 100), (5, 1000)]);
    assert_eq!(peak(&layers, &[false; 4]), 14);
    // 3 wait; before them 4 are computed again, after them 2 and 5.
    assert_eq!(peak(&layers, &[false, true, false, false]), 10);
    assert_eq!(again(&layers, &[false, true, false, false]), 1101);
}

#[test]
fn nothing_is_computed_again_if_everything_fits() {
    assert_eq!(cost(&[], 0), 0);
    for len in [1, 2, 9, 60] {
        let layers = random_chain(&mut SplitMix64::new(len as u64), len, [30, 1000]);
        let all = all(&layers);
        for budget in [all, all + 1, u64::MAX] {
            assert_eq!(cost(&layers, budget), 0, "{len} layers of {all} bytes in {budget}");
        }
    }
}

#[test]
fn no_other_choice_computes_less_again() {
    let mut random = SplitMix64::new(5);
    for round in 0..400 {
        let layers = random_chain(&mut random, 1 + round % 10, [9, 20]);
        let budget = random.below(all(&layers) as usize + 1) as u64;
        if let Some(wanted) = least(&layers, budget) {
            let (found, what) = (cost(&layers, budget), format!("{layers:?} in {budget} bytes"));
            assert!(found <= wanted, "{what}: {found} operations again, {wanted} are possible");
        } else {
            assert!(keep(&layers, budget).is_none(), "{layers:?} can't fit {budget} bytes");
        }
    }
}

#[test]
fn a_deep_network_keeps_what_is_small_and_takes_long() {
    // Blocks of a product and three cheap operations, all of one size. With room for the products and three more, at
    // least 3·(blocks − 1) outputs are missing when the backward pass begins, and each costs 1 or 50.
    for blocks in [1, 2, 10, 100] {
        let layers = chain(&[(8, 50), (8, 1), (8, 1), (8, 1)].repeat(blocks));
        let (budget, wanted) = (8 * (blocks as u64 + 3), 3 * (blocks as u64 - 1));
        let found = cost(&layers, budget);
        assert_eq!(found, wanted, "{blocks} blocks: operations that are done again");
    }
}

#[test]
fn a_long_random_chain_loses_to_no_equal_segments_and_to_no_random_choice() {
    for seed in 0..2 {
        let mut random = SplitMix64::new(seed);
        let layers = random_chain(&mut random, 60, [40, 1000]);
        let mut others: Vec<Vec<bool>> =
            (1..=60).map(|every| (1..=layers.len()).map(|at| at % every == 0).collect()).collect();
        for tenths in (0..1000).map(|round| round % 10) {
            others.push(layers.iter().map(|_| random.below(10) < tenths).collect());
        }
        let budgets = others.iter().map(|kept| peak(&layers, kept));
        let (low, high) = budgets.fold((u64::MAX, 0), |(low, high), b| (low.min(b), high.max(b)));
        let mut before = u64::MAX;
        for budget in (low..=high).step_by(((high - low) / 5) as usize) {
            let found = cost(&layers, budget);
            let fitting = others.iter().filter(|kept| peak(&layers, kept) <= budget);
            let best = fitting.map(|kept| again(&layers, kept)).min().unwrap_or(u64::MAX);
            let what = format!("seed {seed}: with {budget} bytes it takes");
            assert!(found <= best, "{what} {found} operations, not {best}");
            assert!(found <= before, "{what} more than with less");
            before = found;
        }
    }
}
