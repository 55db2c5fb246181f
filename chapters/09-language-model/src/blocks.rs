//! Work shared out among threads: buffers are cut into blocks, and each task writes its own.
//!
//! The threads are those of chapter 1's products, which stay awake between two of them. Which thread does a task is left to
//! chance; what the task computes is not, so the results have the same bits for any number of threads.

use matmul::team;
use std::{
    cell::Cell,
    marker::PhantomData,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The most threads that share a pass.
const MOST: usize = 1024;

/// Calls `work` once with each number below `tasks`, on up to `threads` threads, the calling one among them.
pub fn tasks(threads: usize, tasks: usize, work: impl Fn(usize) + Sync) {
    let threads = threads.min(tasks).clamp(1, MOST);
    let next = AtomicUsize::new(0);
    team::each(&[(); MOST][..threads], |()| {
        loop {
            let task = next.fetch_add(1, Relaxed);
            if task >= tasks {
                break;
            }
            work(task);
        }
    });
}

/// A buffer and how it is cut: block number `i` belongs to task `i`.
pub struct Grid<'a> {
    data: *mut f32,
    len: usize,
    rows: usize,
    cols: usize,
    across: usize,
    stripes: usize,
    buffer: PhantomData<&'a mut [f32]>,
}

// SAFETY: a grid is an exclusive borrow of its buffer, and each of its blocks is handed to one task.
unsafe impl Sync for Grid<'_> {}

impl<'a> Grid<'a> {
    /// Pieces of `len` values, one after the other; the last may be shorter.
    pub fn pieces(data: &'a mut [f32], len: usize) -> Self {
        Self::new(data, 1, len, 1, 1)
    }

    /// Blocks of `rows`×`cols`, `across` of them side by side.
    pub fn blocks(data: &'a mut [f32], rows: usize, cols: usize, across: usize) -> Self {
        Self::new(data, rows, cols, across, 1)
    }

    /// Blocks as in [`Grid::blocks`], of which each has two more parts to its right: the queries, the keys and the values
    /// of a head.
    pub fn triples(data: &'a mut [f32], rows: usize, cols: usize, across: usize) -> Self {
        Self::new(data, rows, cols, across, 3)
    }

    fn new(data: &'a mut [f32], rows: usize, cols: usize, across: usize, stripes: usize) -> Self {
        assert!(rows > 0 && cols > 0 && across > 0, "a block has values");
        let (data, len) = (data.as_mut_ptr(), data.len());
        assert!(
            rows * across * stripes == 1 || len.is_multiple_of(rows * cols * across * stripes),
            "whole blocks"
        );
        Self { data, len, rows, cols, across, stripes, buffer: PhantomData }
    }

    fn count(&self) -> usize {
        self.len.div_ceil(self.cols * self.stripes * self.rows)
    }

    /// # Safety
    /// No two blocks of one number live at once.
    unsafe fn block(&self, task: usize) -> Block<'_> {
        let stride = self.stripes * self.across * self.cols;
        let first = task / self.across * self.rows * stride + task % self.across * self.cols;
        Block {
            data: self.data.wrapping_add(first),
            rows: self.rows,
            cols: self.cols.min(self.len - first),
            stride,
            stripe: self.across * self.cols,
            stripes: self.stripes,
            buffer: PhantomData,
        }
    }
}

/// A task's own part of a buffer.
pub struct Block<'a> {
    data: *mut f32,
    rows: usize,
    cols: usize,
    stride: usize,
    stripe: usize,
    stripes: usize,
    buffer: PhantomData<&'a mut [f32]>,
}

impl Block<'_> {
    /// A row of the block; of a triple, its queries' (part 0), keys' (1) or values' (2) row.
    pub fn row(&mut self, row: usize, part: usize) -> &mut [f32] {
        assert!(row < self.rows && part < self.stripes, "row {row} of part {part}");
        let first = row * self.stride + part * self.stripe;
        // SAFETY: the row lies inside the grid, in a block that is this one's alone, and is borrowed with it.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(first), self.cols) }
    }

    /// All values of a piece.
    pub fn values(&mut self) -> &mut [f32] {
        assert_eq!(self.rows, 1, "a piece is one row");
        self.row(0, 0)
    }
}

/// Calls `work` once for each task with the task's number and its blocks of all grids, on up to `threads` threads.
///
/// # Panics
/// If the grids have different numbers of blocks.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a grid is used up: nobody else may take its blocks"
)]
pub fn each<const N: usize>(
    threads: usize,
    grids: [Grid; N],
    work: impl Fn(usize, [Block; N]) + Sync,
) {
    let count = grids.first().map_or(0, Grid::count);
    assert!(grids.iter().all(|grid| grid.count() == count), "as many blocks in each grid");
    tasks(threads, count, |task| {
        // SAFETY: each task is done once.
        work(task, grids.each_ref().map(|grid| unsafe { grid.block(task) }));
    });
}

thread_local! {
    static SPACE: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// Lends `work` memory of this thread for `len` values, which hold what was left in them. It is allocated once.
pub fn scratch<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut space = SPACE.take();
    if space.len() < len {
        space.resize(len, 0.0);
    }
    let result = work(&mut space[..len]);
    SPACE.set(space);
    result
}
