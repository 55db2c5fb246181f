//! The rungs that CUDA alone has: asynchronous copies, tensor cores by CUDA's own interface, and Hopper's units.
//!
//! The kernels are `kernels/async_copy.cu`, `wmma.cu` and `wgmma.cu`. Here is their other half: which launch goes with
//! which product (`plan`), matrices in bf16 with rows that begin where the copies want them ([`Padded`]), and the
//! descriptors by which the copy engine finds a tile ([`TensorMap`]). None of that needs a GPU, so that the kernels also
//! run on the CPU, in `tests/host_model.rs`, from the same plans. [`Compiled`] and [`Inputs`] launch them on a GPU.

use crate::{
    Error, Result,
    gpu::{Arg, Buffer, Gpu, Kernel, Launch, cuda::Cuda, read_all, write_all},
    verify::{self, Problem, Verdict},
};
use cudarc::driver::sys;
use half::bf16;
use matmul::Shape;
use std::{ffi::c_void, ptr};

/// A rung that only CUDA has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CudaRung {
    /// f32 with `cp.async`: the best that CUDA's ordinary units do here.
    AsyncCopy(Tiles),
    /// bf16 on tensor cores, by `nvcuda::wmma`.
    Wmma,
    /// bf16 on Hopper's tensor cores, by `wgmma` and the copy engine.
    Wgmma,
}

/// How `async_copy` cuts the product into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiles {
    /// Rows and columns of C that a block computes.
    pub block: [u32; 2],
    /// Rows and columns of C that a thread computes.
    pub thread: [u32; 2],
    /// Slots in the ring of tiles.
    pub stages: u32,
    /// Blocks that share a multiprocessor.
    pub blocks_per_sm: u32,
    /// Steps of four along k that are written out as straight code.
    pub unroll: u32,
}

impl Tiles {
    const fn new(block: [u32; 2], thread: [u32; 2], stages: u32, blocks_per_sm: u32) -> Self {
        Self { block, thread, stages, blocks_per_sm, unroll: 4 }
    }

