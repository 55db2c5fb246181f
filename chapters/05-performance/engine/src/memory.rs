//! Memory that begins at a cache line.

/// A cache line of numbers: vectors that begin at one cross no other.
#[derive(Clone, Copy)]
#[repr(align(64))]
#[allow(dead_code, reason = "slices of numbers read it")]
struct Line([f32; 16]);

/// A buffer; it starts with zeros.
#[derive(Default)]
pub struct Memory(Vec<Line>);

/// Bytes of a buffer of so many words.
pub fn bytes(words: usize) -> u64 {
    (words.div_ceil(16) * size_of::<Line>()) as u64
}

impl Memory {
    /// Makes it so long at least; what it holds stays.
    pub fn at_least(&mut self, words: usize) {
        let more = words.div_ceil(16).saturating_sub(self.0.len());
        self.0.reserve_exact(more);
        self.0.extend(std::iter::repeat_n(Line([0.0; 16]), more));
    }

    /// Its first word.
    pub fn start(&mut self) -> *mut f32 {
        self.0.as_mut_ptr().cast()
    }

    /// All of its words.
    pub fn slice(&self) -> &[f32] {
        // SAFETY: a line is its numbers, aligned to their size; so are lines one after the other.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), 16 * self.0.len()) }
    }

    /// All of its words, to be written.
    pub fn slice_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start(), 16 * self.0.len()) }
    }
}
