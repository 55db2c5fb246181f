//! The test of the exercise `block-scale`.

#![allow(clippy::float_cmp)] // What can be represented comes back exactly.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::{BLOCK, Block, Element, NAN, quantise, scale};
use lab::check::{SplitMix64, near, pairs};

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

/// What all blocks of a row hold.
#[track_caller]
fn values(row: &[f32], element: Element) -> Vec<f64> {
    blocks(row, element).iter().flat_map(|block| block.values(element)).collect()
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
        let what = format!("{element:?}, {numbers:?}: with the scale {}", block.scale);
        let what = format!("{what} the squared errors are {found:e}");
        assert!(found <= wanted * (1.0 + 1e-9), "{what}, with {code} {wanted:e}");
    }
}

#[test]
fn the_elements_are_the_specifications() {
    let numbers = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    for (code, number) in (0..8).zip(numbers) {
        assert_eq!([code, code | 8].map(|code| Element::E2M1.decode(code)), [number, -number]);
        assert_eq!(Element::E2M1.encode(-number), code | 8);
    }
    let ties = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 100.0];
    assert_eq!(ties.map(|x| Element::E2M1.encode(x)), [0, 2, 2, 4, 4, 6, 6, 7]);
    assert_eq!(Element::E4M3.decode(Element::E4M3.encode(1e9)), 448.0);
}

#[test]
fn what_can_be_represented_comes_back() {
    let mut random = SplitMix64::new(1);
    for (element, len) in pairs(ELEMENTS, [0, 1, 31, 32, 33, 64, 100, 1000]) {
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
        near(values(&row, element), row, 0.0, format!("{element:?}, {len} numbers"));
    }
}

#[test]
fn no_other_scale_has_smaller_errors() {
    let mut random = SplitMix64::new(2);
    for element in ELEMENTS {
        for (len, size) in pairs([1, 2, 31, 32, 33, 70, 320], [1e-3, 1.0, 7.0, 1e20]) {
            let drawn: Vec<f64> = (0..len).map(|_| random.normal()).collect();
            let row: Vec<f32> = drawn.iter().map(|x| (size * x) as f32).collect();
            is_best(&row, element);
            // A few numbers far above the others.
            let row: Vec<f32> = drawn.iter().map(|x| (size * x * (3.0 * x).exp()) as f32).collect();
            is_best(&row, element);
        }
        // One number far above many that are too small for its scale.
        let highs = [4.0, 4.1, 5.0, 5.9, 6.0, 6.1, 7.0, 7.9, 8.0, 440.0, 479.0, 511.0];
        for (high, low) in pairs(highs, [0.2, 0.25, 0.3, 0.75]) {
            let mut row = vec![low; BLOCK];
            row[7] = -high;
            is_best(&row, element);
        }
    }
}

#[test]
fn errors_stay_below_half_a_gap_of_the_largest_number() {
    let mut random = SplitMix64::new(3);
    let formats = [(Element::E2M1, 1), (Element::E4M3, 3)];
    for ((element, bits), exponent) in pairs(formats, [-100, -20, 0, 20, 100]) {
        let row = random.normals(20 * BLOCK, 2f64.powi(exponent));
        for (block, numbers) in blocks(&row, element).iter().zip(row.chunks(BLOCK)) {
            let highest = numbers.iter().fold(0.0_f32, |highest, x| x.abs().max(highest));
            let found = (error(block, numbers, element) / numbers.len() as f64).sqrt();
            let allowed = f64::from(highest) * 2f64.powi(-bits - 1);
            let what = format!("{element:?}: root mean square of the errors {found:e}");
            let what = format!("{what}, above {allowed:e}");
            assert!(found <= allowed, "{what}; the largest number is {highest:e}");
        }
    }
}

#[test]
fn zero_huge_and_subnormal_numbers_have_a_scale() {
    for element in ELEMENTS {
        let least = f32::from_bits(1);
        let values_in = [0.0, f32::MAX, f32::MIN_POSITIVE, least, 1e-40, 1e-38];
        for (len, value) in pairs([1, 32, 40], values_in) {
            let sign = |at: usize| if at % 3 == 1 { -value } else { value };
            let row: Vec<f32> = (0..len).map(sign).collect();
            is_best(&row, element);
            let values = values(&row, element);
            let finite = values.iter().all(|x| x.is_finite());
            assert!(finite, "{element:?}, {value:e}: {values:?}");
        }
        near(values(&[0.0; 40], element), [0.0; 40], 0.0, format!("{element:?}: zeros"));
    }
}

#[test]
fn nan_and_infinity_make_their_block_nan_and_no_other() {
    let bad = pairs([f32::NAN, f32::INFINITY, f32::NEG_INFINITY], [0, 31, 32, 50, 69]);
    for (element, (bad, at)) in pairs(ELEMENTS, bad) {
        let mut row = vec![1.5; 70];
        row[at] = bad;
        for (number, block) in blocks(&row, element).iter().enumerate() {
            let values = block.values(element);
            let what = format!("{element:?}, {bad} at {at}, block {number}");
            if number == at / BLOCK {
                assert_eq!(block.scale, NAN, "{what}: the scale");
                assert!(values.iter().all(|x| x.is_nan()), "{what}: {values:?}");
            } else {
                near(&values, vec![1.5; values.len()], 0.0, what);
            }
        }
    }
}
