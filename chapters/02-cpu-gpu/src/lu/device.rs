//! LU decomposition on a device. The matrix stays in the device's memory, which does the row swaps, the triangular
//! solves and the products; only the panels travel, because a panel is a long chain of small decisions, which is
//! what a CPU is good at. Libraries for GPUs have divided the work in this way since Volkov and Demmel (2008).

use super::{
    blocked::BLOCK,
    decomposition::Lu,
    error::{LuError, check_length},
    panel::Panel,
    unblocked::check_finite,
};
use crate::{
    Error, Result,
    gpu::{Arg, Buffer, Gpu, Kernel, Launch, kernel, read_all, upload, write_all},
};
use matmul::Threads;
use std::time::Instant;

/// The source of the kernels, for both interfaces.
pub const SOURCE: &str = kernel!("tile.h", "piece.h", "lu.cl");

/// A tile of the product, as the kernel has it: rows and columns of the matrix, threads along x and y.
const TILE: usize = 128;
const TILE_THREADS: usize = 16;

/// The kernels of a step, compiled for a device.
pub struct OnDevice<'g> {
    gpu: &'g dyn Gpu,
    take: Kernel,
    put: Kernel,
    exchange: Kernel,
    solve: Kernel,
    product: Kernel,
}

/// A matrix on the device, and room for a panel and its swaps.
struct Resident {
    a: Buffer,
    panel: Buffer,
    swaps: Buffer,
    rows: usize,
    cols: usize,
}

impl<'g> OnDevice<'g> {
    /// Compiles the kernels.
    ///
    /// # Errors
    /// If the device's compiler refuses.
    pub fn new(gpu: &'g dyn Gpu) -> Result<Self> {
        let compile = |entry| gpu.compile(SOURCE, &[], entry);
        Ok(Self {
            gpu,
            take: compile("take")?,
            put: compile("put")?,
            exchange: compile("exchange")?,
            solve: compile("solve")?,
            product: compile("subtract_product")?,
        })
    }

    /// Decomposes an m×n matrix with panels of `block` columns (0 counts as 1). It is copied to the device and back.
    ///
    /// # Errors
    /// A message for each [`LuError`], for a matrix with more elements than 32 bits can count, or if the
    /// device fails or has no room.
    pub fn factor(&self, a: &[f32], rows: usize, cols: usize, block: usize) -> Result<Lu> {
        let (swaps, on_device, _) = self.factor_and_time(a, rows, cols, block)?;
        let values = read_all(self.gpu, &on_device, a.len())?;
        check_finite(&values, rows, cols)?;
        Ok(Lu::from_parts(values, rows, cols, swaps)?)
    }

    /// Seconds of a decomposition whose matrix is on the device already and stays there, the copies of the panels
    /// included.
    ///
    /// # Errors
    /// As [`OnDevice::factor`].
    pub fn seconds(&self, a: &[f32], n: usize, block: usize) -> Result<f64> {
        Ok(self.factor_and_time(a, n, n, block)?.2)
    }

    fn factor_and_time(
        &self,
        a: &[f32],
        rows: usize,
        cols: usize,
        block: usize,
    ) -> Result<(Vec<usize>, Buffer, f64)> {
        check_length(a.len(), rows, cols)?;
        if a.len() > (u32::MAX / 2) as usize {
            return Err(Error::message(format!(
                "a {rows}×{cols} matrix has more elements than the kernels count in 32 bits; take fewer"
            )));
        }
        let (steps, block) = (rows.min(cols), block.max(1));
        let width = block.min(steps);
        let matrix = Resident {
            a: upload(self.gpu, a)?,
            panel: self.gpu.alloc(4 * rows * width)?,
            swaps: self.gpu.alloc(4 * width)?,
            rows,
            cols,
        };
        self.gpu.finish()?;
        let start = Instant::now();
        let mut swaps = Vec::with_capacity(steps);
        let mut panel = Panel::new();
        for first in (0..steps).step_by(block) {
            let width = block.min(steps - first);
            let found = self.step(&matrix, first, width, &mut panel)?;
            swaps.extend(found.iter().map(|row| first + row));
        }
        self.gpu.finish()?;
        Ok((swaps, matrix.a, start.elapsed().as_secs_f64()))
    }

    /// One step; returns the panel's swaps, counted from its first row.
    fn step(
        &self,
        matrix: &Resident,
        first: usize,
        width: usize,
        panel: &mut Panel,
    ) -> Result<Vec<usize>> {
        let (height, cols) = (matrix.rows - first, matrix.cols);
        let rest = cols - first - width;
        // ANCHOR: step
        let tall = [cols, first, height, width];
        let flat = [cols, first, width];
        let copy = [[width.div_ceil(32), height.div_ceil(8)], [32, 8]];
        self.run(&self.take, copy, [&matrix.a, &matrix.panel], &tall)?;
        let mut values = read_all(self.gpu, &matrix.panel, height * width)?;
        let swaps = decompose(panel, &mut values, width, first)?;
        self.write(matrix, &values, &swaps)?;
        self.run(&self.exchange, row(cols), [&matrix.a, &matrix.swaps], &flat)?;
        self.run(&self.put, copy, [&matrix.a, &matrix.panel], &tall)?;
        self.run(&self.solve, row(rest), [&matrix.a, &matrix.panel], &flat)?;
        let below = [rest.div_ceil(TILE), (height - width).div_ceil(TILE)];
        let tiles = [below, [TILE_THREADS; 2]];
        self.run(&self.product, tiles, [&matrix.a, &matrix.panel], &tall)?;
        // ANCHOR_END: step
        Ok(swaps)
    }

    fn write(&self, matrix: &Resident, panel: &[f32], swaps: &[usize]) -> Result<()> {
        write_all(self.gpu, &matrix.panel, panel)?;
        let swaps: Vec<u32> = swaps.iter().map(|&row| row as u32).collect();
        write_all(self.gpu, &matrix.swaps, &swaps)
    }

    fn run(
        &self,
        kernel: &Kernel,
        [grid, block]: [[usize; 2]; 2],
        buffers: [&Buffer; 2],
        numbers: &[usize],
    ) -> Result<()> {
        let buffers = buffers.into_iter().map(Arg::Buffer);
        let numbers = numbers.iter().map(|&number| Arg::U32(number as u32));
        let args: Vec<Arg> = buffers.chain(numbers).collect();
        self.gpu.launch(kernel, Launch::new(grid, block), &args)
    }
}

/// Blocks and threads for a row of this many columns, one for each.
fn row(columns: usize) -> [[usize; 2]; 2] {
    [[columns.div_ceil(128), 1], [128, 1]]
}

/// Decomposes a panel that came from the device, row after row.
fn decompose(
    panel: &mut Panel,
    values: &mut [f32],
    width: usize,
    first: usize,
) -> Result<Vec<usize>, LuError> {
    panel.load(values, width, 0, width);
    let swaps = panel.factor(first, Threads::All)?;
    panel.store(values, width, 0);
    Ok(swaps)
}

/// Decomposes an m×n matrix on a device: [`OnDevice::factor`] with panels of [`BLOCK`] columns.
///
/// # Errors
/// As [`OnDevice::new`] and [`OnDevice::factor`].
pub fn factor(gpu: &dyn Gpu, a: &[f32], rows: usize, cols: usize) -> Result<Lu> {
    OnDevice::new(gpu)?.factor(a, rows, cols, BLOCK)
}
