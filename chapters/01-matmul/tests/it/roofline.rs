use lab::Plan;
use matmul::roofline::{bound, read_bandwidth, total, total_in_lanes};

#[test]
fn bound_is_the_lower_of_the_two() {
    assert_eq!(bound(1.0, 100.0, 10.0), 10.0);
    assert_eq!(bound(10.0, 100.0, 10.0), 100.0);
    assert_eq!(bound(100.0, 100.0, 10.0), 100.0);
}

#[test]
fn every_number_is_read() {
    // Small whole numbers: no order of adding rounds.
    let numbers: Vec<f32> = (0..512).map(|i| (i % 7) as f32).collect();
    let expected: i32 = (0..512).map(|i| i % 7).sum();
    assert_eq!(total(&numbers), expected as f32);
    assert_eq!(total_in_lanes(&numbers), expected as f32);
}

#[test]
fn bandwidth_is_a_rate() {
    let samples = read_bandwidth(Plan::times(3), 16 << 10);
    assert_eq!(samples.0.len(), 3);
    // No machine that runs this reads slower than 10 MB/s or faster than 100 TB/s.
    assert!(samples.0.iter().all(|&rate| (1e7..1e14).contains(&rate)), "{samples:?}");
}
