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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::check::compare;
    use cpu_gpu::{
        gpu::{read_all, testing, write_all},
        verify::{Problem, UNWRITTEN, verify},
    };

    const SHAPES: [[usize; 3]; 7] =
        [[1, 1, 1], [32, 16, 32], [33, 17, 31], [1, 100, 3], [65, 1, 10], [2, 0, 3], [40, 129, 70]];

    #[test]
    fn a_product_passes_chapter_twos_check() {
        let Some(gpu) = testing::opencl() else { return };
        let products = Products::new(&*gpu).unwrap();
        for [m, k, n] in SHAPES {
            let shape = Shape::new(m, k, n);
            let problem = Problem::random(shape, 3);
            let verdict =
                verify(&*gpu, &problem, |abc| products.launch(&*gpu, Layout::Plain, abc, shape));
            assert!(verdict.unwrap().is_ok(), "{m}×{k}×{n}");
        }
    }

    #[test]
    fn transposed_operands_equal_the_reference() {
        let Some(gpu) = testing::opencl() else { return };
        let products = Products::new(&*gpu).unwrap();
        let turned = |x: &[f32], rows: usize, cols: usize| -> Vec<f32> {
            (0..rows * cols).map(|at| x[at % rows * cols + at / rows]).collect()
        };
        for [m, k, n] in SHAPES {
            let problem = Problem::random(Shape::new(m, k, n), 4);
            for layout in [Layout::TransposedA, Layout::TransposedB] {
                let a = turned(&problem.a, m, k);
                let b = turned(&problem.b, k, n);
                let [a, b] = match layout {
                    Layout::TransposedA => [&a, &problem.b],
                    _ => [&problem.a, &b],
                };
                let buffer = |len: usize| gpu.alloc(4 * len.max(1)).unwrap();
                let (on_a, on_b, on_c) = (buffer(a.len()), buffer(b.len()), buffer(m * n));
                write_all(&*gpu, &on_a, a).unwrap();
                write_all(&*gpu, &on_b, b).unwrap();
                write_all(&*gpu, &on_c, &vec![UNWRITTEN; m * n]).unwrap();
                let abc = [Arg::Buffer(&on_a), Arg::Buffer(&on_b), Arg::Buffer(&on_c)];
                products.launch(&*gpu, layout, abc, problem.shape).unwrap();
                let c: Vec<f32> = read_all(&*gpu, &on_c, m * n).unwrap();
                let share = compare(&c, &problem.exact(), n, 1e-5);
                assert!(share.is_ok(), "{layout:?} {m}×{k}×{n}: {share:?}");
            }
        }
    }
}
