use crate::formats::round::hard_numbers;
use matmul::Input;
use mixed_precision::formats::{Format, Overflow, Rounding, fast::f16_bits};

#[test]
fn fast_conversions_equal_the_readable_one() {
    let readable = |format: Format, x: f32| {
        format.encode(x.into(), Rounding::Nearest, Overflow::Special) as u16
    };
    for x in hard_numbers(Format::F16) {
        assert_eq!(f16_bits(x), readable(Format::F16, x), "f16 {x:e} {:#x}", x.to_bits());
    }
    for x in hard_numbers(Format::BF16) {
        assert_eq!(x.bits(), readable(Format::BF16, x), "bf16 {x:e} {:#x}", x.to_bits());
    }
}
