use multi_gpu::bytes::{length_from_numbers, length_to_numbers};

#[test]
fn a_length_that_no_rank_sends_is_refused() {
    for length in [0, 1, 1 << 24, (1 << 32) - 1, 1 << 32] {
        assert_eq!(length_from_numbers(&length_to_numbers(length)).unwrap(), length);
    }
    for length in [(1 << 32) + 1, usize::MAX] {
        assert!(length_from_numbers(&length_to_numbers(length)).is_err());
    }
}
