//! cuBLAS, NVIDIA's matrix product, to compare our own kernels with. It is loaded by hand when the program runs.
//!
//! Source: cuBLAS documentation, CUDA 13.0, sections 2.1.6 (column-major), 2.2 (enumerations), 2.7.1 (`gemm`) and
//! 2.8.12 (`cublasGemmEx`).

use super::{cuda::Cuda, device::Buffer, toolkit::Part};
use crate::{Error, Result, devices::Precision, library};
use lab::doctor;
use matmul::Shape;
use std::{
    ffi::{c_int, c_void},
    ptr,
};

type Handle = *mut c_void;

library! {
    struct Functions of "cuBLAS", "that of CUDA 12 or 13" {
        create = "cublasCreate_v2"(*mut Handle) -> c_int;
        destroy = "cublasDestroy_v2"(Handle) -> c_int;
        set_stream = "cublasSetStream_v2"(Handle, *mut c_void) -> c_int;
        set_math_mode = "cublasSetMathMode"(Handle, c_int) -> c_int;
        /// Handle, two "transposed", m, n, k, alpha, A and its leading dimension, B and its, beta, C and its.
        /// The same with a type next to each matrix, then the type of the sums and the algorithm.
        gemm_ex = "cublasGemmEx"(
            Handle, c_int, c_int, c_int, c_int, c_int, *const c_void,
            *const c_void, c_int, c_int, *const c_void, c_int, c_int, *const c_void, *mut c_void, c_int, c_int,
            c_int, c_int
        ) -> c_int;
    }
}

// The manual's enumerations: as it is (not transposed), the types, sums in f32, the library's own choice.
const AS_IT_IS: c_int = 0;
const TYPE_F32: c_int = 0;
const TYPE_BF16: c_int = 14;
const SUMS_F32: c_int = 68;
const CHOOSE: c_int = -1;
/// `CUBLAS_DEFAULT_MATH`: products of f32 are products of f32. TF32, which drops 13 of 23 bits, has to be asked for
/// (`CUBLAS_TF32_TENSOR_OP_MATH`, or the variable `NVIDIA_TF32_OVERRIDE=1`).
const FULL_F32: c_int = 0;

/// Where cuBLAS is looked for, and what is said where there is none.
pub const CUBLAS: Part = Part {
    file: "cublas",
    asks: doctor::Library::Cublas,
    called: "cuBLAS",
    missing: "there is no cuBLAS (libcublas.so), NVIDIA's matrix product to compare with; install the CUDA toolkit, or this \
              library alone with `pip install nvidia-cublas` for the python3 on your PATH",
    other: |driver| format!("the cuBLAS of CUDA {driver}"),
};

fn load() -> Result<Functions> {
    Functions::of(CUBLAS.load()?.library).map_err(Error::Message)
}

/// A status of cuBLAS in words (`cublasStatus_t`).
///
/// # Errors
/// Any other status.
pub fn check(status: c_int, what: &str) -> Result<()> {
    let why = match status {
        0 => return Ok(()),
        1 => {
            "it was not initialised: the GPU or its driver does not respond; see `throughput doctor`"
        }
        3 => "out of memory: take smaller matrices, or close other programs that use the GPU",
        7 => "it does not take these lengths",
        8 => "this GPU lacks a feature that it needs",
        13 => "the GPU failed while it ran; start the program again",
        15 => "it does not support this for this GPU or these lengths",
        _ => "see cublasStatus_t in its manual",
    };
    Err(Error::message(format!("cuBLAS can't {what} (status {status}): {why}")))
}

/// The lengths of C = A·B for a library that counts in 32 bits with a sign, and the bytes that A, B and C need.
#[derive(Debug, PartialEq, Eq)]
pub struct Lengths {
    /// n, m and k, in the order of the swapped product.
    pub of_call: [c_int; 3],
    /// Bytes of A, B and C.
    pub bytes: [usize; 3],
}

impl Lengths {
    /// Of a product whose operands' numbers have `input` bytes each.
    ///
    /// # Errors
    /// If a length does not fit 31 bits.
    pub fn new(shape: Shape, input: usize) -> Result<Self> {
        let Shape { m, k, n } = shape;
        let too_long = || {
            Error::message(format!(
                "cuBLAS counts in 31 bits: a product of {m}×{k} and {k}×{n} matrices is too long for it; cut it into \
                 blocks"
            ))
        };
        let call = |length| c_int::try_from(length).map_err(|_| too_long());
        let bytes = |rows: usize, cols: usize, size: usize| {
            rows.checked_mul(cols).and_then(|count| count.checked_mul(size)).ok_or_else(too_long)
        };
        Ok(Self {
            of_call: [call(n)?, call(m)?, call(k)?],
            bytes: [bytes(m, k, input)?, bytes(k, n, input)?, bytes(m, n, size_of::<f32>())?],
        })
    }
}

