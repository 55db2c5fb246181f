//! The test of the exercise `device-cache`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{Buffer, Cache, Device};
use lab::random::SplitMix64;

#[track_caller]
fn take(cache: &mut Cache, device: &mut Device, bytes: usize) -> Buffer {
    cache.take(device, bytes).unwrap_or_else(|| panic!("no buffer of {bytes} bytes"))
}

/// A cache that keeps a buffer of each of these sizes.
fn filled(device: &mut Device, sizes: &[usize]) -> Cache {
    let mut cache = Cache::default();
    let buffers: Vec<_> = sizes.iter().map(|size| take(&mut cache, device, *size)).collect();
    for buffer in buffers {
        cache.give(device, buffer);
    }
    cache
}

#[test]
fn only_the_first_step_calls_the_device() {
    let (mut device, mut cache) = (Device::new(10_000), Cache::default());
    let sizes = [784, 128, 128, 10, 784];
    for step in 1..=10 {
        let buffers = sizes.map(|size| take(&mut cache, &mut device, size));
        assert!(buffers.iter().map(Buffer::bytes).eq(sizes), "step {step}: {buffers:?}");
        for buffer in buffers {
            cache.give(&mut device, buffer);
        }
        assert_eq!(device.calls(), sizes.len(), "calls after step {step}");
    }
    assert_eq!(cache.held() + device.left(), 10_000, "memory is lost");
}

#[test]
fn the_smallest_that_fits_is_taken() {
    let mut device = Device::new(10_000);
    let mut cache = filled(&mut device, &[100, 60, 40, 80]);
    let found = [50, 50, 50, 50].map(|bytes| take(&mut cache, &mut device, bytes).bytes());
    assert_eq!(found, [60, 80, 100, 50], "bytes of four buffers, for 50 each");
}

#[test]
fn a_small_request_does_not_take_a_large_buffer() {
    let mut device = Device::new(10_000);
    let mut cache = filled(&mut device, &[1000]);
    for (asked, wanted) in [(499, 499), (500, 1000)] {
        let found = take(&mut cache, &mut device, asked).bytes();
        assert_eq!(found, wanted, "bytes of the buffer for {asked}");
    }
}

#[test]
fn a_full_device_gets_back_what_is_kept() {
    let mut device = Device::new(100);
    let mut cache = filled(&mut device, &[30, 30, 30]);
    assert_eq!(cache.held(), 90, "bytes that the cache holds");
    let large = take(&mut cache, &mut device, 80);
    let found = (large.bytes(), cache.held(), device.left());
    assert_eq!(found, (80, 0, 20), "bytes that are taken, held by the cache, and left");
    // What is in use can't be given back.
    assert_eq!(cache.take(&mut device, 30), None);
    cache.give(&mut device, large);
    assert_eq!(take(&mut cache, &mut device, 30).bytes(), 30);
}

#[test]
fn requests_of_all_sizes_are_served() {
    let (mut device, mut random) = (Device::new(4000), SplitMix64::new(4));
    let (mut cache, mut used) = (Cache::default(), Vec::new());
    for _ in 0..5000 {
        if used.len() == 8 || !used.is_empty() && random.below(2) == 0 {
            cache.give(&mut device, used.swap_remove(random.below(used.len())));
        }
        // Eight buffers of up to twice their requests fit, so none may fail.
        let bytes = 1 + random.below(220);
        used.push(take(&mut cache, &mut device, bytes));
        let taken = used[used.len() - 1].bytes();
        assert!((bytes..=2 * bytes).contains(&taken), "{taken} bytes for {bytes}");
        let in_use: usize = used.iter().map(Buffer::bytes).sum();
        assert_eq!(in_use + cache.held() + device.left(), 4000, "memory is lost or made up");
    }
    println!("5000 requests, {} calls of the device", device.calls());
    assert!(device.calls() < 2500, "{} calls", device.calls());
}
