//! The rungs of the ladder in a list, in the order of the page, and one product on a device by any of them.
//!
//! Each portable rung is one file, `kernels/NAME.cl`, for CUDA and for OpenCL. What it needs next to its text is how
//! large its tiles are ([`Tiles`]): they are compiled in, and the launch follows from them.
//!
//! The steps are those of Simon Boehm's worklog, "How to optimize a CUDA matmul kernel for cuBLAS-like performance"
//! (2022, <https://siboehm.com/articles/22/CUDA-MMM>); the kernels are our own.

use crate::{
    Error, Result,
    gpu::{About, Arg, Buffer, Gpu, Kernel, Launch, kernel, read_all, upload},
};
use matmul::Shape;

/// One way to compute C = A·B on a device.
pub struct Rung {
    /// The kernel's name, that of its file and of the rung in records.
    pub name: &'static str,
    /// The kernel's text.
    pub source: &'static str,
    /// How it may cut C into tiles. The first that a device can hold is taken;
    /// `autotune` tries all of them.
    pub tiles: &'static [Tiles],
}

/// How a rung cuts C into tiles, one for each block.
pub struct Tiles {
    /// For records: `128x128x8`, rows and columns of C and terms at a time.
    pub name: &'static str,
    /// Rows and columns of C for a block.
    pub size: [usize; 2],
    /// Threads of a block, along x and y.
    pub block: [usize; 2],
    /// Bytes of shared memory of a block.
    pub shared: usize,
    /// Whether x counts the rows of C; in all rungs but one it counts columns.
    pub rows_along_x: bool,
    /// Macros that differ from those in the kernel's file.
    pub defines: &'static [(&'static str, u32)],
}

const fn tiles(name: &'static str, size: [usize; 2], block: [usize; 2], shared: usize) -> Tiles {
    Tiles { name, size, block, shared, rows_along_x: false, defines: &[] }
}

/// Squares of 16, for devices whose blocks have no 1024 threads.
const SIXTEEN: &[(&str, u32)] = &[("TILE", 16)];

static NAIVE: [Tiles; 2] = [
    Tiles { rows_along_x: true, ..tiles("32x32", [32, 32], [32, 32], 0) },
    Tiles { rows_along_x: true, defines: SIXTEEN, ..tiles("16x16", [16, 16], [16, 16], 0) },
];
static COALESCED: [Tiles; 2] = [
    tiles("32x32", [32, 32], [32, 32], 0),
    Tiles { defines: SIXTEEN, ..tiles("16x16", [16, 16], [16, 16], 0) },
];
static SHARED: [Tiles; 2] = [
    tiles("32x32x32", [32, 32], [32, 32], 8 << 10),
    Tiles { defines: SIXTEEN, ..tiles("16x16x16", [16, 16], [16, 16], 2 << 10) },
];
static TILE1D: [Tiles; 2] = [
    tiles("64x64x8", [64, 64], [64, 8], 4 << 10),
    Tiles { defines: &[("COLUMNS", 32)], ..tiles("64x32x8", [64, 32], [32, 8], 3 << 10) },
];
static TILE2D: [Tiles; 1] = [tiles("128x128x8", [128, 128], [16, 16], 8 << 10)];
static VECTORISED: [Tiles; 1] = [tiles("128x128x8", [128, 128], [16, 16], 8320)];
static BUFFERED: [Tiles; 1] = [tiles("128x128x8", [128, 128], [16, 16], 2 * 8320)];

/// A candidate of the last portable rung: `rows`×`columns` of C for a block, `depth` terms at a time, and `warp` rows and
/// columns for each warp.
const fn warps(
    name: &'static str,
    size: [usize; 2],
    depth: usize,
    warp: [usize; 2],
    defines: &'static [(&'static str, u32)],
) -> Tiles {
    let threads = 32 * (size[0] / warp[0]) * (size[1] / warp[1]);
    // Two tiles of A, whose columns are four numbers longer, and two of B.
    let shared = 2 * depth * (size[0] + 4 + size[1]) * size_of::<f32>();
    Tiles { name, size, block: [threads, 1], shared, rows_along_x: false, defines }
}