/// cuBLAS on one GPU. Its products go into the GPU's stream, in order with our own kernels.
pub struct Cublas<'c> {
    cuda: &'c Cuda,
    functions: Functions,
    handle: Handle,
}

impl Drop for Cublas<'_> {
    fn drop(&mut self) {
        if self.cuda.bind().is_ok() {
            // SAFETY: made in `new`, destroyed once; it waits for what it has launched.
            unsafe { (self.functions.destroy)(self.handle) };
        }
    }
}

impl<'c> Cublas<'c> {
    /// Loads cuBLAS and starts it on this GPU.
    ///
    /// # Errors
    /// A message if there is no such library, or if it does not start.
    pub fn new(cuda: &'c Cuda) -> Result<Self> {
        let functions = load()?;
        cuda.bind()?;
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: the GPU's context is current; cuBLAS writes one pointer.
        check(unsafe { (functions.create)(&raw mut handle) }, "start")?;
        let cublas = Self { cuda, functions, handle };
        // SAFETY: the stream lives as long as `cuda`, which this borrows.
        let set = unsafe { (cublas.functions.set_stream)(handle, cuda.stream().cast()) };
        check(set, "take the GPU's stream")?;
        // SAFETY: the handle was made above.
        let set = unsafe { (cublas.functions.set_math_mode)(handle, FULL_F32) };
        check(set, "be told to keep f32")?;
        Ok(cublas)
    }

    /// Starts C = A·B with A and B as `inputs` says, sums and C in f32, all row-major, and returns at once. No TF32: f32 is
    /// multiplied as f32.
    ///
    /// # Errors
    /// A message if a buffer is too short or of another device, or if cuBLAS refuses.
    pub fn gemm(
        &self,
        [a, b]: [&Buffer; 2],
        c: &Buffer,
        shape: Shape,
        inputs: Precision,
    ) -> Result<()> {
        let (of_input, bytes, what) = match inputs {
            Precision::F32 => (TYPE_F32, size_of::<f32>(), "multiply in f32"),
            Precision::Bf16 => (TYPE_BF16, size_of::<u16>(), "multiply in bf16"),
        };
        let lengths = Lengths::new(shape, bytes)?;
        let [a, b, c] = self.addresses([a, b, c], &lengths)?;
        let [n, m, k] = lengths.of_call;
        if n == 0 || m == 0 {
            return Ok(());
        }
        // cuBLAS thinks in columns: it takes our row-major A for Aᵀ, our B for Bᵀ
        // and will write Cᵀ. So it is asked for Bᵀ·Aᵀ, which is (A·B)ᵀ: the
        // operands swapped, nothing transposed, and no element moved.
        let (one, zero) = (1.0_f32, 0.0_f32);
        // SAFETY: the buffers hold the three matrices, on this GPU; the scale's type is that of the sums.
        let status = unsafe {
            (self.functions.gemm_ex)(
                self.handle,
                AS_IT_IS,
                AS_IT_IS,
                n,
                m,
                k,
                (&raw const one).cast(),
                b as *const c_void,
                of_input,
                n.max(1),
                a as *const c_void,
                of_input,
                k.max(1),
                (&raw const zero).cast(),
                c as *mut c_void,
                TYPE_F32,
                n.max(1),
                SUMS_F32,
                CHOOSE,
            )
        };
        check(status, what)
    }

    /// Where A, B and C are, if each buffer is long enough.
    fn addresses(&self, abc: [&Buffer; 3], lengths: &Lengths) -> Result<[u64; 3]> {
        self.cuda.bind()?;
        let mut addresses = [0; 3];
        for (at, buffer) in abc.into_iter().enumerate() {
            if buffer.bytes < lengths.bytes[at] {
                return Err(Error::message(format!(
                    "{} needs {} bytes and its buffer has {}",
                    ["A", "B", "C"][at],
                    lengths.bytes[at],
                    buffer.bytes
                )));
            }
            addresses[at] = self.cuda.address(buffer)?;
        }
        Ok(addresses)
    }
}

/// Whether cuBLAS loads here: nothing, or the reason in a message.
///
/// # Errors
/// That message.
pub fn available() -> Result<()> {
    load().map(drop)
}
