use multi_gpu::rank::{Rank, part_of};
use proptest::prelude::*;

proptest! {
    #[test]
    fn parts_cover_everything_once_and_differ_by_one(len in 0_usize..1000, size in 1_usize..40) {
        let parts: Vec<_> = (0..size).map(|r| part_of(len, Rank(r), size)).collect();
        prop_assert!(parts.iter().flat_map(Clone::clone).eq(0..len));
        let lengths = parts.iter().map(ExactSizeIterator::len);
        let (least, most) = (lengths.clone().min().unwrap(), lengths.clone().max().unwrap());
        prop_assert!(most - least <= 1);
        prop_assert!(lengths.is_sorted_by(|a, b| a >= b));
    }
}
