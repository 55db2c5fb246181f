//! The test of the exercise `chains`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Core, enough, rate};
use lab::check::pairs;

/// Cores with vectors, units and latencies of many kinds.
fn cores() -> Vec<Core> {
    let kinds = pairs([1, 4, 8, 16], pairs(1..=4, [1, 3, 4, 5, 8]));
    let core = |(lanes, (units, latency))| Core { lanes, units, latency, clock: 2.5e9 };
    kinds.into_iter().map(core).collect()
}

/// The rate of a core that runs cycle by cycle: a unit takes the chain that has been ready for longest.
fn simulated(core: Core, chains: usize) -> f64 {
    let mut ready = vec![0; chains]; // the cycle from which on each chain can go on
    let (cycles, mut started) = (20 * core.latency, 0);
    for cycle in 0..cycles {
        for _ in 0..core.units {
            if let Some(first) = ready.iter_mut().min()
                && *first <= cycle
            {
                *first = cycle + core.latency;
                started += 1;
            }
        }
    }
    (2 * core.lanes * started) as f64 / cycles as f64 * core.clock
}

#[test]
fn the_rate_is_that_of_the_simulated_core() {
    for (core, chains) in pairs(cores(), 0..40) {
        let (found, wanted) = (rate(core, chains), simulated(core, chains));
        let off = (found - wanted).abs() / core.clock;
        assert!(off < 1e-9, "{chains} chains: {found:e}, and not {wanted:e}, on {core:?}");
    }
}

#[test]
fn enough_chains_reach_the_peak_and_one_less_does_not() {
    for core in cores() {
        let (chains, peak) = (enough(core), simulated(core, 40));
        let short = |chains: usize| peak - simulated(core, chains);
        assert!(short(chains).abs() < 1.0, "{chains} chains miss the peak of {core:?}");
        assert!(short(chains - 1) > 1.0, "fewer than {chains} chains do for {core:?}");
    }
}

#[test]
fn the_labs_twelve_chains_are_enough() {
    for latency in [4, 5] {
        let core = Core { lanes: 8, units: 2, latency, clock: 3e9 };
        println!("latency {latency}: {} chains are enough", enough(core));
        assert!(enough(core) <= 12, "{core:?}");
        let one = rate(core, 1) / rate(core, 12);
        assert!((one - 1.0 / (2 * latency) as f64).abs() < 1e-9, "one chain: {one} of the peak");
    }
}
