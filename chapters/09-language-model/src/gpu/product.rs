//! The three products of a dense layer on a device, from one source: A·B forward, Aᵀ·B for the weights' gradient, A·Bᵀ
//! for the input's.

use cpu_gpu::{
    Result,
    gpu::{Arg, Gpu, Kernel, Launch},
};
use matmul::Shape;
use performance::gpu::kernels;

/// `product.cl`.
const PRODUCT: &str = concat!(
    include_str!("../../../02-cpu-gpu/kernels/portable.h"),
    include_str!("../../kernels/product.cl")
);

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
        let compiled = |options: &[(&str, String)]| gpu.compile(PRODUCT, options, "product");
        let turned = |name| compiled(&[(name, "1".to_owned())]);
        Ok(Self { kernels: [compiled(&[])?, turned("TRANSPOSE_A")?, turned("TRANSPOSE_B")?] })
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
        let [m, n, k] = [m, n, k].map(|count| kernels::length(count).map(Arg::U32));
        let args = [a, b, c, m?, n?, k?];
        gpu.launch(&self.kernels[layout as usize], Launch::new(grid, [16, 16]), &args)
    }
}
