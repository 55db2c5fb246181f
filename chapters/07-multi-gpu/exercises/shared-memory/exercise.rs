//! An all-reduce among threads of one process, which share their memory.

use multi_gpu::Rank;

// EXERCISE: begin
use std::sync::Mutex;

/// What the threads share.
pub struct Meeting {
    sum: Mutex<Vec<f32>>,
}

impl Meeting {
    /// For so many threads.
    pub fn new(_ranks: usize) -> Self {
        Self { sum: Mutex::new(Vec::new()) }
    }

    /// Every rank gets the sum over all ranks. Each rank's thread calls it, as often as the others and with as many
    /// numbers.
    pub fn all_reduce(&self, _rank: Rank, data: &mut [f32]) {
        // One sum for all. It does not wait for the others, and it is never empty again.
        let Ok(mut sum) = self.sum.lock() else { return };
        sum.resize(data.len(), 0.0);
        sum.iter_mut().zip(&*data).for_each(|(sum, new)| *sum += new);
        data.copy_from_slice(&sum);
    }
}
// EXERCISE: end
