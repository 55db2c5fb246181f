//! The three products of a dense layer on a device, from one source: A·B forward, Aᵀ·B for the weights' gradient, A·Bᵀ
//! for the input's.

use super::kernels::{A_B, A_BT, AT_B, length};
use cpu_gpu::{
    Result,
    gpu::{Arg, Gpu, Kernel, Launch},
};
use matmul::Shape;

/// Rows and columns of C for a block of `kernels/product.cl`.
const TILE: usize = 32;

/// Which operand lies transposed in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// C = A·B.
    Plain,
    /// C = Aᵀ·B: in memory A is k×m.
    TransposedA,
    /// C = A·Bᵀ: in memory B is n×k.
    TransposedB,
}

/// The three kernels as machine code of one device.
pub struct Products {
    kernels: [Kernel; 3],
}

impl Products {
    /// Compiles them.
    ///
    /// # Errors
    /// The compiler's words.
    pub fn new(gpu: &dyn Gpu) -> Result<Self> {
        Ok(Self { kernels: [A_B.compile(gpu)?, AT_B.compile(gpu)?, A_BT.compile(gpu)?] })
    }

    /// Starts C = A·B, with C of m×n and sums of k terms, and returns at once.
    ///
    /// # Errors
    /// The device's error.
    pub fn launch(
        &self,
        gpu: &dyn Gpu,
        layout: Layout,
        [a, b, c]: [Arg; 3],
        Shape { m, k, n }: Shape,
    ) -> Result<()> {
        let grid = [n.div_ceil(TILE), m.div_ceil(TILE)];
        let args = [a, b, c, length(m)?, length(n)?, length(k)?];
        gpu.launch(&self.kernels[layout as usize], Launch::new(grid, [16, 16]), &args)
    }
}
