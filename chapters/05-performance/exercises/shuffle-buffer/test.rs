//! The test of the exercise `shuffle-buffer`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::Shuffled;

fn order(count: usize, room: usize, seed: u64) -> Vec<usize> {
    Shuffled::new(0..count, room, seed).collect()
}

#[test]
fn nothing_is_lost_and_nothing_comes_twice() {
    for (count, room) in [(0, 4), (1, 4), (4, 4), (5, 4), (100, 7), (3, 1000)] {
        let mut seen = order(count, room, 3);
        seen.sort_unstable();
        assert_eq!(seen, (0..count).collect::<Vec<_>>(), "{count} records, room for {room}");
    }
}

#[test]
fn the_memory_is_kept() {
    let mut shuffled = Shuffled::new(0..500, 20, 1);
    while shuffled.next().is_some() {
        let held = shuffled.held();
        assert!(held <= 20, "{held} are in the buffer, and there is room for 20");
    }
    assert_eq!(shuffled.held(), 0);
}

#[test]
fn it_is_shuffled_as_far_as_the_room_goes() {
    assert_eq!(order(50, 1, 3), (0..50).collect::<Vec<_>>(), "room for one: no choice");
    let far = order(1000, 100, 3);
    // No record can leave before it came in …
    assert!(far.iter().enumerate().all(|(place, record)| *record < place + 100));
    // … and each position of the first buffer is as likely: the first one is uniform from 0 to 99.
    let mean = (0..400).map(|seed| order(1000, 100, seed)[0] as f64).sum::<f64>() / 400.0;
    assert!((mean - 49.5).abs() < 6.0, "the first record is {mean} on average, instead of 49.5");
}

#[test]
fn the_order_is_a_function_of_the_seed() {
    assert_eq!(order(100, 10, 1), order(100, 10, 1));
    assert_ne!(order(100, 10, 1), order(100, 10, 2));
}
