//! The test of the exercise `damaged-file`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
mod exercise;

use exercise::read;
use lab::{data::idx, random::SplitMix64};

/// A file with these sizes and this data, whether they fit or not.
fn file(sizes: &[u32], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    bytes.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
    bytes.extend(data);
    bytes
}

/// The one message with which a file is refused.
#[track_caller]
fn refused(bytes: &[u8]) -> String {
    let found =
        read(bytes).map(|(sizes, data)| format!("sizes {sizes:?}, {} elements", data.len()));
    let sentence = found.expect_err("a wrong file passes").to_string();
    assert!(sentence.contains(' ') && !sentence.contains('\n'), "not a sentence: `{sentence}`");
    sentence
}

#[track_caller]
fn names(sentence: &str, wanted: usize, held: usize) {
    let numbers: Vec<&str> = sentence.split(|c: char| !c.is_ascii_digit()).collect();
    for number in [wanted, held] {
        assert!(numbers.contains(&&*number.to_string()), "{number} is not in `{sentence}`");
    }
}

#[test]
fn a_right_file_is_read() {
    let pixels: Vec<u8> = (0..24).collect();
    let images = idx::write_images(&pixels, 3, 4);
    assert_eq!(read(&images).expect("it is right"), (vec![2, 3, 4], &pixels[..]));
    let labels = idx::write_labels(&[5, 0, 4]);
    assert_eq!(read(&labels).expect("it is right"), (vec![3], &[5, 0, 4][..]));
    let four = file(&[1, 2, 1, 3], &pixels[..6]);
    assert_eq!(read(&four).expect("it is right"), (vec![1, 2, 1, 3], &pixels[..6]));
}

#[test]
fn a_file_cut_short_is_refused_wherever_it_is_cut() {
    let whole = file(&[100, 2, 3], &[7; 600]);
    for held in (0..whole.len()).rev() {
        let sentence = refused(&whole[..held]);
        if held >= 16 {
            names(&sentence, 616, held);
        }
    }
}

#[test]
fn a_file_that_is_too_long_is_refused() {
    names(&refused(&file(&[300], &[7; 301])), 308, 309);
}

#[test]
fn a_file_of_another_kind_is_refused() {
    refused(b"<!DOCTYPE html><title>Moved</title>");
    // 0x0d: 32-bit floats.
    refused(&[0, 0, 0x0d, 1, 0, 0, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn sizes_that_overflow_are_refused() {
    // 2^31 · 2^31 · 4 is 2^64, which a 64-bit number takes for 0.
    refused(&file(&[1 << 31, 1 << 31, 4], &[]));
    refused(&file(&[u32::MAX; 255], &[1, 2, 3]));
    // The product is 2^64 - 1, which fits. With the 16 bytes of the header it does not.
    refused(&file(&[u32::MAX, 641, 6_700_417], &[]));
}

#[test]
fn no_bytes_make_it_panic() {
    let mut random = SplitMix64::new(1);
    for _ in 0..20_000 {
        let mut bytes = file(&[2, 3, 4], &[9; 24]);
        for _ in 0..=random.below(3) {
            bytes[random.below(16)] = random.below(256) as u8;
        }
        bytes.truncate(random.below(48));
        if let Ok((sizes, data)) = read(&bytes) {
            let header = 4 + 4 * sizes.len();
            assert_eq!(sizes.iter().product::<usize>(), data.len(), "{bytes:02x?}");
            assert_eq!(header + data.len(), bytes.len(), "{bytes:02x?}");
        }
    }
}
