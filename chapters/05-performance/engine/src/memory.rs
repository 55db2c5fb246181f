//! Memory that begins at a cache line.

/// A cache line of numbers: vectors that begin at one cross no other.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([f32; 16]);

/// A buffer; it starts with zeros.
#[derive(Default)]
pub struct Memory(Vec<Line>);

impl Memory {
    /// Makes it so long at least; what it holds stays.
    pub fn at_least(&mut self, words: usize) {
        let lines = words.div_ceil(16).max(self.0.len());
        self.0.resize(lines, Line([0.0; 16]));
    }

    /// Its first word.
    pub fn start(&mut self) -> *mut f32 {
        self.0.as_mut_ptr().cast()
    }

    /// All of its words.
    pub fn slice_mut(&mut self) -> &mut [f32] {
        let words = self.0.iter().map(|line| line.0.len()).sum();
        // SAFETY: a line is its numbers, aligned to their size; so are lines one after the other.
        unsafe { std::slice::from_raw_parts_mut(self.start(), words) }
    }
}
