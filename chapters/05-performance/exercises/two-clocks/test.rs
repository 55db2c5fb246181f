//! The test of the exercise `two-clocks`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Call::{self, Launch, Wait};
use exercise::times;
use lab::{check::near, random::SplitMix64};
use std::collections::VecDeque;

const US: f64 = 1e-6;
const PEAK: f64 = 50e12;

/// A kernel of so many microseconds that does this fraction of what the peak allows.
fn kernel(us: usize, of_peak: f64) -> Call {
    let seconds = us as f64 * US;
    Launch { seconds, flops: of_peak * seconds * PEAK }
}

/// Host and device, microsecond by microsecond: when the calls have returned, when all is done, and how long the device
/// was at work.
fn played(calls: &[Call], launch: usize) -> [usize; 3] {
    let (mut at, mut spent, mut now, mut busy) = (0, 0, 0, 0);
    let (mut returned, mut queue) = (None, VecDeque::new());
    loop {
        while at < calls.len() && calls[at] == Wait && queue.is_empty() {
            at += 1;
        }
        if at == calls.len() {
            let returned = *returned.get_or_insert(now);
            if queue.is_empty() {
                return [returned, now, busy];
            }
        }
        if let Some(left) = queue.front_mut() {
            (*left, busy) = (*left - 1, busy + 1);
            if *left == 0 {
                queue.pop_front();
            }
        }
        if let Some(Launch { seconds, .. }) = calls.get(at) {
            spent += 1;
            if spent == launch {
                queue.push_back((seconds / US).round() as usize);
                (at, spent) = (at + 1, 0);
            }
        }
        now += 1;
    }
}

/// The kernels' microseconds, and where the host waits.
fn described(calls: &[Call]) -> String {
    let word = |call: &Call| match call {
        Launch { seconds, .. } => format!("{:.0}", seconds / US),
        Wait => "wait".to_owned(),
    };
    calls.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn holds(calls: &[Call], launch: usize) {
    let found = times(calls, launch as f64 * US, PEAK);
    let [returned, done, busy] = played(calls, launch).map(|us| us as f64);
    let flops = |call: &Call| if let Launch { flops, .. } = call { *flops } else { 0.0 };
    let at_peak = calls.iter().map(flops).sum::<f64>() / PEAK / US;
    for (what, found, wanted) in [
        ("µs until the calls have returned", found.returned / US, returned),
        ("µs until all is done", found.done / US, done),
        ("busy", found.busy, busy / done.max(1.0)),
        ("MFU", found.mfu, at_peak / done.max(1.0)),
    ] {
        let row = described(calls);
        near(found, wanted, 1e-6, format!("launches of {launch} µs, kernels in µs: {row}: {what}"));
    }
}

#[test]
fn the_longer_one_of_calls_and_kernels_counts() {
    holds(&[kernel(25, 0.01); 13], 4);
    holds(&[kernel(1, 0.5); 13], 4);
    holds(&[kernel(4, 0.5); 13], 4);
    holds(&[], 4);
    holds(&[Wait], 4);
}

#[test]
fn returned_is_not_done() {
    let found = times(&[kernel(200, 0.1); 13], 4.0 * US, PEAK);
    assert!(found.done > 10.0 * found.returned, "{found:?}");
    let waited = times(&[[kernel(200, 0.1); 13].as_slice(), &[Wait]].concat(), 4.0 * US, PEAK);
    near(waited.returned, waited.done, 1e-12, "with a wait at the end");
}

#[test]
fn busy_is_not_well_used() {
    let found = times(&[kernel(25, 0.03); 100], 4.0 * US, PEAK);
    println!("busy {:.0}%, MFU {:.1}%", 100.0 * found.busy, 100.0 * found.mfu);
    assert!(found.busy > 0.98 && found.mfu < 0.04, "{found:?}");
}

#[test]
fn reading_the_loss_costs_the_lead() {
    let step = [kernel(2, 0.1), kernel(10, 0.1), kernel(3, 0.1)];
    let queued = step.repeat(50);
    let read = [step.as_slice(), &[Wait]].concat().repeat(50);
    holds(&queued, 4);
    holds(&read, 4);
    let [queued, read] = [queued, read].map(|calls| times(&calls, 4.0 * US, PEAK).done);
    assert!(read > 1.2 * queued, "{read:.2e} s with a read in each step, {queued:.2e} without");
}

#[test]
fn calls_in_any_order() {
    let mut random = SplitMix64::new(6);
    for launch in 1..=5 {
        for _ in 0..40 {
            let call = |_| match random.below(4) {
                0 => Wait,
                _ => kernel(1 + random.below(12), random.unit()),
            };
            holds(&(0..30).map(call).collect::<Vec<_>>(), launch);
        }
    }
}
