//! What a launch has cost, and what a warp did that was watched.

use super::memory::{SECTOR, Space, WARP};
use std::ops::AddAssign;

/// Counts of a launch. Times are left out on purpose: these numbers are the same on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Loads, stores and barriers, one for each warp (or part of one) that executes it.
    pub instructions: u64,
    /// Threads that took part in them.
    pub active_lanes: u64,
    /// Times that threads of a warp that were at the same instruction went on to different ones.
    pub divergences: u64,
    /// Floating-point operations: two for each [`fma`](super::Thread::fma).
    pub flops: u64,
    /// Barriers, one for each block.
    pub barriers: u64,
    /// Loads from global memory, one for each warp.
    pub load_requests: u64,
    /// Sectors that those loads touched.
    pub load_sectors: u64,
    /// Stores to global memory, one for each warp.
    pub store_requests: u64,
    /// Sectors that those stores touched.
    pub store_sectors: u64,
    /// Bytes of global memory that the threads asked for; those that several of one warp ask for at once count
    /// once.
    pub useful_bytes: u64,
    /// Loads from and stores to shared memory, one for each warp.
    pub shared_requests: u64,
    /// Passes that they took.
    pub shared_passes: u64,
    /// Passes that they would have taken without bank conflicts.
    pub shared_ideal: u64,
    /// Bytes of shared memory that the threads asked for.
    pub shared_bytes: u64,
}

impl Counts {
    /// Bytes that moved between global memory and the multiprocessors: whole sectors.
    pub fn moved_bytes(&self) -> u64 {
        (self.load_sectors + self.store_sectors) * SECTOR as u64
    }

    /// The fraction of the moved bytes that a thread requested: 1 if all are used.
    pub fn efficiency(&self) -> f64 {
        ratio(self.useful_bytes, self.moved_bytes())
    }

    /// Floating-point operations for each byte moved: how far to the right a kernel lies in the roofline.
    pub fn intensity(&self) -> f64 {
        ratio(self.flops, self.moved_bytes())
    }

    /// Sectors of each load from global memory. 4 is the best that 32 threads with 4 bytes each can do.
    pub fn sectors_per_load(&self) -> f64 {
        ratio(self.load_sectors, self.load_requests)
    }

    /// Wavefronts of shared memory that bank conflicts cost.
    pub fn conflicts(&self) -> u64 {
        self.shared_passes - self.shared_ideal
    }

    /// The mean number of threads that take part in an instruction; 32 at best.
    pub fn lanes(&self) -> f64 {
        ratio(self.active_lanes, self.instructions)
    }
}

/// The quotient, 0 of nothing.
fn ratio(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.active_lanes += other.active_lanes;
        self.divergences += other.divergences;
        self.flops += other.flops;
        self.barriers += other.barriers;
        self.load_requests += other.load_requests;
        self.load_sectors += other.load_sectors;
        self.store_requests += other.store_requests;
        self.store_sectors += other.store_sectors;
        self.useful_bytes += other.useful_bytes;
        self.shared_requests += other.shared_requests;
        self.shared_passes += other.shared_passes;
        self.shared_ideal += other.shared_ideal;
        self.shared_bytes += other.shared_bytes;
    }
}

/// An instruction that a warp has executed, for figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The line in the kernel's source.
    pub line: u32,
    /// A bit for each lane that took part.
    pub lanes: u32,
    /// The array and the first word of each lane in it; `None` for a barrier.
    pub touched: Option<(Space, [Option<usize>; WARP])>,
    /// Whether it writes.
    pub store: bool,
    /// How many numbers each lane moves.
    pub width: usize,
}
