//! The test of the exercise `block-scale`.

#![allow(clippy::float_cmp)] // What can be represented comes back exactly.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use backprop::random::SplitMix64;
use exercise::{BLOCK, Block, Element, NAN, quantise, scale};

const ELEMENTS: [Element; 2] = [Element::E2M1, Element::E4M3];

/// The blocks of a row, as many and as long as they must be.
#[track_caller]
fn blocks(row: &[f32], element: Element) -> Vec<Block> {
    let blocks = quantise(row, element);
    let found: Vec<usize> = blocks.iter().map(|block| block.elements.len()).collect();
    let wanted: Vec<usize> = row.chunks(BLOCK).map(<[f32]>::len).collect();
    assert_eq!(found, wanted, "the lengths of the blocks of {} numbers", row.len());
    blocks
}

/// The sum of the squared errors of one block.
fn error(block: &Block, numbers: &[f32], element: Element) -> f64 {
    let pairs = block.values(element).into_iter().zip(numbers);
    pairs.map(|(found, x)| (found - f64::from(*x)).powi(2)).sum()
}

/// The same with the best of all scales.
fn least(numbers: &[f32], element: Element) -> (f64, u8) {
    let with = |code: u8| {
        let encode = |x: &f32| element.encode(f64::from(*x) / scale(code));
        let block = Block { scale: code, elements: numbers.iter().map(encode).collect() };
        (error(&block, numbers, element), code)
    };
    (0..NAN).map(with).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0))
}

/// No scale gives any block a smaller error.
#[track_caller]
fn is_best(row: &[f32], element: Element) {
    for (block, numbers) in blocks(row, element).iter().zip(row.chunks(BLOCK)) {
        let (found, (wanted, code)) = (error(block, numbers, element), least(numbers, element));
        assert!(
            found <= wanted * (1.0 + 1e-9),
            "{element:?}, {numbers:?}: with the scale {} the squared errors are {found:e}, with {code} {wanted:e}",
            block.scale
        );
    }
}

#[test]
fn the_elements_are_the_specifications() {
    let numbers = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    for (code, number) in (0..8).zip(numbers) {
        assert_eq!(Element::E2M1.decode(code), number);
        assert_eq!(Element::E2M1.decode(code | 8), -number);
        assert_eq!(Element::E2M1.encode(-number), code | 8);
    }
    let ties = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 100.0];
    assert_eq!(ties.map(|x| Element::E2M1.encode(x)), [0, 2, 2, 4, 4, 6, 6, 7]);
    assert_eq!(Element::E4M3.decode(Element::E4M3.encode(1e9)), 448.0);
}

#[test]
fn what_can_be_represented_comes_back() {
    let mut random = SplitMix64::new(1);
    for element in ELEMENTS {
        for len in [0, 1, 31, 32, 33, 64, 100, 1000] {
            let mut row = Vec::new();
            while row.len() < len {
                // A scale of its own for each block; all products are f32 numbers, down to subnormal ones.
                let size = scale(random.below(246) as u8);
                let count = BLOCK.min(len - row.len());
                let codes = (0..count).map(|_| match element {
                    Element::E2M1 => random.below(16) as u8,
                    Element::E4M3 => (random.below(127) + 128 * random.below(2)) as u8,
                });
                row.extend(codes.map(|code| (element.decode(code) * size) as f32));
            }
            let found = blocks(&row, element).into_iter().flat_map(|block| block.values(element));
            for (at, (found, x)) in found.zip(&row).enumerate() {
                let wanted = f64::from(*x);
                assert_eq!(found, wanted, "{element:?}, number {at} of {len}");
            }
        }
    }
}

#[test]
fn no_other_scale_has_smaller_errors() {
    let mut random = SplitMix64::new(2);
    for element in ELEMENTS {
        for len in [1, 2, 31, 32, 33, 70, 320] {
            for size in [1e-3, 1.0, 7.0, 1e20] {
                let drawn: Vec<f64> = (0..len).map(|_| random.normal()).collect();
                let row: Vec<f32> = drawn.iter().map(|x| (size * x) as f32).collect();
                is_best(&row, element);
                // A few numbers far above the others.
                let row: Vec<f32> =
                    drawn.iter().map(|x| (size * x * (3.0 * x).exp()) as f32).collect();
                is_best(&row, element);
            }
        }
        // One number far above many that are too small for its scale.
        for high in [4.0, 4.1, 5.0, 5.9, 6.0, 6.1, 7.0, 7.9, 8.0, 440.0, 479.0, 511.0] {
            for low in [0.2, 0.25, 0.3, 0.75] {
                let mut row = vec![low; BLOCK];
                row[7] = -high;
                is_best(&row, element);
            }
        }
    }
}

#[test]
fn errors_stay_below_half_a_gap_of_the_largest_number() {
    let mut random = SplitMix64::new(3);
    for (element, bits) in [(Element::E2M1, 1), (Element::E4M3, 3)] {
        for exponent in [-100, -20, 0, 20, 100] {
            let mut draw = || (random.normal() * 2f64.powi(exponent)) as f32;
            let row: Vec<f32> = (0..20 * BLOCK).map(|_| draw()).collect();
            for (block, numbers) in blocks(&row, element).iter().zip(row.chunks(BLOCK)) {
                let highest = numbers.iter().fold(0.0_f32, |highest, x| x.abs().max(highest));
                let found = (error(block, numbers, element) / numbers.len() as f64).sqrt();
                let allowed = f64::from(highest) * 2f64.powi(-bits - 1);
                assert!(
                    found <= allowed,
                    "{element:?}: root mean square of the errors {found:e}, above {allowed:e}; the largest number is {highest:e}"
                );
            }
        }
    }
}

#[test]
fn zero_huge_and_subnormal_numbers_have_a_scale() {
    for element in ELEMENTS {
        for len in [1, 32, 40] {
            for value in [0.0, f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1), 1e-40, 1e-38] {
                let row: Vec<f32> =
                    (0..len).map(|at| if at % 3 == 1 { -value } else { value }).collect();
                is_best(&row, element);
                for block in blocks(&row, element) {
                    let values = block.values(element);
                    assert!(
                        values.iter().all(|x| x.is_finite()),
                        "{element:?}, {value:e}: {values:?}"
                    );
                }
            }
        }
        let nothing = blocks(&[0.0; 40], element);
        let values: Vec<f64> = nothing.iter().flat_map(|block| block.values(element)).collect();
        assert!(values.iter().all(|x| *x == 0.0), "{element:?}: zeros become {values:?}");
    }
}

#[test]
fn nan_and_infinity_make_their_block_nan_and_no_other() {
    for element in ELEMENTS {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for at in [0, 31, 32, 50, 69] {
                let mut row = vec![1.5; 70];
                row[at] = bad;
                for (number, block) in blocks(&row, element).iter().enumerate() {
                    let (values, what) =
                        (block.values(element), format!("{element:?}, {bad} at {at}"));
                    if number == at / BLOCK {
                        assert_eq!(block.scale, NAN, "{what}: the scale of block {number}");
                        assert!(values.iter().all(|x| x.is_nan()), "{what}: {values:?}");
                    } else {
                        assert!(
                            values.iter().all(|x| *x == 1.5),
                            "{what}, block {number}: {values:?}"
                        );
                    }
                }
            }
        }
    }
}
