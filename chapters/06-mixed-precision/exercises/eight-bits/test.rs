//! The test of the exercise `eight-bits`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::decode;
use mixed_precision::formats::Format;

#[test]
fn a_few_by_hand() {
    for (code, wanted) in [
        (0x38, 1.0),
        (0x39, 1.125),
        (0xc4, -3.0),
        (0x01, 1.0 / 512.0),
        (0x08, 1.0 / 64.0),
        (0x7e, 448.0),
        (0xf8, -256.0),
    ] {
        let found = decode(code);
        assert!((found - wanted).abs() < 1e-9, "{code:08b} is {wanted}, not {found}");
    }
}

#[test]
fn two_codes_are_nan_and_none_is_infinite() {
    let nans: Vec<u8> = (0..=255).filter(|code| decode(*code).is_nan()).collect();
    assert_eq!(nans, [0x7f, 0xff]);
    assert!((0..=255).all(|code| !decode(code).is_infinite()));
}

#[test]
fn zero_has_two_signs() {
    assert_eq!(decode(0).to_bits(), 0.0_f64.to_bits());
    assert_eq!(decode(0x80).to_bits(), (-0.0_f64).to_bits());
}

#[test]
fn all_256_are_those_of_the_chapter() {
    for code in 0..=255_u8 {
        let (found, wanted) = (decode(code), Format::E4M3.decode(u32::from(code)));
        let same = found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan();
        assert!(same, "{code:08b} is {wanted}, not {found}");
    }
}
