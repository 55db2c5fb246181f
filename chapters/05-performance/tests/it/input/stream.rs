use crate::input::store::stored;
use performance::Result;
use performance::input::store::{Layout, Store};
use performance::input::stream::{Batches, Epoch, Shuffle, variety};
use proptest::prelude::*;

/// An epoch over records that are their own numbers.
fn numbers(count: u32, block: usize, shuffle: Shuffle, seed: u64) -> Vec<u32> {
    let all: Vec<u8> = (0..count).flat_map(u32::to_le_bytes).collect();
    let packed = seed.is_multiple_of(2);
    let (_folder, path) = stored(&all, Layout { record: 4, block, packed });
    let epoch = Epoch::new(Store::open(&path).unwrap(), shuffle, seed, 1).unwrap();
    let batches = Batches::new(epoch, 1 + seed as usize % 7).unwrap();
    let bytes = batches.collect::<Result<Vec<_>>>().unwrap().concat();
    bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
}

fn shuffles() -> impl Strategy<Value = Shuffle> {
    prop_oneof![
        Just(Shuffle::None),
        (1usize..40).prop_map(Shuffle::Window),
        (1usize..300).prop_map(Shuffle::Buffer),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(
        count in 0u32..200, block in 1usize..50, shuffle in shuffles(), seed in 0u64..1000,
    ) {
        let mut seen = numbers(count, block, shuffle, seed);
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..count).collect::<Vec<_>>());
    }
}

#[test]
fn the_order_is_a_function_of_the_seed() {
    for shuffle in [Shuffle::Window(2), Shuffle::Buffer(30)] {
        let one = numbers(500, 10, shuffle, 3);
        assert_eq!(one, numbers(500, 10, shuffle, 3));
        assert_ne!(one, numbers(500, 10, shuffle, 5));
    }
    assert_eq!(numbers(50, 7, Shuffle::None, 3), (0..50).collect::<Vec<_>>());
}

#[test]
fn one_record_a_block_is_a_whole_shuffle() {
    // Each of four records is first about 1000 times in 4000 epochs (σ ≈ 27).
    let layout = Layout { record: 1, block: 1, packed: false };
    let (_folder, path) = stored(&[0, 1, 2, 3], layout);
    let mut first = [0; 4];
    for epoch in 0..4000 {
        let mut this =
            Epoch::new(Store::open(&path).unwrap(), Shuffle::Window(1), 9, epoch).unwrap();
        let mut record = Vec::new();
        this.next_into(&mut record).unwrap();
        first[usize::from(record[0])] += 1;
    }
    assert!(first.iter().all(|n| (850..1150).contains(n)), "{first:?}");
}

#[test]
fn rooms_of_nothing_are_refused_and_an_error_ends_the_epoch() {
    let (_folder, path) = stored(&[7; 40], Layout { record: 4, block: 5, packed: false });
    let open = || Store::open(&path).unwrap();
    for shuffle in [Shuffle::Window(0), Shuffle::Buffer(0)] {
        assert!(Epoch::new(open(), shuffle, 0, 0).is_err());
    }
    let epoch = |shuffle| Epoch::new(open(), shuffle, 0, 0).unwrap();
    assert!(Batches::new(epoch(Shuffle::None), 0).is_err());
    let mut bytes = std::fs::read(&path).unwrap();
    let mut batches = Batches::new(epoch(Shuffle::None), 5).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap(); // while the epoch runs
    assert!(batches.next().unwrap().is_ok());
    lab::testing::refused(batches.next().unwrap(), ["block 1 has been changed"]);
    assert!(batches.next().is_none());
}

#[test]
fn variety_counts_different_labels() {
    assert!((variety(&[1, 1, 2, 3, 3, 3], 3) - 1.5).abs() < 1e-12);
    assert!((variety(&[], 3) - 0.0).abs() < 1e-12);
}
