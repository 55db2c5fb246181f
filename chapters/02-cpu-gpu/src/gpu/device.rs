//! A device that runs kernels: the one trait that hides whether it is OpenCL or CUDA, and what a launch is made of.

use crate::{Error, Result};
use std::any::Any;

/// Whose work a launch is, and what it costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Label {
    /// The operation, and the call of it that takes this launch, perhaps among others.
    pub of: [String; 2],
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes that are read or written at least.
    pub bytes: f64,
}

/// The interface through which a device is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// OpenCL, by the Khronos Group: GPUs of any maker, and CPUs.
    OpenCl,
    /// CUDA, by NVIDIA for its own GPUs.
    Cuda,
}

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The machine's own processor, behind a GPU's interface.
    Cpu,
    /// A GPU.
    Gpu,
}

/// What is known of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// Its short name in records: `opencl-cpu`, `opencl-gpu`, `cuda`; a second one of a kind is `cuda:1`.
    pub id: String,
    /// How it is driven.
    pub api: Api,
    /// What it is.
    pub kind: Kind,
    /// Its maker's name for it.
    pub name: String,
    /// The driver and its version.
    pub driver: String,
    /// Streaming multiprocessors, or cores of a CPU.
    pub compute_units: u32,
    /// The highest clock in Hz, if the driver tells.
    pub clock_hz: Option<f64>,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of shared memory that a block may have.
    pub shared_memory: u64,
    /// The most threads of a block.
    pub max_block: usize,
    /// NVIDIA's number for the generation, such as (9, 0).
    pub compute_capability: Option<(u32, u32)>,
}

/// An interface that can't be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Which.
    pub api: Api,
    /// Why, and what to do: one message.
    pub why: String,
}

/// What there is to compute on.
#[derive(Clone, Debug, Default)]
pub struct Devices {
    /// Devices that work.
    pub found: Vec<About>,
    /// Interfaces that do not.
    pub missing: Vec<Missing>,
}

/// A device with memory of its own that runs kernels, in the order in which
/// they are launched. Every error is a message that says what to do.
#[allow(clippy::missing_errors_doc)]
// ANCHOR: gpu
pub trait Gpu {
    /// What it is.
    fn about(&self) -> &About;
    /// Memory on the device. Its content is undefined.
    fn alloc(&self, bytes: usize) -> Result<Buffer>;
    /// Copies `bytes` to the start of a buffer.
    fn write(&self, to: &Buffer, bytes: &[u8]) -> Result<()>;
    /// Copies the start of a buffer back; waits for the kernels before.
    fn read(&self, from: &Buffer, bytes: &mut [u8]) -> Result<()>;
    /// Starts a copy of `bytes` from one buffer's start to another's.
    fn copy(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()>;
    /// Compiles the kernel `entry`; each option is a `-D name=value`.
    fn compile(
        &self,
        source: &str,
        options: &[(&str, String)], // names and values
        entry: &str,
    ) -> Result<Kernel>;
    /// Starts a kernel and returns at once.
    fn launch(&self, kernel: &Kernel, how: Launch, args: &[Arg]) -> Result<()>;
    /// Waits until everything is done.
    fn finish(&self) -> Result<()>;
    /// Seconds on the device's clock for what `work` launches.
    fn seconds(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f64>;
    // ANCHOR_END: gpu
    /// Starts a copy of the start of a buffer back, in the order of the kernels:
    /// those after it may change the buffer.
    fn fetch(&self, from: &Buffer, bytes: usize) -> Result<Fetching>;
    /// What was fetched; waits for it, and for nothing that was started later.
    fn fetched(&self, fetching: Fetching) -> Result<Vec<u8>>;
    /// An event: it gets a time when the device comes to this point of what it was given.
    fn mark(&self) -> Result<Mark>;
    /// Seconds on the device's clock between two marks that it has come to.
    fn between(&self, from: &Mark, to: &Mark) -> Result<f64>;
    /// Says whose work the next launch is; only who records it wants to know.
    fn label(&self, _: &Label) {}
    /// This device as what it is, for what its own interface alone can do.
    fn as_any(&self) -> &dyn Any;
}

/// Memory on a device. It is freed when it is dropped.
pub struct Buffer {
    /// Its size.
    pub bytes: usize,
    pub(crate) inner: Box<dyn Any>,
}

/// A copy back that is under way.
pub struct Fetching {
    pub(crate) inner: Box<dyn Any>,
}

/// A point in what a device was given.
pub struct Mark {
    pub(crate) inner: Box<dyn Any>,
}

/// A compiled kernel.
pub struct Kernel {
    /// Its name.
    pub entry: String,
    /// What the interface has of it.
    pub inner: Box<dyn Any>,
}

/// How many threads run a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks along x and y.
    pub grid: [usize; 2],
    /// Threads of a block along x and y.
    pub block: [usize; 2],
    /// Bytes of shared memory that the kernel takes next to what it declares (CUDA alone).
    pub shared: u32,
}

impl Launch {
    /// `grid` blocks of `block` threads.
    pub fn new(grid: [usize; 2], block: [usize; 2]) -> Self {
        Self { grid, block, shared: 0 }
    }

