//! How fast a device copies its own memory: the limit of every kernel that does little with each number.

use super::{Arg, Buffer, Gpu, Kernel, Launch, kernel, write_all};
use crate::{Error, Result};
use lab::Samples;

/// `copy.cl`.
pub const SOURCE: &str = kernel!("copy.cl");

/// Numbers of f32 that a block copies: 256 threads, four pieces each, of four numbers.
const OF_BLOCK: usize = 256 * 4 * 4;

/// Two buffers, and the kernel that copies one to the other.
struct Copying {
    kernel: Kernel,
    x: Buffer,
    y: Buffer,
    count: usize,
}

impl Copying {
    /// Reserves twice `count` numbers of f32, a multiple of 4, and writes one half.
    ///
    /// # Errors
    /// If `count` is none or no multiple of 4, the compiler refuses, or the device is out of memory.
    fn new(gpu: &dyn Gpu, count: usize) -> Result<Self> {
        if count == 0 || !count.is_multiple_of(4) || count / 4 > (u32::MAX - 1024) as usize {
            return Err(Error::message(format!(
                "{count} numbers can't be copied four at a time; take a multiple of 4"
            )));
        }
        let kernel = gpu.compile(SOURCE, &[], "copy")?;
        let (x, y) = (gpu.alloc(4 * count)?, gpu.alloc(4 * count)?);
        write_all(gpu, &x, &vec![1.0_f32; count])?;
        Ok(Self { kernel, x, y, count })
    }

    /// Starts one copy.
    ///
    /// # Errors
    /// The device's error.
    fn launch(&self, gpu: &dyn Gpu) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{read_all, testing};
    use lab::random::numbers;

    #[test]
    fn every_number_is_copied_and_none_behind_the_last() {
        let Some(gpu) = testing::opencl() else { return };
        for count in [4, 1024, 4092, OF_BLOCK, OF_BLOCK + 4, 3 * OF_BLOCK - 8] {
            let mut copying = Copying::new(&*gpu, count).unwrap();
            copying.y = gpu.alloc(4 * count + 16).unwrap();
            let values = numbers(count, 1);
            write_all(&*gpu, &copying.x, &values).unwrap();
            write_all(&*gpu, &copying.y, &vec![-7.0_f32; count + 4]).unwrap();
            copying.launch(&*gpu).unwrap();
            let got: Vec<f32> = read_all(&*gpu, &copying.y, count + 4).unwrap();
            assert!(got[..count] == values, "{count}");
            assert_eq!(got[count..], [-7.0; 4], "{count}");
        }
        for count in [0, 3, 1026] {
            assert!(Copying::new(&*gpu, count).is_err(), "{count}");
        }
    }

    #[test]
    fn bandwidth_is_that_of_all_copies() {
        let Some(gpu) = testing::opencl() else { return };
        let rates = bandwidth(&*gpu, 1 << 18, 5, 3).unwrap();
        assert_eq!(rates.0.len(), 3);
        assert!(rates.0.iter().all(|rate| rate.is_finite() && *rate > 1e6), "{rates:?}");
    }
}
