//! The test of the exercise `nearest-even`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::round;
use lab::check::{near, same_bits};
use mixed_precision::formats::Format;

/// Every upper half of an f32, with lower halves around the ties of bf16, tf32 and 22 bits.
fn numbers() -> impl Iterator<Item = f32> {
    const LOWER: [u32; 9] = [0, 1, 2, 0xfff, 0x1000, 0x7fff, 0x8000, 0x8001, 0xffff];
    (0..=0xffff_u32).flat_map(|upper| LOWER.map(|lower| f32::from_bits(upper << 16 | lower)))
}

#[test]
fn it_rounds_to_bf16_and_tf32_as_the_chapter_does() {
    for (format, bits) in [(Format::BF16, 7), (Format::TF32, 10)] {
        for x in numbers().filter(|x| !x.is_nan()) {
            let (found, wanted) = (round(x, bits), format.nearest(x.into()) as f32);
            same_bits(found, wanted, format_args!("{x:e} in {}", format.name()));
        }
    }
}

#[test]
fn a_tie_goes_to_the_even_neighbour() {
    // With 2 bits: 1, 1.25, 1.5, 1.75, 2.
    for (x, wanted) in [(1.125, 1.0), (1.375, 1.5), (1.625, 1.5), (1.875, 2.0), (1.126, 1.25)] {
        near([round(x, 2), round(-x, 2)], [wanted, -wanted], 1e-6, format!("{x} and −{x}"));
    }
}

#[test]
fn infinity_and_nan_stay() {
    for bits in 1..=22 {
        assert!(round(f32::INFINITY, bits) > f32::MAX);
        for nan in [0x7f80_0001, 0x7fff_ffff, 0xffff_ffff] {
            assert!(round(f32::from_bits(nan), bits).is_nan(), "{nan:#x} with {bits} bits");
        }
        assert!(round(f32::MAX, bits) > f32::MAX, "the largest f32 is nearer to infinity");
    }
}
