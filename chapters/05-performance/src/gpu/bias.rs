//! Backward through a dense layer's bias and `ReLU`: the gradient in place, and its sum over the rows of the batch.

use super::kernels::{BACKWARD, BACKWARD_LAST, length};
use cpu_gpu::{
    Result,
    gpu::{Arg, Buffer, Gpu, Kernel, Launch},
};

/// Rows of a block of `kernels/bias_relu.cl`. The page's batches are one slice, and so one launch.
const SLICE: usize = 512;

/// How many kernels it takes for so many rows.
pub fn launches(rows: usize) -> usize {
    if rows > SLICE { 2 } else { 1 }
}

/// The kernels for gradients of rows×cols, and the memory that they need in between.
pub struct BiasBackward {
    rows: usize,
    cols: usize,
    kernel: Kernel,
    /// What sums the slices' sums, and where they lie, if there is more than one.
    slices: Option<(Kernel, Buffer)>,
}

impl BiasBackward {
    /// Compiles them. Without `relu` it is for a last layer: the gradient is what it was.
    ///
    /// # Errors
    /// The compiler's words, or that the device is out of memory.
    pub fn new(gpu: &dyn Gpu, relu: bool, [rows, cols]: [usize; 2]) -> Result<Self> {
        let kernel = if relu { BACKWARD } else { BACKWARD_LAST }.compile(gpu)?;
        let slices = if launches(rows) == 1 {
            None
        } else {
            let sums = gpu.alloc(4 * rows.div_ceil(SLICE) * cols)?;
            Some((BACKWARD_LAST.compile(gpu)?, sums))
        };
        Ok(Self { rows, cols, kernel, slices })
    }

    /// Starts dy → dy where y > 0, else 0; and dbias, the sums of its columns. Returns at once. Without `ReLU` y is not
    /// read.
    ///
    /// # Errors
    /// The device's error.
    pub fn launch(&self, gpu: &dyn Gpu, [dy, y, dbias]: [Arg; 3]) -> Result<()> {
        let count = self.rows.div_ceil(SLICE);
        let grid = |slices: usize| Launch::new([self.cols.div_ceil(32), slices], [32, 8]);
        let (rows, cols) = (length(self.rows)?, length(self.cols)?);
        let Some((kernel, sums)) = &self.slices else {
            return gpu.launch(&self.kernel, grid(1), &[dy, y, dbias, rows, cols, rows]);
        };
        let (sums, slices) = (Arg::Buffer(sums), length(count)?);
        gpu.launch(&self.kernel, grid(count), &[dy, y, sums, rows, cols, length(SLICE)?])?;
        gpu.launch(kernel, grid(1), &[sums, sums, dbias, slices, cols, slices])
    }
}
