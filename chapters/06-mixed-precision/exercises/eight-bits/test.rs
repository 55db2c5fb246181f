//! The test of the exercise `eight-bits`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::decode;
use lab::check::{near, same_bits};
use mixed_precision::formats::Format;

#[test]
fn a_few_by_hand() {
    let codes = [0x38, 0x39, 0xc4, 0x01, 0x08, 0x7e, 0xf8];
    let wanted = [1.0, 1.125, -3.0, 1.0 / 512.0, 1.0 / 64.0, 448.0, -256.0];
    near(codes.map(decode), wanted, 1e-9, format!("the codes {codes:#x?}"));
}

#[test]
fn two_codes_are_nan_and_none_is_infinite() {
    let nans: Vec<u8> = (0..=255).filter(|code| decode(*code).is_nan()).collect();
    assert_eq!(nans, [0x7f, 0xff]);
    assert!((0..=255).all(|code| !decode(code).is_infinite()));
}

#[test]
fn zero_has_two_signs() {
    same_bits([0, 0x80].map(decode), [0.0, -0.0], "the codes 0 and 0x80");
}

#[test]
fn all_256_are_those_of_the_chapter() {
    for code in 0..=255_u8 {
        let (found, wanted) = (decode(code), Format::E4M3.decode(u32::from(code)));
        let same = found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan();
        assert!(same, "{code:08b} is {wanted}, not {found}");
    }
}
