use mixed_precision::amp::range::{Histogram, LEAST, NORMAL, Shares};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn shares_are_those_of_the_format() {
    let edge = 2f32.powi(LEAST - 1);
    let numbers = [0.0, edge, 1.01 * edge, 2f32.powi(NORMAL), -65504.0, 70000.0, f32::NAN, 1.0];
    let shares = Shares::of(&numbers, 1.0);
    let wanted = Shares {
        zero: 0.125,
        vanished: 0.125, // half of the smallest is a tie, and goes to the even one: zero
        subnormal: 0.125,
        normal: 0.375,
        overflow: 0.25,
    };
    assert_eq!(shares, wanted);
    assert!((Shares::of(&[edge], 2048.0).normal - 1.0).abs() < 1e-12);
    assert_eq!(Shares::of(&[], 1.0), Shares::default());
}

proptest! {
    #[test]
    fn a_number_lies_in_its_bin(bits in 1_u32..0x7f80_0000) {
        let number = f32::from_bits(bits);
        let histogram = Histogram::of(&[number, -number, 0.0, f32::INFINITY]);
        let (&e, &count) = histogram.counts.iter().next().unwrap();
        prop_assert_eq!((count, histogram.zeros, histogram.total()), (2, 1, 3));
        let (low, size) = (2f64.powi(e), f64::from(number));
        prop_assert!(low <= size && size < 2.0 * low);
        prop_assert!((histogram.share(e) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_power_of_two_moves_the_bins_and_nothing_else(
        numbers in prop::collection::vec(-1e-3_f32..1e-3, 0..50),
        k in 0..20_i32,
    ) {
        let scaled: Vec<f32> = numbers.iter().map(|g| g * 2f32.powi(k)).collect();
        let (plain, scaled) = (Histogram::of(&numbers), Histogram::of(&scaled));
        let moved: BTreeMap<i32, u64> = plain.counts.iter().map(|(e, n)| (e + k, *n)).collect();
        prop_assert_eq!(moved, scaled.counts);
    }
}
