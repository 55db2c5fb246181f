//! cuBLAS, NVIDIA's matrix product, to compare our own kernels with. It is loaded by hand when the program runs.
//!
//! Source: cuBLAS documentation, CUDA 13.0, sections 2.1.6 (column-major), 2.2 (enumerations), 2.7.1 (`gemm`) and
//! 2.8.12 (`cublasGemmEx`).

use super::{
    cuda::Cuda,
    device::Buffer,
    toolkit::{self, Absent},
};
use crate::{Error, Result};
use libloading::Library;
use matmul::Shape;
use std::{
    ffi::{c_int, c_void},
    ptr,
};

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type Destroy = unsafe extern "C" fn(Handle) -> c_int;
type SetStream = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;
type SetMathMode = unsafe extern "C" fn(Handle, c_int) -> c_int;
/// Handle, two "transposed", m, n, k, alpha, A and its leading dimension, B and its, beta, C and its.
type Sgemm = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const f32,
    *const f32,
    c_int,
    *const f32,
    c_int,
    *const f32,
    *mut f32,
    c_int,
) -> c_int;
/// The same with a type next to each matrix, then the type of the sums and the algorithm.
type GemmEx = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

// The manual's enumerations: as it is (not transposed), the types, sums in f32, the library's own choice.
const AS_IT_IS: c_int = 0;
const TYPE_F32: c_int = 0;
const TYPE_BF16: c_int = 14;
const SUMS_F32: c_int = 68;
const CHOOSE: c_int = -1;
/// `CUBLAS_DEFAULT_MATH`: products of f32 are products of f32. TF32, which drops 13 of 23 bits, has to be asked for
/// (`CUBLAS_TF32_TENSOR_OP_MATH`, or the variable `NVIDIA_TF32_OVERRIDE=1`).
const FULL_F32: c_int = 0;

const INSTALL: &str = "install the CUDA toolkit, or this library alone with `pip install nvidia-cublas` for the \
                       python3 on your PATH";

/// The library and the functions that the course calls.
struct Functions {
    create: Create,
    destroy: Destroy,
    set_stream: SetStream,
    set_math_mode: SetMathMode,
    sgemm: Sgemm,
    gemm_ex: GemmEx,
    /// The functions live as long as it.
    #[allow(dead_code)] // only tests look into it
    library: Library,
}

impl Functions {
    fn load() -> Result<Self> {
        let driver = toolkit::driver_version().map(|version| version / 1000);
        let library = match toolkit::load("cublas", driver, version) {
            Ok(found) => found.library,
            Err(absent) => return Err(Error::Message(why(&absent, driver))),
        };
        Ok(Self {
            create: function(&library, "cublasCreate_v2")?,
            destroy: function(&library, "cublasDestroy_v2")?,
            set_stream: function(&library, "cublasSetStream_v2")?,
            set_math_mode: function(&library, "cublasSetMathMode")?,
            sgemm: function(&library, "cublasSgemm_v2")?,
            gemm_ex: function(&library, "cublasGemmEx")?,
            library,
        })
    }
}

/// The major version that a loaded library says it has.
fn version(library: &Library) -> Option<u32> {
    let mut major: c_int = 0;
    // SAFETY: cublasStatus_t cublasGetProperty(libraryPropertyType, int *), by the manual; MAJOR_VERSION is 0.
    let status = unsafe {
        let call = library
            .get::<unsafe extern "C" fn(c_int, *mut c_int) -> c_int>(b"cublasGetProperty\0")
            .ok()?;
        call(0, &raw mut major)
    };
    (status == 0).then(|| u32::try_from(major).ok())?
}

/// Why there is no cuBLAS for a driver of this major version.
fn why(absent: &Absent, driver: Option<u32>) -> String {
    match (absent, driver) {
        (Absent::TooNew(version), Some(driver)) => format!(
            "cuBLAS is here only for CUDA {version}, and the NVIDIA driver speaks CUDA {driver}; install a newer driver \
             (https://www.nvidia.com/drivers), or the cuBLAS of CUDA {driver}"
        ),
        _ => format!(
            "there is no cuBLAS (libcublas.so), NVIDIA's matrix product to compare with; {INSTALL}"
        ),
    }
}