/// The candidates of the last portable rung. In a warp's 32×64 elements each
/// thread has 64 sums, and 128 registers are enough. In 64×64 it has 128 sums:
/// a quarter fewer reads, but up to 255 registers, so half as many threads.
/// Small blocks keep every multiprocessor busy where C is small.
static WARP_TILES: [Tiles; 7] = [
    warps("128x128x8", [128, 128], 8, [32, 64], &[]),
    warps("128x128x16", [128, 128], 16, [32, 64], &[("DEPTH", 16)]),
    warps("128x128x8-64", [128, 128], 8, [64, 64], &[("WARP_ROWS", 64)]),
    warps("128x128x16-64", [128, 128], 16, [64, 64], DEEP),
    warps("256x128x8-64", [256, 128], 8, [64, 64], TALL),
    warps("128x64x8", [128, 64], 8, [32, 64], NARROW),
    warps("64x64x16", [64, 64], 16, [32, 32], SMALL),
];

const DEEP: &[(&str, u32)] = &[("WARP_ROWS", 64), ("DEPTH", 16)];
const TALL: &[(&str, u32)] = &[("ROWS", 256), ("WARP_ROWS", 64), ("BLOCKS", 1)];
const NARROW: &[(&str, u32)] = &[("COLUMNS", 64), ("BLOCKS", 4)];
const SMALL: &[(&str, u32)] =
    &[("ROWS", 64), ("COLUMNS", 64), ("DEPTH", 16), ("WARP_COLUMNS", 32), ("BLOCKS", 5)];

const VECTORISED_CL: &str = kernel!("tile.h", "piece.h", "four.h", "vectorised.cl");
const BUFFERED_CL: &str = kernel!("tile.h", "piece.h", "four.h", "double_buffered.cl");
const WARP_TILES_CL: &str = kernel!("tile.h", "four.h", "warp_tiles.cl");

/// The portable rungs, from the slowest to the fastest.
pub static LADDER: [Rung; 8] = [
    Rung { name: "naive", source: kernel!("naive.cl"), tiles: &NAIVE },
    Rung { name: "coalesced", source: kernel!("coalesced.cl"), tiles: &COALESCED },
    Rung { name: "shared", source: kernel!("shared.cl"), tiles: &SHARED },
    Rung { name: "tile1d", source: kernel!("tile1d.cl"), tiles: &TILE1D },
    Rung { name: "tile2d", source: kernel!("tile.h", "piece.h", "tile2d.cl"), tiles: &TILE2D },
    Rung { name: "vectorised", source: VECTORISED_CL, tiles: &VECTORISED },
    Rung { name: "double_buffered", source: BUFFERED_CL, tiles: &BUFFERED },
    Rung { name: "warp_tiles", source: WARP_TILES_CL, tiles: &WARP_TILES },
];

/// The portable rung with this name.
///
/// # Errors
/// A message that lists the names there are.
pub fn rung(name: &str) -> Result<&'static Rung> {
    LADDER.iter().find(|rung| rung.name == name).ok_or_else(|| {
        let names: Vec<&str> = LADDER.iter().map(|rung| rung.name).collect();
        Error::message(format!("there is no rung `{name}`; there are {}", names.join(", ")))
    })
}

/// Whether all rows of the three matrices begin at multiples of 16 bytes, so that kernels may load four numbers at a
/// time.
pub fn wide(shape: Shape) -> bool {
    shape.n.is_multiple_of(4) && shape.k.is_multiple_of(4)
}

impl Tiles {
    /// Whether a device can hold a block of this kind.
    pub fn fit(&self, about: &About) -> bool {
        self.block[0] * self.block[1] <= about.max_block
            && self.shared as u64 <= about.shared_memory
    }