    /// Refuses a launch that the device can't run: `max_block` is the most threads that a block of this kernel may
    /// have. Zero blocks are no bug: there is nothing to do.
    ///
    /// # Errors
    /// Which limit it exceeds.
    pub fn check(self, kernel: &Kernel, about: &About, max_block: usize) -> Result<()> {
        let [x, y] = self.block;
        let most = max_block.min(about.max_block);
        if !(1..=most).contains(&x.saturating_mul(y)) {
            return Err(Error::message(format!(
                "`{}` is launched in blocks of {x}×{y} threads; on {} it takes from 1 to {most} of them",
                kernel.entry, about.name
            )));
        }
        // CUDA C++ programming guide, "Technical specifications per compute capability"; OpenCL counts threads.
        let limit = match about.api {
            Api::Cuda => [i32::MAX as usize, 65_535],
            Api::OpenCl => self.block.map(|threads| usize::MAX / threads),
        };
        for (axis, (blocks, limit)) in ["x", "y"].into_iter().zip(self.grid.into_iter().zip(limit))
        {
            if blocks > limit {
                return Err(Error::message(format!(
                    "`{}` is launched with {blocks} blocks along {axis}; {} takes {limit}: let each do more, or launch \
                     several times",
                    kernel.entry, about.name
                )));
            }
        }
        Ok(())
    }

    /// Whether there is no block to run.
    pub(crate) fn is_empty(self) -> bool {
        self.grid.contains(&0)
    }
}

/// What a kernel is given.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    /// The start of a buffer.
    Buffer(&'a Buffer),
    /// An address in a buffer.
    Part {
        /// The buffer.
        buffer: &'a Buffer,
        /// Bytes from its start, a multiple of 256.
        offset: usize,
    },
    /// An unsigned number of 32 bits.
    U32(u32),
    /// A floating-point number of 32 bits.
    F32(f32),
}

/// What is inside a buffer or kernel; a thing of another device is a bug of the caller.
pub(crate) fn own<'a, T: 'static>(inner: &'a dyn Any, what: &str) -> Result<&'a T> {
    inner.downcast_ref().ok_or_else(|| others(what))
}

/// The error of a thing of another device.
pub(crate) fn others(what: &str) -> Error {
    Error::message(format!("the {what} belongs to another device"))
}

/// The error of a launch with too few or too many arguments.
pub(crate) fn wrong_count(entry: &str, wanted: usize, got: usize) -> Error {
    Error::message(format!("`{entry}` takes {wanted} arguments, not {got}"))
}

/// The error of a source that has no such kernel.
pub(crate) fn no_entry(entry: &str) -> Error {
    Error::message(format!(
        "the source has no kernel `{entry}`; look at the name, and for KERNEL before it"
    ))
}

/// Refuses to copy more bytes than a buffer has.
pub(crate) fn fits(buffer: &Buffer, bytes: usize) -> Result<()> {
    if bytes > buffer.bytes {
        return Err(Error::message(format!(
            "{bytes} bytes do not fit a buffer of {} bytes",
            buffer.bytes
        )));
    }
    Ok(())
}

/// How many bytes of a buffer are left after `offset`.
pub(crate) fn part(buffer: &Buffer, offset: usize) -> Result<usize> {
    if offset >= buffer.bytes || !offset.is_multiple_of(256) {
        return Err(Error::message(format!(
            "a part can't begin at byte {offset} of a buffer of {} bytes; take a multiple of 256 below that",
            buffer.bytes
        )));
    }
    Ok(buffer.bytes - offset)
}

/// Numbers that go to a device and back as they are.
pub trait Element: Copy + Default {
    /// The bytes of all of them.
    fn bytes(values: &[Self]) -> Vec<u8>;
    /// Numbers from their bytes.
    fn values(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! element {
    ($($type:ty),*) => {$(
        impl Element for $type {
            fn bytes(values: &[Self]) -> Vec<u8> {
                let bytes: Vec<_> = values.iter().map(|value| value.to_ne_bytes()).collect();
                bytes.into_flattened()
            }
            fn values(bytes: &[u8]) -> Vec<Self> {
                let (values, _) = bytes.as_chunks();
                values.iter().map(|bytes| Self::from_ne_bytes(*bytes)).collect()
            }
        }
    )*};
}
element!(f32, u32, u16);

/// Copies numbers to the start of a buffer.
///
/// # Errors
/// If they do not fit, or the device fails.
pub fn write_all<T: Element>(gpu: &dyn Gpu, to: &Buffer, values: &[T]) -> Result<()> {
    gpu.write(to, &T::bytes(values))
}

/// A buffer of these numbers.
///
/// # Errors
/// If the device has no room, or fails.
pub fn upload<T: Element>(gpu: &dyn Gpu, values: &[T]) -> Result<Buffer> {
    let buffer = gpu.alloc(size_of_val(values))?;
    write_all(gpu, &buffer, values)?;
    Ok(buffer)
}

/// Copies the first `count` values of a buffer back.
///
/// # Errors
/// If there are not so many, or the device fails.
pub fn read_all<T: Element>(gpu: &dyn Gpu, from: &Buffer, count: usize) -> Result<Vec<T>> {
    let mut bytes = vec![0; count * size_of::<T>()];
    gpu.read(from, &mut bytes)?;
    Ok(T::values(&bytes))
}
