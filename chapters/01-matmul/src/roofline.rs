//! The roofline: the most that a program can reach, from its operations and the bytes that it moves.
//!
//! Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for multicore
//! architectures", Communications of the ACM 52(4), 2009.

use lab::{Plan, Samples, measure};
use std::hint::black_box;

// ANCHOR: bound
/// The most FLOP/s at `intensity` operations per byte, where `peak` (FLOP/s)
/// limits the arithmetic and `bandwidth` (B/s) the bytes.
pub fn bound(intensity: f64, peak: f64, bandwidth: f64) -> f64 {
    peak.min(intensity * bandwidth)
}
// ANCHOR_END: bound

/// Bytes per second at which one thread reads `bytes` of memory over and over: from whichever cache they fit
/// into, once they have been read.
pub fn read_bandwidth(plan: Plan, bytes: usize) -> Samples {
    let numbers = vec![1.0f32; (bytes / size_of::<f32>()).next_multiple_of(LANES)];
    let bytes = size_of_val(&numbers[..]) as f64;
    // Small buffers are read several times for one sample, so that the clock's own time does not count.
    let passes = (f64::from(8 << 20) / bytes).ceil();
    let samples = measure::time(plan, || {
        for _ in 0..passes as usize {
            black_box(total(black_box(&numbers)));
        }
    });
    samples.map(|seconds| passes * bytes / seconds)
}

/// Sums that run side by side: enough that reading is what takes the time.
const LANES: usize = 64;

/// The sum of `numbers`, whose length is a multiple of 64.
#[inline]
pub fn total(numbers: &[f32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: this CPU has AVX2.
        return unsafe { total_avx2(numbers) };
    }
    total_in_lanes(numbers)
}

/// The same loop, compiled for vectors of eight.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn total_avx2(numbers: &[f32]) -> f32 {
    total_in_lanes(numbers)
}

/// The same on any CPU.
#[inline(always)]
pub fn total_in_lanes(numbers: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for chunk in numbers.as_chunks::<LANES>().0 {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += x;
        }
    }
    sums.iter().sum()
}
