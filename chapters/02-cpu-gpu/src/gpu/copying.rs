//! How fast a device copies its own memory: the limit of every kernel that does little with each number.

use super::{Arg, Buffer, Gpu, Kernel, Launch, kernel, upload};
use crate::{Error, Result};
use lab::Samples;

/// `copy.cl`.
pub const SOURCE: &str = kernel!("copy.cl");

/// Numbers of f32 that a block copies: 256 threads, four pieces each, of four numbers.
pub const OF_BLOCK: usize = 256 * 4 * 4;

/// Two buffers, and the kernel that copies one to the other.
pub struct Copying {
    kernel: Kernel,
    /// What is copied.
    pub x: Buffer,
    /// Where to.
    pub y: Buffer,
    count: usize,
}

impl Copying {
    /// Reserves twice `count` numbers of f32, a multiple of 4, and writes one half.
    ///
    /// # Errors
    /// If `count` is none or no multiple of 4, the compiler refuses, or the device is out of memory.
    pub fn new(gpu: &dyn Gpu, count: usize) -> Result<Self> {
        if count == 0 || !count.is_multiple_of(4) || count / 4 > (u32::MAX - 1024) as usize {
            return Err(Error::message(format!(
                "{count} numbers can't be copied four at a time; take a multiple of 4"
            )));
        }
        let kernel = gpu.compile(SOURCE, &[], "copy")?;
        let (x, y) = (upload(gpu, &vec![1.0_f32; count])?, gpu.alloc(4 * count)?);
        Ok(Self { kernel, x, y, count })
    }

    /// Starts one copy.
    ///
    /// # Errors
    /// The device's error.
    pub fn launch(&self, gpu: &dyn Gpu) -> Result<()> {
        let args = [Arg::Buffer(&self.x), Arg::Buffer(&self.y), Arg::U32(self.count as u32 / 4)];
        let blocks = self.count.div_ceil(OF_BLOCK);
        gpu.launch(&self.kernel, Launch::new([blocks, 1], [256, 1]), &args)
    }
}

/// Bytes per second, read and written together, of `rounds` rounds of `times` copies one after the other, on the device's
/// clock: a single copy would be measured with the gap before it.
///
/// # Errors
/// If `count` is none or no multiple of 4, the compiler refuses, or the device is out of memory.
pub fn bandwidth(gpu: &dyn Gpu, count: usize, times: usize, rounds: usize) -> Result<Samples> {
    let copying = Copying::new(gpu, count)?;
    copying.launch(gpu)?;
    gpu.finish()?;
    let bytes = 8.0 * count as f64 * times as f64;
    let round = |_| {
        let seconds = gpu.seconds(&mut || (0..times).try_for_each(|_| copying.launch(gpu)))?;
        Ok(bytes / seconds)
    };
    (0..rounds).map(round).collect::<Result<_>>().map(Samples)
}