    /// The macros of a kernel with these tiles, that loads four numbers at a time or not.
    pub fn options(&self, wide: bool) -> Vec<(&'static str, String)> {
        let own = self.defines.iter().copied().chain([("WIDE", u32::from(wide))]);
        own.map(|(name, value)| (name, value.to_string())).collect()
    }

    /// The launch that covers C with tiles.
    pub fn launch(&self, shape: Shape) -> Launch {
        let down = shape.m.div_ceil(self.size[0]);
        let along = shape.n.div_ceil(self.size[1]);
        let mut grid = [along, down];
        if self.rows_along_x {
            grid.reverse();
        }
        Launch::new(grid, self.block)
    }
}

impl Rung {
    /// The tiles that a device can hold; the first are what it gets without tuning.
    pub fn candidates(&self, about: &About) -> Vec<&'static Tiles> {
        self.tiles.iter().filter(|tiles| tiles.fit(about)).collect()
    }

    /// Compiles the rung with the first tiles that the device can hold, for products of this shape and of all others
    /// that are [`wide`] alike.
    ///
    /// # Errors
    /// If the device can hold none of the tiles, or the compiler refuses; with its words.
    pub fn compile(&self, gpu: &dyn Gpu, shape: Shape) -> Result<Compiled> {
        let Some(tiles) = self.candidates(gpu.about()).first().copied() else {
            let about = gpu.about();
            return Err(Error::message(format!(
                "{} can't hold a block of the rung `{}`: it takes blocks of {} threads with {} bytes of shared memory",
                about.name, self.name, about.max_block, about.shared_memory
            )));
        };
        self.compile_with(gpu, tiles, wide(shape))
    }

    /// The same with these tiles.
    ///
    /// # Errors
    /// As [`Rung::compile`].
    pub fn compile_with(
        &self,
        gpu: &dyn Gpu,
        tiles: &'static Tiles,
        wide: bool,
    ) -> Result<Compiled> {
        let kernel = gpu.compile(self.source, &tiles.options(wide), self.name)?;
        Ok(Compiled { kernel, tiles, wide })
    }
}

/// A rung as machine code of one device.
pub struct Compiled {
    kernel: Kernel,
    /// How it cuts C.
    pub tiles: &'static Tiles,
    /// Whether it loads four numbers at a time.
    pub wide: bool,
}

impl Compiled {
    /// Starts C = A·B on the device and returns at once.
    ///
    /// # Errors
    /// If the shape is not for this kernel, or the device refuses.
    pub fn launch(&self, on: &dyn Gpu, abc: [Arg; 3], shape: Shape) -> Result<()> {
        check(shape, self.wide)?;
        let [a, b, c] = abc;
        let Shape { m, k, n } = shape;
        let [m, n, k] = [m, n, k].map(|length| Arg::U32(length as u32));
        on.launch(&self.kernel, self.tiles.launch(shape), &[a, b, c, m, n, k])
    }
}

/// Refuses shapes that a kernel was not compiled for, and matrices whose elements 32 bits can't count.
fn check(shape: Shape, four_at_a_time: bool) -> Result<()> {
    let Shape { m, k, n } = shape;
    let elements = [(m, k), (k, n), (m, n)].map(|(rows, cols)| rows.saturating_mul(cols));
    let longest = elements.into_iter().chain([m, k, n]).max().unwrap_or(0);
    // Some room, because kernels count to the end of a tile.
    if longest > (u32::MAX - 1024) as usize {
        return Err(Error::message(format!(
            "a product of {m}×{k} and {k}×{n} has a matrix of more than 2³² elements, and the kernels count in 32 bits; \
             cut it into blocks"
        )));
    }
    if four_at_a_time && !wide(shape) {
        return Err(Error::message(format!(
            "this kernel was compiled for rows of multiples of four; compile it again for k = {k} and n = {n}"
        )));
    }
    Ok(())
}

