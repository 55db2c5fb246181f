//! The rungs, the tiles that they may cut a product into, and the launch that covers it.

use crate::{Error, Result};
use matmul::Shape;

/// A rung that only CUDA has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CudaRung {
    /// f32 with `cp.async`: the best that CUDA's ordinary units do here.
    AsyncCopy(CudaTiles),
    /// bf16 on tensor cores, by `nvcuda::wmma`.
    Wmma,
    /// bf16 on Hopper's tensor cores, by `wgmma` and the copy engine.
    Wgmma,
}

/// How `async_copy` cuts the product into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CudaTiles {
    /// Rows and columns of C that a block computes.
    pub block: [u32; 2],
    /// Rows and columns of C that a thread computes.
    pub thread: [u32; 2],
    /// Slots in the ring of tiles.
    pub stages: u32,
    /// Blocks that share a multiprocessor.
    pub blocks_per_sm: u32,
}

impl CudaTiles {
    const fn new(block: [u32; 2], thread: [u32; 2], stages: u32, blocks_per_sm: u32) -> Self {
        Self { block, thread, stages, blocks_per_sm }
    }

    /// Those that are tried; the first is the one without a tuner. Many sums for each thread make the fewest loads, more warps
    /// hide each other's waits, and small tiles occupy all multiprocessors where C is small. On an H100 128×64 with 8×8 sums
    /// was the fastest from n = 2048 on.
    pub const ALL: [Self; 7] = [
        Self::new([128, 256], [8, 16], 4, 1),
        Self::new([256, 128], [8, 16], 4, 1),
        Self::new([128, 128], [8, 16], 4, 2),
        // Half the sums, so that more warps hide each other's waits: 12 with 168 registers a thread, which were faster on an
        // H100 than 16 with 128.
        Self::new([128, 64], [8, 8], 3, 3),
        Self::new([64, 128], [8, 8], 3, 3),
        Self::new([128, 128], [8, 8], 3, 2),
        Self::new([64, 64], [8, 4], 4, 4),
    ];
    /// How far along k a tile reaches (`BK` in the kernel).
    const DEPTH: u32 = 16;

    /// Threads of a block: a warp is 4 threads high and 8 wide.
    pub fn threads(self) -> u32 {
        32 * (self.block[0] / (4 * self.thread[0])) * (self.block[1] / (8 * self.thread[1]))
    }

    /// Dynamic shared memory of a block, in bytes. A row of A's tile is four numbers longer than its contents.
    pub fn shared_bytes(self) -> u32 {
        4 * self.stages * (self.block[0] * (Self::DEPTH + 4) + Self::DEPTH * self.block[1])
    }

    /// Those for which a block has room, where it may have so many bytes of shared memory: 227 KiB on an H100, 99 on an RTX.
    pub fn fitting(bytes: u64) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |tiles| u64::from(tiles.shared_bytes()) <= bytes)
    }

    /// `128x256-8x16-s4`, for records.
    pub fn name(self) -> String {
        let Self { block: [m, n], thread: [x, y], stages, .. } = self;
        format!("{m}x{n}-{x}x{y}-s{stages}")
    }
}

/// One launch of a rung's kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaPlan {
    /// What the kernel's macros are set to.
    pub options: Vec<(&'static str, String)>,
    /// Blocks along x and y.
    pub grid: [u32; 2],
    /// Threads of a block.
    pub threads: u32,
    /// Blocks of a cluster: 1 where there are none.
    pub cluster: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
}

impl CudaPlan {
    /// The same with at most so many clusters at once. Those beyond would start when the others have ended, and their
    /// tiles, which are dealt out in advance, would take as long once more.
    #[must_use]
    pub fn with_at_most(mut self, clusters: u32) -> Self {
        self.grid[0] = self.grid[0].min(self.cluster * clusters.max(1));
        self
    }
}

/// The dynamic shared memory of `wgmma`: four slots of 48 KiB, their barriers, and room to begin at a multiple of 1024.
const WGMMA_SHARED: u32 = 1024 + 4 * (128 * 64 + 64 * 256) * 2 + 16 * 4;

