//! Occupancy: how many warps a multiprocessor can hold at a time, and what limits them.
//!
//! A multiprocessor hides the time that memory takes by running other warps, so it wants many. Each
//! takes a part of its registers and shared memory. Limits: NVIDIA, CUDA C++ Programming Guide, table
//! "Technical Specifications per Compute Capability"; the granularity of registers, and the blocks of 12.0, are those of
//! NVIDIA's occupancy calculator (`cuda_occupancy.h`), and so is what the system takes of a block's shared memory since
//! 8.0.

use super::memory::WARP;

/// What a multiprocessor has, by compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// NVIDIA's number for the generation.
    pub capability: (u32, u32),
    /// Warps at a time.
    pub warps: usize,
    /// Blocks at a time.
    pub blocks: usize,
    /// Registers of 32 bits.
    pub registers: usize,
    /// Bytes of shared memory for all its blocks.
    pub shared: usize,
    /// Bytes of shared memory for one block.
    pub shared_of_block: usize,
}

impl Limits {
    /// An A100, an RTX 30, an RTX 40, an H100 or H200, a B200, an RTX 50.
    pub const ALL: [Self; 6] = [
        Self::new((8, 0), 64, 32, 164, 163),
        Self::new((8, 6), 48, 16, 100, 99),
        Self::new((8, 9), 48, 24, 100, 99),
        Self::new((9, 0), 64, 32, 228, 227),
        Self::new((10, 0), 64, 32, 228, 227),
        Self::new((12, 0), 48, 24, 100, 99),
    ];

    const fn new(
        capability: (u32, u32),
        warps: usize,
        blocks: usize,
        shared: usize,
        block: usize,
    ) -> Self {
        Self {
            capability,
            warps,
            blocks,
            registers: 65_536,
            shared: shared * 1024,
            shared_of_block: block * 1024,
        }
    }

    /// The limits of a compute capability, if they are known here.
    pub fn of(capability: (u32, u32)) -> Option<Self> {
        Self::ALL.into_iter().find(|limits| limits.capability == capability)
    }
}

/// What a block takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its threads.
    pub threads: usize,
    /// Registers of each thread.
    pub registers: usize,
    /// Bytes of shared memory.
    pub shared: usize,
}

/// What there is too little of for another block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Warp slots: nothing is left over.
    Warps,
    /// Block slots.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
}

/// How full a multiprocessor gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy {
    /// Blocks at a time.
    pub blocks: usize,
    /// Warps at a time.
    pub warps: usize,
    /// Warps over the most that it can hold: from 0 to 1.
    pub share: f64,
    /// What a further block lacks.
    pub limit: Limit,
}

// ANCHOR: pieces
/// Registers are given to a warp in pieces of this many.
const REGISTER_PIECE: usize = 256;
/// Shared memory is given to a block in pieces of this many bytes.
const SHARED_PIECE: usize = 128;
/// Bytes of shared memory that the system takes for each block.
const SHARED_OF_SYSTEM: usize = 1024;
// ANCHOR_END: pieces

// ANCHOR: occupancy
/// How many blocks fit on a multiprocessor at a time. No block fits if it asks
/// for more than a block may have.
pub fn occupancy(block: Block, limits: Limits) -> Occupancy {
    let warps = block.threads.div_ceil(WARP).max(1);
    let of_warp = block.registers.max(1) * WARP;
    let of_warp = of_warp.next_multiple_of(REGISTER_PIECE);
    // Each of the four parts of a multiprocessor has its quarter of registers.
    let by_registers = limits.registers / 4 / of_warp * 4 / warps;
    let shared = block.shared + SHARED_OF_SYSTEM;
    let by_shared = limits.shared / shared.next_multiple_of(SHARED_PIECE);
    let fits = [
        (Limit::Warps, block.threads <= 1024, limits.warps / warps),
        (Limit::Blocks, true, limits.blocks),
        (Limit::Registers, block.registers <= 255, by_registers),
        (Limit::Shared, block.shared <= limits.shared_of_block, by_shared),
    ];
    let fits = fits.map(|(limit, ok, most)| (limit, usize::from(ok) * most));
    let least = fits.into_iter().min_by_key(|(_, blocks)| *blocks);
    let (limit, blocks) = least.unwrap_or(fits[0]);
    let warps = blocks * warps;
    let share = warps as f64 / limits.warps as f64;
    Occupancy { blocks, warps, share, limit }
}
// ANCHOR_END: occupancy
