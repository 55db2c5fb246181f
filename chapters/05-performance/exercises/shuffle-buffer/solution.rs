//! A shuffle buffer: records come in order, and leave in another one.

use backprop::random::SplitMix64;

/// A stream of records in a shuffled order, with room for `room` (1 or more) of them in memory.
pub struct Shuffled<I: Iterator> {
    source: I,
    room: usize,
    buffer: Vec<I::Item>,
    random: SplitMix64,
}

impl<I: Iterator> Shuffled<I> {
    /// An empty buffer before `source`.
    pub fn new(source: I, room: usize, seed: u64) -> Self {
        Self { source, room, buffer: Vec::new(), random: SplitMix64::new(seed) }
    }

    /// How many records lie in memory now.
    pub fn held(&self) -> usize {
        self.buffer.len()
    }
}

impl<I: Iterator> Iterator for Shuffled<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        // EXERCISE: begin
        while self.buffer.len() < self.room
            && let Some(record) = self.source.next()
        {
            self.buffer.push(record);
        }
        if self.buffer.is_empty() {
            return None;
        }
        let at = self.random.below(self.buffer.len());
        Some(self.buffer.swap_remove(at))
        // EXERCISE: instead
        // let _ = (self.room, &mut self.random);
        // self.source.next() // in the order in which they come
        // EXERCISE: end
    }
}
