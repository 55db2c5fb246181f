//! The rungs on a GPU: compiled, launched, checked and tuned.

use super::{
    padded::{Encoded, Padded, TensorMap},
    rungs::{CudaPlan, CudaRung, CudaTiles},
};
use crate::{
    Error, Result,
    gpu::{Arg, Buffer, Gpu, Kernel, Launch, cuda::Cuda, read_all, upload},
    ladder::{check_lengths, fastest},
    verify::{self, Problem, Verdict},
};
use matmul::Shape;
use std::{ffi::c_void, ptr};

/// In the flag of `wgmma` before a launch.
const NOT_RUN: u32 = 77;

/// A rung as machine code of one GPU, for products of one shape.
pub struct CudaKernel {
    rung: CudaRung,
    kernel: Kernel,
    plan: Option<CudaPlan>,
    shape: Shape,
    ran: Buffer,
}

/// A and B on a GPU, in the form that a rung wants.
pub struct CudaInputs {
    a: u64,
    b: u64,
    form: Form,
    /// What the addresses lead to, where it is not another's.
    _buffers: Vec<Buffer>,
}

/// What a kernel is told about A and B next to where they are.
enum Form {
    /// f32, row-major, nothing between the rows.
    Plain,
    /// bf16: numbers from one row to the next, of A and of B.
    Strides([u32; 2]),
    /// bf16, by way of the copy engine: descriptors, made once for all launches.
    Maps(Box<[Encoded; 2]>),
}

impl CudaInputs {
    /// Copies row-major matrices of f32 to the GPU, rounded to bf16 where the rung takes that.
    ///
    /// # Errors
    /// If a length is not the shape's, or the GPU has no room.
    pub fn new(gpu: &Cuda, rung: CudaRung, a: &[f32], b: &[f32], shape: Shape) -> Result<Self> {
        let Shape { m, k, n } = shape;
        check_lengths(a, b, shape)?;
        let (buffers, padded) = if rung.bf16() {
            let (a, b) = (Padded::new(a, m, k), Padded::new(b, k, n));
            let maps = [TensorMap::of_a(&a), TensorMap::of_b(&b)];
            let strides = [a.stride as u32, b.stride as u32];
            (vec![upload(gpu, &a.bits)?, upload(gpu, &b.bits)?], Some((strides, maps)))
        } else {
            (vec![upload(gpu, a)?, upload(gpu, b)?], None)
        };
        let (a, b) = (gpu.address(&buffers[0])?, gpu.address(&buffers[1])?);
        let form = match padded {
            None => Form::Plain,
            Some((_, [of_a, of_b])) if rung == CudaRung::Wgmma => {
                gpu.bind()?;
                Form::Maps(Box::new([of_a.encode(a)?, of_b.encode(b)?]))
            }
            Some((strides, _)) => Form::Strides(strides),
        };
        Ok(Self { a, b, form, _buffers: buffers })
    }
}

impl CudaRung {
    /// Compiles it for products of `shape`.
    ///
    /// # Errors
    /// If the GPU can't run it, the compiler refuses, or a length has no room in 31 bits.
    pub fn compile(self, gpu: &Cuda, shape: Shape) -> Result<CudaKernel> {
        self.runs_on(gpu.capability())?;
        let Shape { m, k, n } = shape;
        // The kernels compare distances to an edge as signed numbers, up to a tile beyond it.
        if [m, k, n].iter().any(|&length| length > (i32::MAX - 1024) as usize) {
            return Err(Error::message(format!(
                "a product of {m}×{k} and {k}×{n} is longer than the kernels can count; cut it into blocks"
            )));
        }
        let mut plan = self.plan(shape, gpu.about().compute_units);
        let options = plan.as_ref().map_or(&[][..], |plan| &plan.options);
        let kernel = gpu.compile_for(self.source(), options, self.name(), self.suffix())?;
        if let Some(plan) = plan.as_ref().filter(|plan| plan.shared_bytes > 0) {
            gpu.allow_shared(&kernel, plan.shared_bytes)?;
        }
        if let Some(some) = plan.take_if(|plan| plan.cluster > 1) {
            let at_once = gpu.clusters_at_once(&kernel, some.launch(), some.cluster)?;
            plan = Some(some.with_at_most(at_once));
        }
        let ran = upload(gpu, &[NOT_RUN])?;
        Ok(CudaKernel { rung: self, kernel, plan, shape, ran })
    }
}