    /// Those that are tried; the first is the one for large products. Many sums for each thread make the fewest loads,
    /// small tiles occupy all multiprocessors where C is small.
    pub const ALL: [Self; 7] = [
        Self::new([128, 256], [8, 16], 4, 1),
        Self { unroll: 2, ..Self::new([128, 256], [8, 16], 4, 1) },
        Self::new([256, 128], [8, 16], 4, 1),
        Self::new([128, 128], [8, 16], 4, 2),
        Self::new([128, 128], [8, 16], 3, 2),
        Self::new([64, 128], [8, 8], 3, 3),
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

    /// `128x256-8x16-s4-u4`, for records.
    pub fn name(self) -> String {
        let Self { block: [m, n], thread: [x, y], stages, unroll, .. } = self;
        format!("{m}x{n}-{x}x{y}-s{stages}-u{unroll}")
    }
}

/// One launch of a rung's kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
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

/// The dynamic shared memory of `wgmma`: four slots of 48 KiB, their barriers, and room to begin at a multiple of 1024.
const WGMMA_SHARED: u32 = 1024 + 4 * (128 * 64 + 64 * 256) * 2 + 16 * 4;

impl CudaRung {
    /// Each of them, `async_copy` with its first [`Tiles`].
    pub const ALL: [Self; 3] = [Self::AsyncCopy(Tiles::ALL[0]), Self::Wmma, Self::Wgmma];

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
            Self::AsyncCopy(_) => include_str!("../kernels/async_copy.cu"),
            Self::Wmma => include_str!("../kernels/wmma.cu"),
            Self::Wgmma => include_str!("../kernels/wgmma.cu"),
        }
    }

    /// Whether it rounds its inputs to bf16.
    pub fn bf16(self) -> bool {
        !matches!(self, Self::AsyncCopy(_))
    }

    /// Whether a GPU of this compute capability can run it.
    ///
    /// # Errors
    /// A sentence that says why not.
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

    /// What is put behind the architecture to compile it for: `a` where it uses what this generation alone has
    /// (`sm_90a`).
    pub fn suffix(self) -> &'static str {
        if self == Self::Wgmma { "a" } else { "" }
    }

    /// Compiles it for products of `shape`.
    ///
    /// # Errors
    /// If the GPU can't run it, the compiler refuses, or a length has no room in 31 bits.
    pub fn compile(self, gpu: &Cuda, shape: Shape) -> Result<Compiled> {
        self.runs_on(gpu.capability())?;
        let Shape { m, k, n } = shape;
        // The kernels compare distances to an edge as signed numbers, up to a tile beyond it.
        if [m, k, n].iter().any(|&length| length > (i32::MAX - 1024) as usize) {
            return Err(Error::message(format!(
                "a product of {m}×{k} and {k}×{n} is longer than the kernels can count; cut it into blocks"
            )));
        }
        let plan = self.plan(shape, gpu.about().compute_units);
        let options = plan.as_ref().map_or(&[][..], |plan| &plan.options);
        let kernel = gpu.compile_for(self.source(), options, self.name(), self.suffix())?;
        if let Some(plan) = plan.as_ref().filter(|plan| plan.shared_bytes > 0) {
            gpu.allow_shared(&kernel, plan.shared_bytes)?;
        }
        let ran = gpu.alloc(4)?;
        write_all(gpu, &ran, &[NOT_RUN])?;
        Ok(Compiled { rung: self, kernel, plan, shape, ran })
    }

    /// How to launch it for a product of `shape` on a GPU with so many multiprocessors. `None` where C is empty:
    /// there is nothing to launch.
    pub fn plan(self, shape: Shape, multiprocessors: u32) -> Option<Plan> {
        let Shape { m, k, n } = shape;
        if m == 0 || n == 0 {
            return None;
        }
        let tiles = |rows: u32, columns: u32| {
            [m.div_ceil(rows as usize) as u32, n.div_ceil(columns as usize) as u32]
        };
        Some(match self {
            Self::AsyncCopy(t) => {
                let [high, wide] = tiles(t.block[0], t.block[1]);
                let aligned = n.is_multiple_of(4) && k.is_multiple_of(4);
                Plan {
                    options: vec![
                        ("BM", t.block[0].to_string()),
                        ("BN", t.block[1].to_string()),
                        ("TM", t.thread[0].to_string()),
                        ("TN", t.thread[1].to_string()),
                        ("STAGES", t.stages.to_string()),
                        ("UNROLL", t.unroll.to_string()),
                        ("BLOCKS_PER_SM", t.blocks_per_sm.to_string()),
                        ("VECTOR", u32::from(aligned).to_string()),
                    ],
                    grid: [high * wide, 1],
                    threads: t.threads(),
                    cluster: 1,
                    shared_bytes: t.shared_bytes(),
                }
            }
            Self::Wmma => {
                let [high, wide] = tiles(128, 128);
                Plan {
                    options: Vec::new(),
                    grid: [high * wide, 1],
                    threads: 256,
                    cluster: 1,
                    shared_bytes: 0,
                }
            }
            Self::Wgmma => {
                let [high, wide] = tiles(256, 256);
                let clusters = (high * wide).min((multiprocessors / 2).max(1));
                Plan {
                    options: Vec::new(),
                    grid: [2 * clusters, 1],
                    threads: 384,
                    cluster: 2,
                    shared_bytes: WGMMA_SHARED,
                }
            }
        })
    }
}

/// A matrix in bf16 whose rows begin at multiples of 16 bytes, with zeros behind each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Padded {
    /// Rows, at least 1.
    pub rows: usize,
    /// Columns that count, at least 1.
    pub columns: usize,
    /// Numbers from one row to the next: a multiple of 8.
    pub stride: usize,
    /// The bits, `rows * stride` of them.
    pub bits: Vec<u16>,
}

impl Padded {
    /// Rounds a row-major matrix to bf16. A dimension of 0 becomes one row or column of zeros, because the copy engine
    /// takes no empty matrices and a zero adds nothing to a sum.
    ///
    /// # Panics
    /// If `values` has not `rows * columns` numbers.
    ///
    /// ```
    /// let a = cpu_gpu::tensor_cores::Padded::new(&[1.0, 2.0, 3.0], 1, 3);
    /// assert_eq!((a.stride, &a.bits[..4]), (8, &[0x3F80, 0x4000, 0x4040, 0][..]));
    /// ```
    pub fn new(values: &[f32], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns, "a {rows}×{columns} matrix");
        let stride = columns.next_multiple_of(8).max(8);
        let mut bits = vec![0; rows.max(1) * stride];
        if columns > 0 {
            for (to, from) in bits.chunks_mut(stride).zip(values.chunks(columns)) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = bf16::from_f32(*from).to_bits();
                }
            }
        }
        Self { rows: rows.max(1), columns: columns.max(1), stride, bits }
    }
}

