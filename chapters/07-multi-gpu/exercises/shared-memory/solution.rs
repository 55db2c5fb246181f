//! An all-reduce among threads of one process, which share their memory.

use multi_gpu::Rank;

// EXERCISE: begin
use multi_gpu::communicator::part_of;
use std::{
    hint::spin_loop,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread::yield_now,
};

/// What the threads share.
pub struct Meeting {
    ranks: usize,
    /// How often a rank has come to a meeting point.
    came: AtomicUsize,
    /// Row r, column q: the part of rank r's numbers that rank q sums. On the diagonal: the sum of part r.
    cells: Vec<RwLock<Vec<f32>>>,
}

impl Meeting {
    /// For so many threads.
    pub fn new(ranks: usize) -> Self {
        let cells = (0..ranks * ranks).map(|_| RwLock::default()).collect();
        Self { ranks, came: AtomicUsize::new(0), cells }
    }

    /// Every rank gets the sum over all ranks. Each rank's thread calls it, as often as the others and with as many
    /// numbers.
    pub fn all_reduce(&self, rank: Rank, data: &mut [f32]) {
        let (me, len) = (rank.0, data.len());
        let others = || (0..self.ranks).filter(|other| *other != me);
        let part = |of: usize| part_of(len, Rank(of), self.ranks);
        for other in others() {
            self.put((me, other), &data[part(other)]);
        }
        self.wait();
        for other in others() {
            let mine = data[part(me)].iter_mut();
            self.take((other, me), |new| mine.zip(new).for_each(|(sum, new)| *sum += new));
        }
        self.put((me, me), &data[part(me)]);
        self.wait();
        for other in others() {
            self.take((other, other), |sum| data[part(other)].copy_from_slice(sum));
        }
    }

    fn put(&self, (row, column): (usize, usize), numbers: &[f32]) {
        let cell = &self.cells[row * self.ranks + column];
        let mut cell = cell.write().unwrap_or_else(PoisonError::into_inner);
        cell.clear();
        cell.extend_from_slice(numbers);
    }

    fn take(&self, (row, column): (usize, usize), with: impl FnOnce(&[f32])) {
        let cell = &self.cells[row * self.ranks + column];
        with(&cell.read().unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until all ranks have come as often as this one: awake at first, then in turns with other threads.
    fn wait(&self) {
        let before = self.came.fetch_add(1, Ordering::AcqRel);
        let all = (before / self.ranks + 1) * self.ranks;
        let mut tries = 0;
        while self.came.load(Ordering::Acquire) < all {
            tries += 1;
            if tries < 1000 { spin_loop() } else { yield_now() }
        }
    }
}
// EXERCISE: instead
// use std::sync::Mutex;
//
// /// What the threads share.
// pub struct Meeting {
//     sum: Mutex<Vec<f32>>,
// }
//
// impl Meeting {
//     /// For so many threads.
//     pub fn new(_ranks: usize) -> Self {
//         Self { sum: Mutex::new(Vec::new()) }
//     }
//
//     /// Every rank gets the sum over all ranks. Each rank's thread calls it, as often as the others and with as many
//     /// numbers.
//     pub fn all_reduce(&self, _rank: Rank, data: &mut [f32]) {
//         // One sum for all. It does not wait for the others, and it is never empty again.
//         let Ok(mut sum) = self.sum.lock() else { return };
//         sum.resize(data.len(), 0.0);
//         sum.iter_mut().zip(&*data).for_each(|(sum, new)| *sum += new);
//         data.copy_from_slice(&sum);
//     }
// }
// EXERCISE: end
