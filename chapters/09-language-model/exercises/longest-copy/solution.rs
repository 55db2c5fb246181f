//! The longest part of a sample that is in a text.

/// A part that two texts have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Where it begins in the sample.
    pub sample: usize,
    /// Where it begins in the text.
    pub text: usize,
    /// Its bytes; 0 if the two have no byte in common.
    pub len: usize,
}

/// The longest part of `sample` that is also in `text`; of several, any.
pub fn longest(sample: &[u8], text: &[u8]) -> Shared {
    // EXERCISE: begin
    use std::collections::HashMap;
    /// A Mersenne prime, 2⁶¹ − 1.
    const PRIME: u64 = (1 << 61) - 1;
    /// Larger than a byte, and otherwise arbitrary.
    const BASE: u64 = 0x001f_35a7_19c3_d24b;
    let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64;
    let push = |hash: u64, byte: u8| (times(hash, BASE) + u64::from(byte) + 1) % PRIME;

    /// Calls `each` with the start and the hash of each window of `len` bytes until it returns something.
    fn windows<T>(
        bytes: &[u8],
        len: usize,
        push: impl Fn(u64, u8) -> u64,
        drop: impl Fn(u64, u8) -> u64,
        mut each: impl FnMut(usize, u64) -> Option<T>,
    ) -> Option<T> {
        let mut hash = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if at >= len {
                hash = drop(hash, bytes[at - len]);
            }
            hash = push(hash, *byte);
            if at + 1 >= len
                && let Some(found) = each(at + 1 - len, hash)
            {
                return Some(found);
            }
        }
        None
    }

    let of_length = |len: usize| {
        let first = (1..len).fold(1, |power, _| times(power, BASE));
        let drop = |hash: u64, byte: u8| (hash + PRIME - times(first, u64::from(byte) + 1)) % PRIME;
        let mut starts = HashMap::new();
        windows(sample, len, push, drop, |at, hash| {
            starts.entry(hash).or_insert(at);
            None::<()>
        });
        windows(text, len, push, drop, |at, hash| {
            let start = *starts.get(&hash)?;
            let equal = sample[start..start + len] == text[at..at + len];
            equal.then_some(Shared { sample: start, text: at, len })
        })
    };
    // There is a copy of `best.len` bytes, and none of `no`.
    let (mut best, mut no) = (Shared::default(), sample.len().min(text.len()) + 1);
    while best.len + 1 < no {
        let middle = best.len.midpoint(no);
        match of_length(middle) {
            Some(found) => best = found,
            None => no = middle,
        }
    }
    best
    // EXERCISE: instead
    // // The longest run of bytes that are equal at equal positions.
    // let (mut best, mut run) = (Shared::default(), 0);
    // for (at, (a, b)) in sample.iter().zip(text).enumerate() {
    //     run = if a == b { run + 1 } else { 0 };
    //     if run > best.len {
    //         best = Shared { sample: at + 1 - run, text: at + 1 - run, len: run };
    //     }
    // }
    // best
    // EXERCISE: end
}