/// What the copy engine is told about a matrix of bf16 (`cuTensorMapEncodeTiled` of the CUDA driver): a swizzle of
/// 128 bytes, and zeros for what lies outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Columns and rows.
    pub size: [u64; 2],
    /// Bytes from one row to the next: a multiple of 16.
    pub stride: u64,
    /// Columns and rows of the box that one copy brings: 64 columns are the swizzle's 128 bytes.
    pub boxes: [u32; 2],
}

impl TensorMap {
    fn new(matrix: &Padded, boxes: [u32; 2]) -> Self {
        Self {
            size: [matrix.columns as u64, matrix.rows as u64],
            stride: 2 * matrix.stride as u64,
            boxes,
        }
    }

    /// Of A for `wgmma`: boxes of 64 columns and the 128 rows of a block.
    pub fn of_a(a: &Padded) -> Self {
        Self::new(a, [64, 128])
    }

    /// Of B for `wgmma`: boxes of 64 columns and 64 rows, four of them for a tile.
    pub fn of_b(b: &Padded) -> Self {
        Self::new(b, [64, 64])
    }
}

/// In the flag of `wgmma` before a launch.
const NOT_RUN: u32 = 77;

/// A rung as machine code of one GPU, for products of one shape.
pub struct Compiled {
    rung: CudaRung,
    kernel: Kernel,
    plan: Option<Plan>,
    shape: Shape,
    ran: Buffer,
}

/// A and B on a GPU, in the form that a rung wants.
pub struct Inputs {
    a: u64,
    b: u64,
    /// Of A and B in bf16: strides and descriptors.
    bf16: Option<[(u32, TensorMap); 2]>,
    /// What the addresses lead to, where it is not somebody else's.
    _buffers: Vec<Buffer>,
}

impl Inputs {
    /// Copies row-major matrices of f32 to the GPU, rounded to bf16 where the rung takes that.
    ///
    /// # Errors
    /// If a length is not the shape's, or the GPU has no room.
    pub fn new(gpu: &Cuda, rung: CudaRung, a: &[f32], b: &[f32], shape: Shape) -> Result<Self> {
        let Shape { m, k, n } = shape;
        for (name, len, rows, columns) in [("A", a.len(), m, k), ("B", b.len(), k, n)] {
            if Some(len) != rows.checked_mul(columns) {
                return Err(Error::message(format!(
                    "{name} should have {rows}×{columns} elements and has {len}"
                )));
            }
        }
        let (buffers, bf16) = if rung.bf16() {
            let (a, b) = (Padded::new(a, m, k), Padded::new(b, k, n));
            let buffer = |matrix: &Padded| {
                let buffer = gpu.alloc(2 * matrix.bits.len())?;
                write_all(gpu, &buffer, &matrix.bits)?;
                Ok::<_, Error>(buffer)
            };
            let maps =
                [(a.stride as u32, TensorMap::of_a(&a)), (b.stride as u32, TensorMap::of_b(&b))];
            (vec![buffer(&a)?, buffer(&b)?], Some(maps))
        } else {
            let buffer = |matrix: &[f32]| {
                let buffer = gpu.alloc((4 * matrix.len()).max(16))?;
                write_all(gpu, &buffer, matrix)?;
                Ok::<_, Error>(buffer)
            };
            (vec![buffer(a)?, buffer(b)?], None)
        };
        let (a, b) = (gpu.address(&buffers[0])?, gpu.address(&buffers[1])?);
        Ok(Self { a, b, bf16, _buffers: buffers })
    }
}