/// C = A·B by a rung, from row-major matrices in the CPU's memory and back.
///
/// # Errors
/// If a length is not the shape's, or the device or its compiler refuses.
pub fn product(on: &dyn Gpu, rung: &Rung, a: &[f32], b: &[f32], shape: Shape) -> Result<Vec<f32>> {
    check_lengths(a, b, shape)?;
    let kernel = rung.compile(on, shape)?;
    let operands = Operands::new(on, a, b, shape)?;
    kernel.launch(on, operands.args(), shape)?;
    operands.read(on)
}

/// Refuses matrices that have not the shape's lengths.
pub(crate) fn check_lengths(a: &[f32], b: &[f32], shape: Shape) -> Result<()> {
    let Shape { m, k, n } = shape;
    for (name, len, rows, cols) in [("A", a.len(), m, k), ("B", b.len(), k, n)] {
        if Some(len) != rows.checked_mul(cols) {
            return Err(Error::message(format!(
                "{name} should have {rows}×{cols} elements and has {len}"
            )));
        }
    }
    Ok(())
}

/// The three matrices of a product on a device.
pub struct Operands {
    a: Buffer,
    b: Buffer,
    c: Buffer,
    /// The lengths.
    pub shape: Shape,
}

impl Operands {
    /// A and B on the device, and room for C.
    ///
    /// # Errors
    /// If a length is not the shape's, or the device has no room.
    pub fn new(gpu: &dyn Gpu, a: &[f32], b: &[f32], shape: Shape) -> Result<Self> {
        check_lengths(a, b, shape)?;
        let c = gpu.alloc(4 * shape.m * shape.n)?;
        Ok(Self { a: upload(gpu, a)?, b: upload(gpu, b)?, c, shape })
    }

    /// A, B and C for a kernel.
    pub fn args(&self) -> [Arg<'_>; 3] {
        [Arg::Buffer(&self.a), Arg::Buffer(&self.b), Arg::Buffer(&self.c)]
    }

    /// A and B.
    pub fn inputs(&self) -> [&Buffer; 2] {
        [&self.a, &self.b]
    }

    /// C.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self, gpu: &dyn Gpu) -> Result<Vec<f32>> {
        read_all(gpu, &self.c, self.shape.m * self.shape.n)
    }
}

/// Times every candidate on the device with the operands' product, and returns them with their seconds, the fastest
/// first. Those that the device refuses, for their registers or shared memory, are left out.
///
/// # Errors
/// If none runs.
pub fn autotune(gpu: &dyn Gpu, rung: &Rung, operands: &Operands) -> Result<Vec<(Compiled, f64)>> {
    let about = gpu.about();
    let mut refused = Error::message(format!("{} can't run `{}`", about.name, rung.name));
    // ANCHOR: autotune
    let mut timed = Vec::new();
    for tiles in rung.candidates(about) {
        match time(gpu, rung, tiles, operands) {
            Ok(compiled_and_seconds) => timed.push(compiled_and_seconds),
            Err(error) => refused = error,
        }
    }
    timed.sort_by(|a, b| a.1.total_cmp(&b.1));
    // ANCHOR_END: autotune
    if timed.is_empty() { Err(refused) } else { Ok(timed) }
}

fn time(
    gpu: &dyn Gpu,
    rung: &Rung,
    tiles: &'static Tiles,
    operands: &Operands,
) -> Result<(Compiled, f64)> {
    let compiled = rung.compile_with(gpu, tiles, wide(operands.shape))?;
    let seconds = fastest(gpu, || compiled.launch(gpu, operands.args(), operands.shape))?;
    Ok((compiled, seconds))
}

/// Seconds of the fastest of three runs, after one that warms up.
pub(crate) fn fastest(gpu: &dyn Gpu, mut launch: impl FnMut() -> Result<()>) -> Result<f64> {
    launch()?;
    gpu.finish()?;
    (0..3).try_fold(f64::INFINITY, |best, _| Ok(best.min(gpu.seconds(&mut launch)?)))
}
