//! Blocks of 32 numbers with a common scale: MXFP4 and MXFP8 of the OCP Microscaling specification (2023).

use mixed_precision::formats::{Format, Overflow, Rounding};

/// Numbers of a block; the last block of a row may have fewer.
pub const BLOCK: usize = 32;

/// The code of a scale that makes the whole block NaN.
pub const NAN: u8 = 255;

/// The format of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Four bits: one for the sign, two of exponent, one of mantissa. It has neither infinity nor NaN.
    E2M1,
    /// Eight bits.
    E4M3,
}

/// The numbers of E2M1 from 0 up; a sign doubles them.
const E2M1: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

impl Element {
    /// The largest number.
    pub fn max(self) -> f64 {
        match self {
            Self::E2M1 => E2M1[7],
            Self::E4M3 => Format::E4M3.max(),
        }
    }

    /// The code of the nearest number, ties to even; that of the largest one for what is larger.
    pub fn encode(self, x: f64) -> u8 {
        match self {
            Self::E2M1 => {
                // The middle between two numbers belongs to the one with the even code.
                let is_above = |code: &usize| {
                    let middle = f64::midpoint(E2M1[code - 1], E2M1[*code]);
                    if code.is_multiple_of(2) { x.abs() >= middle } else { x.abs() > middle }
                };
                let magnitude = (1..8).filter(is_above).count() as u8;
                magnitude | u8::from(x.is_sign_negative()) << 3
            }
            Self::E4M3 => Format::E4M3.encode(x, Rounding::Nearest, Overflow::Saturate) as u8,
        }
    }

    /// The number that a code means.
    pub fn decode(self, code: u8) -> f64 {
        match self {
            Self::E2M1 => E2M1[usize::from(code & 7)] * if code & 8 == 0 { 1.0 } else { -1.0 },
            Self::E4M3 => Format::E4M3.decode(code.into()),
        }
    }
}

/// The scale that a code means (E8M0): a power of two from 2⁻¹²⁷ to 2¹²⁷, or NaN.
pub fn scale(code: u8) -> f64 {
    if code == NAN { f64::NAN } else { 2f64.powi(i32::from(code) - 127) }
}

/// Numbers with a common scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The code of the scale.
    pub scale: u8,
    /// The code of each number divided by the scale.
    pub elements: Vec<u8>,
}

impl Block {
    /// The numbers that the block means. They are exact in f64.
    pub fn values(&self, element: Element) -> Vec<f64> {
        self.elements.iter().map(|code| element.decode(*code) * scale(self.scale)).collect()
    }
}

/// The row in blocks of [`BLOCK`] numbers, each with the scale at which the sum of its squared errors is smallest. A
/// block with a NaN or an infinity has the scale [`NAN`].
pub fn quantise(row: &[f32], element: Element) -> Vec<Block> {
    // EXERCISE: begin
    row.chunks(BLOCK).map(|numbers| best(numbers, element)).collect()
}

/// The block with the smallest error.
fn best(numbers: &[f32], element: Element) -> Block {
    if numbers.iter().any(|x| !x.is_finite()) {
        return Block { scale: NAN, elements: vec![0; numbers.len()] };
    }
    let highest = f64::from(numbers.iter().fold(0.0, |highest, x| x.abs().max(highest)));
    // The smallest scale that cuts nothing off: at any larger one, the format's numbers are no closer together.
    let fits = |code: &u8| highest <= element.max() * scale(*code);
    let first = (0..NAN).find(fits).unwrap_or(NAN - 1);
    // Half of it cuts off the largest numbers, and may gain more with the others. A quarter never does (README.md).
    let [block, half] = [first, first.saturating_sub(1)].map(|code| coded(numbers, code, element));
    let error = |block: &Block| -> f64 {
        let pairs = block.values(element).into_iter().zip(numbers);
        pairs.map(|(found, x)| (found - f64::from(*x)).powi(2)).sum()
    };
    if error(&half) < error(&block) { half } else { block }
}

/// The block with this scale.
fn coded(numbers: &[f32], code: u8, element: Element) -> Block {
    let encode = |x: &f32| element.encode(f64::from(*x) / scale(code));
    Block { scale: code, elements: numbers.iter().map(encode).collect() }
    // EXERCISE: instead
    // // One scale for the whole row: the largest power of two in the row over the largest of the format.
    // let highest = row.iter().fold(0.0, |highest, x| x.abs().max(highest));
    // let exponent = f64::from(highest).log2().floor() - element.max().log2().floor();
    // let code = (exponent + 127.0).clamp(0.0, 254.0) as u8;
    // let encode = |x: &f32| element.encode(f64::from(*x) / scale(code));
    // let block =
    //     |numbers: &[f32]| Block { scale: code, elements: numbers.iter().map(encode).collect() };
    // row.chunks(BLOCK).map(block).collect()
    // EXERCISE: end
}