impl CudaPlan {
    fn launch(&self) -> Launch {
        let blocks = self.grid.map(|blocks| blocks as usize);
        Launch { shared: self.shared_bytes, ..Launch::new(blocks, [self.threads as usize, 1]) }
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

/// Where an argument of a kernel lies, as the driver wants it.
fn at<T>(value: &mut T) -> *mut c_void {
    ptr::from_mut(value).cast()
}

impl CudaKernel {
    /// Starts C = A·B on the GPU and returns at once. C is m×n, row-major, f32; a buffer or a part of one.
    ///
    /// # Errors
    /// If the inputs are not in this rung's form, or the GPU refuses.
    pub fn launch(&self, gpu: &Cuda, inputs: &CudaInputs, c: Arg) -> Result<()> {
        let Some(plan) = &self.plan else { return Ok(()) };
        let mut c = address(gpu, c)?;
        let (mut a, mut b, mut ran) = (inputs.a, inputs.b, gpu.address(&self.ran)?);
        let k = self.rung.depth(self.shape.k);
        let [mut m, mut n, mut k] = [self.shape.m, self.shape.n, k].map(|x| x as u32);
        let launch = plan.launch();
        let other =
            || Error::message(format!("the inputs are not made for `{}`", self.rung.name()));
        let (mut strides, mut maps, more);
        let ab = match (self.rung, &inputs.form) {
            (CudaRung::AsyncCopy(_), Form::Plain) => {
                more = Vec::new();
                [at(&mut a), at(&mut b)]
            }
            (CudaRung::Wmma, Form::Strides(both)) => {
                strides = *both;
                more = strides.each_mut().map(at).to_vec();
                [at(&mut a), at(&mut b)]
            }
            (CudaRung::Wgmma, Form::Maps(both)) => {
                maps = **both;
                more = vec![at(&mut ran)];
                maps.each_mut().map(at)
            }
            _ => return Err(other()),
        };
        let numbers = [at(&mut c), at(&mut m), at(&mut n), at(&mut k)];
        let mut args = [&ab[..], &numbers, &more].concat();
        // SAFETY: as the kernels' files have them: A and B by their addresses, in `wgmma.cu` by descriptors; a pointer to
        // the output, three numbers; in `wmma.cu` two strides, in `wgmma.cu` a pointer.
        unsafe { gpu.launch_raw(&self.kernel, launch, &mut args) }
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
    let inputs = CudaInputs::new(gpu, rung, a, b, shape)?;
    let compiled = rung.compile(gpu, shape)?;
    let elements = shape.m * shape.n;
    let c = gpu.alloc(4 * elements)?;
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
    let own = CudaInputs::new(gpu, rung, &problem.a, &problem.b, problem.shape)?;
    verify::verify(gpu, problem, |[a, b, c]| {
        // f32 is read from between the strips, bf16 from a copy.
        let fenced = CudaInputs {
            a: address(gpu, a)?,
            b: address(gpu, b)?,
            form: Form::Plain,
            _buffers: vec![],
        };
        compiled.launch(gpu, if rung.bf16() { &own } else { &fenced }, c)?;
        compiled.finish(gpu)
    })
}

/// Times `async_copy` with each of [`CudaTiles::fitting`] on a product of `shape` and returns them with their seconds, the
/// fastest first. Those that the GPU refuses, for their registers, are left out.
///
/// # Errors
/// If none runs.
pub fn tune(gpu: &Cuda, inputs: &CudaInputs, shape: Shape) -> Result<Vec<(CudaTiles, f64)>> {
    let c = gpu.alloc(4 * shape.m * shape.n)?;
    let time = |tiles| {
        let compiled = CudaRung::AsyncCopy(tiles).compile(gpu, shape)?;
        let launch = || compiled.launch(gpu, inputs, Arg::Buffer(&c));
        Ok::<_, Error>((tiles, fastest(gpu, launch)?))
    };
    let (mut timed, mut refused) = (Vec::new(), None);
    for tiles in CudaTiles::fitting(gpu.about().shared_memory) {
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