/// Where an argument of a kernel leads to.
fn address(gpu: &Cuda, arg: Arg) -> Result<u64> {
    match arg {
        Arg::Buffer(buffer) => gpu.address(buffer),
        Arg::Part { buffer, offset } => Ok(gpu.address(buffer)? + offset as u64),
        Arg::U32(_) | Arg::F32(_) => Err(Error::message("a matrix is a buffer, not a number")),
    }
}

impl TensorMap {
    /// The 128 bytes that the copy engine reads, for a matrix at `address`.
    fn encode(&self, address: u64) -> Result<sys::CUtensorMap> {
        let mut map = sys::CUtensorMap { opaque: [0; 16] };
        let steps = [1, 1];
        // SAFETY: the pointers lead to two sizes, one stride, two sides of a box and two steps, as two dimensions need;
        // the driver stores the address and reads nothing from there.
        let code = unsafe {
            sys::cuTensorMapEncodeTiled(
                &raw mut map,
                sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                2,
                address as *mut c_void,
                self.size.as_ptr(),
                &raw const self.stride,
                self.boxes.as_ptr(),
                steps.as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
                sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        if code == sys::CUresult::CUDA_SUCCESS {
            Ok(map)
        } else {
            Err(Error::message(format!(
                "the driver refuses the descriptor of a matrix ({code:?}: {self:?}); a newer driver may take it"
            )))
        }
    }
}

/// Where an argument of a kernel lies, as the driver wants it.
fn at<T>(value: &mut T) -> *mut c_void {
    ptr::from_mut(value).cast()
}

impl Compiled {
    /// Starts C = A·B on the GPU and returns at once. C is m×n, row-major, f32; a buffer or a part of one.
    ///
    /// # Errors
    /// If the inputs are not in this rung's form, or the GPU refuses.
    pub fn launch(&self, gpu: &Cuda, inputs: &Inputs, c: Arg) -> Result<()> {
        let Some(plan) = &self.plan else { return Ok(()) };
        let mut c = address(gpu, c)?;
        let (mut a, mut b, mut ran) = (inputs.a, inputs.b, gpu.address(&self.ran)?);
        let [mut m, mut n, mut k] = [self.shape.m, self.shape.n, self.shape.k].map(|x| x as u32);
        let launch = Launch {
            shared: plan.shared_bytes,
            ..Launch::new(plan.grid.map(|blocks| blocks as usize), [plan.threads as usize, 1])
        };
        let other =
            || Error::message(format!("the inputs are not made for `{}`", self.rung.name()));
        match (self.rung, inputs.bf16) {
            (CudaRung::AsyncCopy(_), None) => {
                let mut args =
                    [at(&mut a), at(&mut b), at(&mut c), at(&mut m), at(&mut n), at(&mut k)];
                // SAFETY: two pointers to inputs, one to the output, three numbers, as in `async_copy.cu`.
                unsafe { gpu.launch_raw(&self.kernel, launch, &mut args) }
            }
            (CudaRung::Wmma, Some([(mut lda, _), (mut ldb, _)])) => {
                let mut args = [
                    at(&mut a),
                    at(&mut b),
                    at(&mut c),
                    at(&mut m),
                    at(&mut n),
                    at(&mut k),
                    at(&mut lda),
                    at(&mut ldb),
                ];
                // SAFETY: as above, and two strides, as in `wmma.cu`.
                unsafe { gpu.launch_raw(&self.kernel, launch, &mut args) }
            }
            (CudaRung::Wgmma, Some([(_, of_a), (_, of_b)])) => {
                let (mut map_a, mut map_b) = (of_a.encode(a)?, of_b.encode(b)?);
                let mut args = [
                    at(&mut map_a),
                    at(&mut map_b),
                    at(&mut c),
                    at(&mut m),
                    at(&mut n),
                    at(&mut k),
                    at(&mut ran),
                ];
                // SAFETY: two descriptors by value, a pointer, three numbers and a pointer, as in `wgmma.cu`.
                unsafe { gpu.launch_raw(&self.kernel, launch, &mut args) }
            }
            _ => Err(other()),
        }
    }

    /// Waits, and makes sure that the kernel was one for this GPU: `wgmma.cu` compiled for another does nothing.
    ///
    /// # Errors
    /// If it did nothing, or failed on the way.
    pub fn finish(&self, gpu: &Cuda) -> Result<()> {
        gpu.finish()?;
        if self.rung == CudaRung::Wgmma && self.plan.is_some() {
            let ran: Vec<u32> = read_all(gpu, &self.ran, 1)?;
            if ran[0] != 1 {
                return Err(Error::message(
                    "the kernel `wgmma` was not compiled for sm_90a, which has its instructions",
                ));
            }
        }
        Ok(())
    }
}

/// C = A·B on an NVIDIA GPU, from row-major matrices in the CPU's memory and back. The rungs of bf16 round A and B first.
///
/// # Errors
/// If a length is not the shape's, or the GPU or its compiler refuses.
pub fn product(gpu: &Cuda, rung: CudaRung, a: &[f32], b: &[f32], shape: Shape) -> Result<Vec<f32>> {
    let inputs = Inputs::new(gpu, rung, a, b, shape)?;
    let compiled = rung.compile(gpu, shape)?;
    let elements = shape.m * shape.n;
    let c = gpu.alloc((4 * elements).max(16))?;
    compiled.launch(gpu, &inputs, Arg::Buffer(&c))?;
    compiled.finish(gpu)?;
    read_all(gpu, &c, elements)
}

/// Runs the rung on a problem whose solution is known, with C full of a marker and strips of another around it. Rungs of
/// bf16 want a [`Problem::random_bf16`].
///
/// # Errors
/// If the GPU or its compiler refuses; a wrong result is in the [`Verdict`].
pub fn check(gpu: &Cuda, rung: CudaRung, problem: &Problem) -> Result<Verdict> {
    let compiled = rung.compile(gpu, problem.shape)?;
    let own = Inputs::new(gpu, rung, &problem.a, &problem.b, problem.shape)?;
    verify::verify(gpu, problem, |[a, b, c]| {
        // f32 is read from between the strips, bf16 from a copy.
        let fenced =
            Inputs { a: address(gpu, a)?, b: address(gpu, b)?, bf16: None, _buffers: vec![] };
        compiled.launch(gpu, if rung.bf16() { &own } else { &fenced }, c)?;
        compiled.finish(gpu)
    })
}

/// Times `async_copy` with each of [`Tiles::ALL`] on a product of `shape` and returns them with their seconds, the fastest
/// first. Those that the GPU refuses, for their registers or shared memory, are left out.
///
/// # Errors
/// If none runs.
pub fn tune(gpu: &Cuda, shape: Shape) -> Result<Vec<(Tiles, f64)>> {
    let a = verify::numbers(shape.m * shape.k, 1);
    let b = verify::numbers(shape.k * shape.n, 2);
    let inputs = Inputs::new(gpu, CudaRung::ALL[0], &a, &b, shape)?;
    let c = gpu.alloc((4 * shape.m * shape.n).max(16))?;
    let time = |tiles| {
        let compiled = CudaRung::AsyncCopy(tiles).compile(gpu, shape)?;
        let mut launch = || compiled.launch(gpu, &inputs, Arg::Buffer(&c));
        launch()?;
        gpu.finish()?;
        let mut fastest = f64::INFINITY;
        for _ in 0..3 {
            fastest = fastest.min(gpu.seconds(&mut launch)?);
        }
        Ok::<_, Error>((tiles, fastest))
    };
    let (mut timed, mut refused) = (Vec::new(), None);
    for tiles in Tiles::ALL {
        match time(tiles) {
            Ok(seconds) => timed.push(seconds),
            Err(error) => refused = Some(error),
        }
    }
    timed.sort_by(|x, y| x.1.total_cmp(&y.1));
    match refused {
        Some(error) if timed.is_empty() => Err(error),
        _ => Ok(timed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_tiles_fits_the_kernel_and_the_gpu() {
        for tiles in Tiles::ALL {
            let name = tiles.name();
            let threads = tiles.threads();
            assert!((64..=1024).contains(&threads), "{name}");
            // What the kernel asserts: every thread copies as much, in whole rows.
            assert_eq!(tiles.block[0] * 4 % threads, 0, "{name}");
            assert_eq!(tiles.block[1] * 4 % threads, 0, "{name}");
            // 227 KiB are what a multiprocessor of 9.0 has for its blocks, which need 1 KiB each for themselves.
            assert!(tiles.blocks_per_sm * (tiles.shared_bytes() + 1024) <= 228 * 1024, "{name}");
            // Sums alone must leave room in the registers that so many blocks leave for a thread.
            let registers = (65536 / (threads * tiles.blocks_per_sm)).min(255);
            assert!(tiles.thread[0] * tiles.thread[1] * 3 / 2 <= registers, "{name}: {registers}");
        }
        let names: std::collections::HashSet<_> = Tiles::ALL.map(Tiles::name).into_iter().collect();
        assert_eq!(names.len(), Tiles::ALL.len());
    }

    #[test]
    fn a_plan_covers_c_and_is_empty_where_c_is() {
        let shape = Shape::new(257, 5, 1025);
        let plan = |rung: CudaRung| rung.plan(shape, 132).unwrap();
        let [async_copy, wmma, wgmma] = CudaRung::ALL.map(plan);
        assert_eq!((async_copy.grid, async_copy.threads), ([3 * 5, 1], 256));
        assert_eq!((wmma.grid, wmma.threads), ([3 * 9, 1], 256));
        assert_eq!((wgmma.grid, wgmma.threads, wgmma.cluster), ([2 * 10, 1], 384, 2));
        // As many clusters as the GPU holds, however large the product; at least one on the smallest GPU.
        let large = Shape::square(8192);
        assert_eq!(CudaRung::Wgmma.plan(large, 132).unwrap().grid, [132, 1]);
        assert_eq!(CudaRung::Wgmma.plan(large, 1).unwrap().grid, [2, 1]);
        assert!(wgmma.shared_bytes <= 227 * 1024);
        for rung in CudaRung::ALL {
            assert_eq!(rung.plan(Shape::new(0, 3, 3), 132), None);
            assert_eq!(rung.plan(Shape::new(3, 3, 0), 132), None);
            assert!(rung.plan(Shape::new(3, 0, 3), 132).is_some());
        }
    }

    #[test]
    fn four_numbers_are_copied_at_a_time_only_where_rows_are_aligned() {
        let vector = |k, n| {
            let plan = CudaRung::ALL[0].plan(Shape::new(5, k, n), 1).unwrap();
            plan.options.iter().find(|(name, _)| *name == "VECTOR").unwrap().1.clone()
        };
        assert_eq!([vector(8, 12), vector(6, 12), vector(8, 13)], ["1", "0", "0"]);
    }

    #[test]
    fn an_older_or_newer_gpu_is_told_why_not() {
        for rung in CudaRung::ALL {
            assert!(rung.runs_on((9, 0)).is_ok(), "{}", rung.name());
            assert!(rung.runs_on((7, 5)).unwrap_err().to_string().contains("7.5"));
        }
        assert!(CudaRung::Wmma.runs_on((10, 0)).is_ok());
        assert!(CudaRung::Wgmma.runs_on((10, 0)).unwrap_err().to_string().contains("Hopper"));
        assert_eq!(CudaRung::ALL.map(CudaRung::suffix), ["", "", "a"]);
    }

    #[test]
    fn a_matrix_is_rounded_to_nearest_and_its_rows_are_filled_with_zeros() {
        // 1 + 2^-8 lies between two bf16 numbers and goes to the even one, 1; 1 + 3·2^-8 goes up.
        let values = [1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, -2.0, f32::NAN, 5.0, f32::INFINITY];
        let matrix = Padded::new(&values, 2, 3);
        assert_eq!((matrix.rows, matrix.columns, matrix.stride), (2, 3, 8));
        assert_eq!(matrix.bits[..8], [0x3F80, 0x3F82, 0xC000, 0, 0, 0, 0, 0]);
        assert!(bf16::from_bits(matrix.bits[8]).is_nan());
        assert_eq!(matrix.bits[9..], [0x40A0, 0x7F80, 0, 0, 0, 0, 0]);
        let empty = Padded::new(&[], 0, 9);
        assert_eq!((empty.rows, empty.columns, empty.bits.len()), (1, 9, 16));
        let empty = Padded::new(&[], 3, 0);
        assert_eq!((empty.rows, empty.columns, empty.bits.len()), (3, 1, 24));
        assert!(empty.bits.iter().all(|&b| b == 0));
    }

    #[test]
    fn a_descriptor_is_one_that_the_driver_takes() {
        for (rows, columns) in [(1, 1), (129, 65), (8192, 8192)] {
            let matrix = Padded::new(&vec![0.0; rows * columns], rows, columns);
            for map in [TensorMap::of_a(&matrix), TensorMap::of_b(&matrix)] {
                // cuda.h at cuTensorMapEncodeTiled: strides, boxes, and the swizzle's width.
                assert!(map.stride.is_multiple_of(16) && map.stride >= 2 * map.size[0]);
                assert!(map.boxes.iter().all(|&side| (1..=256).contains(&side)));
                assert_eq!(map.boxes[0] * 2, 128);
                assert_eq!(map.size, [columns as u64, rows as u64]);
            }
        }
    }

    /// Runs `test` on an NVIDIA GPU, or says that there is none, which `THROUGHPUT_REQUIRE_CUDA=1` forbids.
    fn on_a_gpu(test: impl FnOnce(&Cuda)) {
        let _turn = crate::gpu::testing::turn();
        match crate::gpu::open("cuda") {
            Ok(gpu) => test(gpu.as_cuda().expect("`cuda` is driven by CUDA")),
            Err(why) => {
                let required = std::env::var("THROUGHPUT_REQUIRE_CUDA").is_ok_and(|v| v == "1");
                assert!(!required, "a test needs an NVIDIA GPU: {why}");
                eprintln!("skipped: no CUDA device ({why})");
            }
        }
    }

    const SHAPES: [(usize, usize, usize); 12] = [
        (1, 1, 1),
        (5, 0, 7),
        (128, 64, 256),
        (132, 36, 260),
        (131, 77, 259),
        (257, 100, 8),
        (129, 400, 9),
        (1000, 1000, 1000),
        (1023, 1025, 1027),
        (2, 8192, 3),
        (3000, 5, 2500),
        (2048, 2048, 2048),
    ];

    #[test]
    fn every_rung_is_right_on_a_gpu() {
        on_a_gpu(|gpu| {
            for rung in CudaRung::ALL {
                if let Err(why) = rung.runs_on(gpu.capability()) {
                    eprintln!("skipped: {why}");
                    continue;
                }
                for (m, k, n) in SHAPES {
                    let shape = Shape::new(m, k, n);
                    let problem = if rung.bf16() {
                        Problem::random_bf16(shape, 7)
                    } else {
                        Problem::random(shape, 7)
                    };
                    if let Err(fault) = check(gpu, rung, &problem).unwrap() {
                        panic!("{} {shape:?}: {fault}", rung.name());
                    }
                    let c = product(gpu, rung, &problem.a, &problem.b, shape).unwrap();
                    if let Err(fault) = problem.check(&c) {
                        panic!("{} {shape:?} by `product`: {fault}", rung.name());
                    }
                }
            }
        });
    }

    #[test]
    fn every_choice_of_tiles_is_right_on_a_gpu() {
        on_a_gpu(|gpu| {
            let shape = Shape::new(517, 260, 1028);
            let problem = Problem::random(shape, 3);
            for tiles in Tiles::ALL {
                let verdict = check(gpu, CudaRung::AsyncCopy(tiles), &problem).unwrap();
                assert!(verdict.is_ok(), "{}: {}", tiles.name(), verdict.unwrap_err());
            }
            let timed = tune(gpu, shape).unwrap();
            assert_eq!(timed.len(), Tiles::ALL.len());
            assert!(timed.is_sorted_by(|x, y| x.1 <= y.1) && timed[0].1 > 0.0);
        });
    }

    #[test]
    fn an_empty_c_and_wrong_lengths_are_no_panic_on_a_gpu() {
        on_a_gpu(|gpu| {
            for rung in CudaRung::ALL {
                if rung.runs_on(gpu.capability()).is_ok() {
                    assert!(product(gpu, rung, &[], &[], Shape::new(0, 0, 5)).unwrap().is_empty());
                    let error = product(gpu, rung, &[1.0], &[], Shape::new(1, 2, 0)).unwrap_err();
                    assert!(error.to_string().contains("A should have 1×2"), "{error}");
                }
            }
        });
    }
}
