//! Bytes as the bits of numbers: what carries numbers also carries settings and checkpoints. They are not computed
//! with.

use crate::{Error, Result};

/// The most bytes that travel at once.
const MOST: u64 = 1 << 32;

/// Bytes as numbers, four in each, the last one filled up with zeros.
pub fn to_numbers(bytes: &[u8]) -> Vec<f32> {
    let number = |four: &[u8]| {
        let mut padded = [0; 4];
        padded[..four.len()].copy_from_slice(four);
        f32::from_bits(u32::from_le_bytes(padded))
    };
    bytes.chunks(4).map(number).collect()
}

/// The first `length` bytes that numbers carry.
pub fn from_numbers(numbers: &[f32], length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_bits().to_le_bytes()).collect();
    bytes.truncate(length);
    bytes
}

/// A number of bytes as two numbers.
pub fn length_to_numbers(length: usize) -> [f32; 2] {
    let bits = length as u64;
    [f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32)]
}

/// The number of bytes that two numbers carry.
///
/// # Errors
/// [`Error::Config`] if no rank sends so many: memory is taken only for what can come.
pub fn length_from_numbers(numbers: &[f32]) -> Result<usize> {
    let bits = |x: f32| u64::from(x.to_bits());
    match bits(numbers[0]) | bits(numbers[1]) << 32 {
        length @ ..=MOST => Ok(length as usize),
        length => Err(Error::Config(format!(
            "a rank wants to send {length} bytes, more than ranks send to each other; all must run the same program"
        ))),
    }
}
