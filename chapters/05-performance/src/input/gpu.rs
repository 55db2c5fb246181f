//! Pieces to a GPU: from memory that the system may move (pageable) and from memory that it may not (pinned), and a copy
//! during a kernel.
//!
//! A GPU fetches bytes by itself only from pinned memory, whose address is fixed. Everything else the driver copies
//! into such memory first, piece by piece, and the caller waits for that.

use crate::{Error, Result};
use cpu_gpu::gpu::{self, Api, Arg, Gpu, Launch};
use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtrMut, DriverError, PinnedHostSlice,
    result::memcpy_htod_async,
};
use std::{sync::Arc, time::Instant};

/// A kernel that only computes: for a copy to overlap with.
const SPIN: &str = r#"
extern "C" __global__ void spin(float *x, unsigned rounds) {
    float value = x[threadIdx.x];
    for (unsigned i = 0; i < rounds; i++) value = value * 0.5f + 1.0f;
    x[threadIdx.x] = value;
}
"#;

/// The way to the memory of the first NVIDIA GPU.
pub struct Link {
    stream: Arc<CudaStream>,
    there: CudaSlice<u8>,
}

fn failed(what: &'static str) -> impl Fn(DriverError) -> Error {
    move |e| Error::Device(format!("the GPU can't {what} ({e})"))
}

/// Why there is no GPU to send to, or nothing if there is one.
pub fn missing() -> Option<String> {
    let devices = gpu::devices();
    if devices.found.iter().any(|about| about.api == Api::Cuda) {
        return None;
    }
    let why = devices.missing.into_iter().find(|missing| missing.api == Api::Cuda);
    Some(why.map_or_else(|| "this machine has no NVIDIA GPU".to_owned(), |missing| missing.why))
}

impl Link {
    /// Reserves `bytes` on the first NVIDIA GPU.
    ///
    /// # Errors
    /// [`Error::Config`] without a GPU, [`Error::Device`] if it fails.
    pub fn new(bytes: usize) -> Result<Self> {
        if let Some(why) = missing() {
            return Err(Error::Config(why)); // without a driver the next call would panic
        }
        let context = CudaContext::new(0).map_err(failed("start"))?;
        let stream = context.new_stream().map_err(failed("make a stream"))?;
        let there = stream.alloc_zeros(bytes).map_err(failed("reserve memory"))?;
        Ok(Self { stream, there })
    }

    /// Pinned memory of this machine, filled with zeros; [`Link::send`] takes it as a slice.
    ///
    /// # Errors
    /// [`Error::Device`] if there is too little.
    pub fn pinned(&self, bytes: usize) -> Result<PinnedHostSlice<u8>> {
        // SAFETY: it is filled before it is read.
        let pinned = unsafe { self.stream.context().alloc_pinned::<u8>(bytes) };
        let mut pinned = pinned.map_err(failed("pin memory"))?;
        pinned.as_mut_slice().map_err(failed("pin memory"))?.fill(0);
        Ok(pinned)
    }

    /// Seconds to send `from` in pieces of `piece` bytes, each with one call of the driver; from pageable or from pinned
    /// memory, as `from` lies.
    ///
    /// # Errors
    /// [`Error::Config`] for more bytes than were reserved, [`Error::Device`].
    pub fn send(&mut self, from: &[u8], piece: usize) -> Result<f64> {
        let (bytes, room) = (from.len(), self.there.len());
        if bytes > room {
            return Err(Error::Config(format!("{bytes} bytes do not fit the {room} reserved")));
        }
        let sending = failed("receive a piece");
        self.stream.synchronize().map_err(&sending)?;
        let (mut to, _in_use) = self.there.device_ptr_mut(&self.stream);
        let start = Instant::now();
        let mut sent = Ok(());
        for piece in from.chunks(piece.max(1)) {
            // SAFETY: the bytes fit, as checked above, and both sides live until the wait below.
            sent = unsafe { memcpy_htod_async(to, piece, self.stream.cu_stream()) };
            if sent.is_err() {
                break;
            }
            to += piece.len() as u64;
        }
        let over = self.stream.synchronize(); // whatever happened, nothing may be under way
        let seconds = start.elapsed().as_secs_f64();
        sent.and(over).map_err(sending)?;
        Ok(seconds)
    }

    /// Seconds of a kernel alone, of a copy of `piece` alone, and of both at once in two streams. The kernel is made to
    /// take about as long as the copy.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn overlap(&mut self, piece: &PinnedHostSlice<u8>) -> Result<[f64; 3]> {
        let device = |e: cpu_gpu::Error| Error::Device(e.to_string());
        let gpu: Box<dyn Gpu> = gpu::open("cuda").map_err(device)?;
        let kernel = gpu.compile(SPIN, &[], "spin").map_err(device)?;
        let x = gpu.alloc(4 * 32).map_err(device)?;
        let run = |rounds: u32| -> Result<(), cpu_gpu::Error> {
            let one = Launch::new([1, 1], [32, 1]);
            gpu.launch(&kernel, one, &[Arg::Buffer(&x), Arg::U32(rounds)])
        };
        let kernel_alone = |rounds: u32| -> Result<f64> {
            let start = Instant::now();
            run(rounds).and_then(|()| gpu.finish()).map_err(device)?;
            Ok(start.elapsed().as_secs_f64())
        };
        kernel_alone(1000)?; // the first launch loads the kernel
        let piece = piece.as_slice().map_err(failed("give back its pinned memory"))?;
        self.send(piece, piece.len())?;
        let copy = self.send(piece, piece.len())?;
        let rounds = (1e6 * copy / kernel_alone(1_000_000)?).clamp(1.0, 1e9) as u32;
        let alone = kernel_alone(rounds)?;
        // ANCHOR: both
        let start = Instant::now();
        run(rounds).map_err(device)?; // returns at once
        self.send(piece, piece.len())?;
        gpu.finish().map_err(device)?;
        // ANCHOR_END: both
        Ok([alone, copy, start.elapsed().as_secs_f64()])
    }
}
