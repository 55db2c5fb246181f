//! A short hash for short keys: pairs of tokens and chunks of text.
//!
//! The standard library's hash resists keys that someone has chosen to collide, and takes longer for it. Here the keys of
//! an encoder are at most [`LONGEST`](super::chunks::LONGEST) bytes, it remembers a bounded number of them, and it lives as
//! long as one call.

use std::hash::{BuildHasherDefault, Hasher};

/// For a `HashMap`.
pub type Fast = BuildHasherDefault<Mix>;

/// Eight bytes at a time: each turns and multiplies what came before.
#[derive(Clone, Copy, Default)]
pub struct Mix(u64);

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(25) ^ word).wrapping_mul(ODD);
    }

    fn finish(&self) -> u64 {
        // The table takes its place from the low bits, and the product has mixed the high ones.
        self.0 ^ (self.0 >> 32)
    }
}