impl CudaRung {
    /// Each of them, `async_copy` with its first [`CudaTiles`].
    pub const ALL: [Self; 3] = [Self::AsyncCopy(CudaTiles::ALL[0]), Self::Wmma, Self::Wgmma];

    /// The same where a block may have so many bytes of shared memory: `async_copy` with the first tiles that fit.
    #[must_use]
    pub fn fitting(self, bytes: u64) -> Self {
        match self {
            Self::AsyncCopy(_) => CudaTiles::fitting(bytes).next().map_or(self, Self::AsyncCopy),
            Self::Wmma | Self::Wgmma => self,
        }
    }

    /// The kernel's name, that of its file and of the rung in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsyncCopy(_) => "async_copy",
            Self::Wmma => "wmma",
            Self::Wgmma => "wgmma",
        }
    }

    /// The kernel's text.
    pub fn source(self) -> &'static str {
        match self {
            Self::AsyncCopy(_) => include_str!("../../kernels/async_copy.cu"),
            Self::Wmma => include_str!("../../kernels/wmma.cu"),
            Self::Wgmma => include_str!("../../kernels/wgmma.cu"),
        }
    }

    /// Whether it rounds its inputs to bf16.
    pub fn bf16(self) -> bool {
        !matches!(self, Self::AsyncCopy(_))
    }

    /// Whether a GPU of this compute capability can run it.
    ///
    /// # Errors
    /// A message that says why not.
    pub fn runs_on(self, capability: (u32, u32)) -> Result<()> {
        let (major, minor) = capability;
        match self {
            Self::AsyncCopy(_) | Self::Wmma if major < 8 => Err(Error::message(format!(
                "{} needs a GPU of compute capability 8.0 or newer, and this one has {major}.{minor}",
                self.name()
            ))),
            Self::Wgmma if capability != (9, 0) => Err(Error::message(format!(
                "wgmma is Hopper's own instruction (compute capability 9.0), and this GPU has {major}.{minor}"
            ))),
            _ => Ok(()),
        }
    }

    /// The k that its kernel is given for a product of this one. `wgmma` wants at least one step: without terms, A has a
    /// column of zeros in memory and B a row ([`Padded`](super::Padded)).
    pub fn depth(self, k: usize) -> usize {
        if self == Self::Wgmma { k.max(1) } else { k }
    }

    /// What is put behind the architecture to compile it for: `a` where it uses what this generation alone has
    /// (`sm_90a`).
    pub fn suffix(self) -> &'static str {
        if self == Self::Wgmma { "a" } else { "" }
    }

    /// How to launch it for a product of `shape` on a GPU with so many multiprocessors. `None` where C is empty:
    /// there is nothing to launch.
    pub fn plan(self, shape: Shape, multiprocessors: u32) -> Option<CudaPlan> {
        let Shape { m, k, n } = shape;
        if m == 0 || n == 0 {
            return None;
        }
        let tiles = |rows: u32, columns: u32| {
            (m.div_ceil(rows as usize) * n.div_ceil(columns as usize)) as u32
        };
        let plan = |blocks: u32, threads: u32| CudaPlan {
            options: Vec::new(),
            grid: [blocks, 1],
            threads,
            cluster: 1,
            shared_bytes: 0,
        };
        Some(match self {
            Self::AsyncCopy(t) => {
                let aligned = n.is_multiple_of(4) && k.is_multiple_of(4);
                let options = vec![
                    ("BM", t.block[0].to_string()),
                    ("BN", t.block[1].to_string()),
                    ("TM", t.thread[0].to_string()),
                    ("TN", t.thread[1].to_string()),
                    ("STAGES", t.stages.to_string()),
                    ("BLOCKS_PER_SM", t.blocks_per_sm.to_string()),
                    ("VECTOR", u32::from(aligned).to_string()),
                ];
                let plan = plan(tiles(t.block[0], t.block[1]), t.threads());
                CudaPlan { options, shared_bytes: t.shared_bytes(), ..plan }
            }
            Self::Wmma => plan(tiles(128, 128), 256),
            Self::Wgmma => {
                let clusters = tiles(256, 256).min((multiprocessors / 2).max(1));
                CudaPlan { cluster: 2, shared_bytes: WGMMA_SHARED, ..plan(2 * clusters, 384) }
            }
        })
    }
}
