//! The test of the exercise `slowest-of-p`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{efficiency, slowest};
use lab::{check::near, random::SplitMix64};
use multi_gpu::plan::simulate::expected_max;

/// The mean of the slowest over all ways in which p devices can draw.
fn tried(times: &[f64], p: u32) -> f64 {
    let ways = times.len().pow(p);
    let slowest = |way: usize| {
        let draws = (0..p).map(|device| times[way / times.len().pow(device) % times.len()]);
        draws.fold(f64::NEG_INFINITY, f64::max)
    };
    (0..ways).map(slowest).sum::<f64>() / ways as f64
}

#[test]
fn it_is_the_mean_over_all_draws() {
    for times in [vec![2.0], vec![3.0, 1.0], vec![1.0, 1.0, 5.0], vec![0.4, 0.1, 0.9, 0.2, 0.4]] {
        for p in 1..=6 {
            let (wanted, what) = (tried(&times, p), format!("{p} devices of {times:?}"));
            near(slowest(&times, p), wanted, 1e-9, format!("{what}: seconds"));
            let wanted = tried(&times, 1) / wanted;
            near(efficiency(&times, p), wanted, 1e-9, format!("{what}: efficiency"));
        }
    }
}

#[test]
fn very_many_devices_take_the_longest_time() {
    let mut random = SplitMix64::new(1);
    let times: Vec<f64> = (0..100).map(|_| 1.0 + random.unit()).collect();
    let longest = times.iter().copied().fold(0.0, f64::max);
    near(slowest(&times, 100_000), longest, 1e-9, "seconds, the longest time");
    let more: Vec<f64> = (0..12).map(|log| slowest(&times, 1 << log)).collect();
    assert!(more.is_sorted() && more[11] > more[0], "more devices, longer steps: {more:?}");
}

#[test]
fn normal_times_are_those_of_the_simulator() {
    let mut random = SplitMix64::new(2);
    let sigma = 0.02;
    let times: Vec<f64> = (0..200_000).map(|_| 1.0 + sigma * random.normal()).collect();
    for p in [1, 2, 8, 64, 512] {
        let found = (slowest(&times, p) - 1.0) / sigma;
        near(found, expected_max(p as usize), 0.05, format!("σ of {p} devices"));
    }
}

#[test]
fn rare_slow_steps_decide_at_scale() {
    let mut times = vec![1.0; 100];
    times[37] = 10.0;
    let kept = [1, 8, 512].map(|p| efficiency(&times, p));
    println!("one step in a hundred takes ten times as long: efficiency {kept:.2?}");
    near(kept[0], 1.0, 1e-12, "one device waits for nobody");
    assert!(kept[1] > 0.5 && kept[2] < 0.12, "{kept:?}");
}
