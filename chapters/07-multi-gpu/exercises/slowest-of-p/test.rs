//! The test of the exercise `slowest-of-p`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::{efficiency, slowest};
use lab::random::SplitMix64;
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
            let (found, wanted) = (slowest(&times, p), tried(&times, p));
            let what = format!("{p} devices of {times:?}");
            assert!((found - wanted).abs() < 1e-9, "{what}: {found} s, and not {wanted}");
            let (found, wanted) = (efficiency(&times, p), tried(&times, 1) / wanted);
            assert!((found - wanted).abs() < 1e-9, "{what}: efficiency {found}, not {wanted}");
        }
    }
}

#[test]
fn very_many_devices_take_the_longest_time() {
    let mut random = SplitMix64::new(1);
    let times: Vec<f64> = (0..100).map(|_| 1.0 + random.unit()).collect();
    let longest = times.iter().copied().fold(0.0, f64::max);
    let found = slowest(&times, 100_000);
    assert!((found - longest).abs() < 1e-9, "{found} s, and the longest time is {longest}");
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
        let wanted = expected_max(p as usize);
        assert!((found - wanted).abs() < 0.05, "{p} devices: {found:.2} σ, and not {wanted:.2}");
    }
}

#[test]
fn rare_slow_steps_decide_at_scale() {
    let mut times = vec![1.0; 100];
    times[37] = 10.0;
    let kept = [1, 8, 512].map(|p| efficiency(&times, p));
    println!("one step in a hundred takes ten times as long: efficiency {kept:.2?}");
    assert!((kept[0] - 1.0).abs() < 1e-12, "one device waits for nobody: {kept:?}");
    assert!(kept[1] > 0.5 && kept[2] < 0.12, "{kept:?}");
}