fn function<F: Copy>(library: &Library, name: &str) -> Result<F> {
    // SAFETY: `F` is the function's type by cuBLAS's manual, stated in `Functions`.
    unsafe { library.get::<F>(name.as_bytes()) }.map(|symbol| *symbol).map_err(|_| {
        Error::message(format!("this cuBLAS has no {name}; the course needs that of CUDA 12 or 13"))
    })
}

/// A status of cuBLAS in words (`cublasStatus_t`).
fn check(status: c_int, what: &str) -> Result<()> {
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
struct Lengths {
    /// n, m and k, in the order of the swapped product.
    of_call: [c_int; 3],
    /// Bytes of A, B and C.
    bytes: [usize; 3],
}

impl Lengths {
    fn new(shape: Shape, input: usize) -> Result<Self> {
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
        let functions = Functions::load()?;
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

    /// Starts C = A·B in f32, all row-major, and returns at once. No TF32: f32 is multiplied as f32.
    ///
    /// # Errors
    /// A message if a buffer is too short or of another device, or if cuBLAS refuses.
    pub fn sgemm(&self, a: &Buffer, b: &Buffer, c: &Buffer, shape: Shape) -> Result<()> {
        let lengths = Lengths::new(shape, size_of::<f32>())?;
        let [a, b, c] = self.addresses([a, b, c], &lengths)?;
        let [n, m, k] = lengths.of_call;
        if n == 0 || m == 0 {
            return Ok(());
        }
        // cuBLAS thinks in columns: it takes our row-major A for Aᵀ, our B for Bᵀ
        // and will write Cᵀ. So it is asked for Bᵀ·Aᵀ, which is (A·B)ᵀ: the
        // operands swapped, nothing transposed, and no element moved.
        let (one, zero) = (1.0_f32, 0.0_f32);
        // SAFETY: the buffers hold the three matrices, on this GPU.
        let status = unsafe {
            (self.functions.sgemm)(
                self.handle,
                AS_IT_IS,
                AS_IT_IS,
                n,
                m,
                k,
                &raw const one,
                b as *const f32,
                n.max(1),
                a as *const f32,
                k.max(1),
                &raw const zero,
                c as *mut f32,
                n.max(1),
            )
        };
        check(status, "multiply in f32")
    }

    /// Starts C = A·B with A and B in bf16, sums and C in f32, all row-major, and returns at once.
    ///
    /// # Errors
    /// As [`Cublas::sgemm`].
    pub fn gemm_bf16(&self, a: &Buffer, b: &Buffer, c: &Buffer, shape: Shape) -> Result<()> {
        let lengths = Lengths::new(shape, size_of::<u16>())?;
        let [a, b, c] = self.addresses([a, b, c], &lengths)?;
        let [n, m, k] = lengths.of_call;
        if n == 0 || m == 0 {
            return Ok(());
        }
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
                TYPE_BF16,
                n.max(1),
                a as *const c_void,
                TYPE_BF16,
                k.max(1),
                (&raw const zero).cast(),
                c as *mut c_void,
                TYPE_F32,
                n.max(1),
                SUMS_F32,
                CHOOSE,
            )
        };
        check(status, "multiply in bf16")
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
    Functions::load().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Gpu, read_all, testing, write_all};
    use half::bf16;
    use lab::testing::{Tool, need};

    #[test]
    fn loads_or_says_what_is_missing() {
        match available() {
            Ok(()) => {
                // All functions are there. Without a GPU the library starts no handle, and must report it.
                let functions = Functions::load().unwrap();
                let names = ["cublasCreate_v2", "cublasSgemm_v2"];
                for name in names {
                    assert!(function::<Create>(&functions.library, name).is_ok());
                }
                let error = function::<Create>(&functions.library, "cublasNoSuch").unwrap_err();
                assert!(error.to_string().contains("has no cublasNoSuch"), "{error}");
            }
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("libcublas") && error.contains("install"), "{error}");
            }
        }
    }

    #[test]
    fn what_is_missing_is_told_with_the_way_out() {
        let text = why(&Absent::Missing, None);
        assert!(text.contains("libcublas") && text.contains("install"), "{text}");
        let text = why(&Absent::TooNew(13), Some(12));
        assert!(text.contains("for CUDA 13") && text.contains("speaks CUDA 12"), "{text}");
    }

    #[test]
    fn every_status_becomes_a_sentence() {
        assert!(check(0, "start").is_ok());
        for (status, wanted) in [(1, "doctor"), (3, "smaller"), (13, "again"), (99, "manual")] {
            let error = check(status, "start").unwrap_err().to_string();
            assert!(error.starts_with("cuBLAS can't start") && error.contains(wanted), "{error}");
            assert!(!error.contains('\n'));
        }
    }

    #[test]
    fn lengths_are_swapped_and_counted() {
        let lengths = Lengths::new(Shape::new(2, 3, 5), 2).unwrap();
        assert_eq!(lengths, Lengths { of_call: [5, 2, 3], bytes: [12, 30, 40] });
        for shape in [Shape::new(1 << 31, 1, 1), Shape::new(1, 1, 1 << 40)] {
            let error = Lengths::new(shape, 4).unwrap_err().to_string();
            assert!(error.contains("31 bits"), "{error}");
        }
    }

    /// On a machine with an NVIDIA GPU and cuBLAS: both products against f64, on lengths that differ.
    #[test]
    fn products_equal_the_reference_where_there_is_a_gpu() {
        let Some(cuda) = testing::cuda() else { return };
        let Some(()) = need(Tool::Cublas, available()) else { return };
        let cuda = cuda.as_cuda().unwrap();
        let cublas = Cublas::new(cuda).unwrap();
        for (m, k, n) in [(1, 1, 1), (3, 5, 7), (130, 67, 201), (0, 3, 2), (64, 256, 128)] {
            // Small whole numbers: exact in bf16, and their sums in f32.
            let a: Vec<f32> = (0..m * k).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
            let b: Vec<f32> = (0..k * n).map(|i| (i * 5 % 13) as f32 - 6.0).collect();
            let wanted: Vec<f32> = (0..m * n)
                .map(|at| (0..k).map(|p| a[at / n * k + p] * b[p * n + at % n]).sum())
                .collect();
            let buffer = |bytes| cuda.alloc(bytes).unwrap();
            let (on_a, on_b, on_c) = (buffer(4 * m * k), buffer(4 * k * n), buffer(4 * m * n));
            for in_bf16 in [false, true] {
                write_all(cuda, &on_c, &vec![f32::NAN; m * n]).unwrap();
                if in_bf16 {
                    let short = |x: &[f32]| -> Vec<u16> {
                        x.iter().map(|&x| bf16::from_f32(x).to_bits()).collect()
                    };
                    write_all(cuda, &on_a, &short(&a)).unwrap();
                    write_all(cuda, &on_b, &short(&b)).unwrap();
                    cublas.gemm_bf16(&on_a, &on_b, &on_c, Shape::new(m, k, n)).unwrap();
                } else {
                    write_all(cuda, &on_a, &a).unwrap();
                    write_all(cuda, &on_b, &b).unwrap();
                    cublas.sgemm(&on_a, &on_b, &on_c, Shape::new(m, k, n)).unwrap();
                }
                assert_eq!(read_all::<f32>(cuda, &on_c, m * n).unwrap(), wanted);
            }
            if m > 0 {
                let longer = Shape::new(m, k, n + 1);
                let error = cublas.sgemm(&on_a, &on_b, &on_c, longer).unwrap_err().to_string();
                assert!(error.contains("B needs"), "{error}");
            }
        }
    }
}
