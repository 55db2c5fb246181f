//! The next batch travels while this one is computed: page-locked memory, a second stream, and events between the two.
//!
//! A copy from ordinary memory blocks the program: the system may move its pages at any time, so the driver first
//! copies them to a staging buffer, and the program waits for that (CUDA C++ Programming Guide, "Page-Locked Host
//! Memory"). From page-locked memory the GPU fetches by itself, in the order of a stream of its own.

use super::step::Step;
use cpu_gpu::{
    Error, Result,
    gpu::{Buffer, Gpu, cuda::Cuda},
};
use cudarc::driver::{
    result::{self, DriverError, stream::StreamKind},
    sys,
};
use std::slice;

fn failed(what: &str) -> impl Fn(DriverError) -> Error {
    move |error| {
        Error::message(format!("the GPU can't {what} ({:?}); see `throughput doctor`", error.0))
    }
}

/// Waits for all that is under way on the current context, at the latest when it is dropped: a panic must not free memory
/// that a copy still reads.
struct Finish;

impl Finish {
    fn now() -> std::result::Result<(), DriverError> {
        // SAFETY: the call takes no pointers; without a context it fails.
        unsafe { sys::cuCtxSynchronize() }.result()
    }
}

impl Drop for Finish {
    fn drop(&mut self) {
        // Who panics has no use for another error.
        let _ = Self::now();
    }
}

/// Bytes of the CPU's memory that the system never moves, freed when dropped.
pub struct Pinned<'c> {
    cuda: &'c Cuda,
    at: *mut u8,
    len: usize,
}

impl<'c> Pinned<'c> {
    /// A copy of `bytes` in page-locked memory.
    ///
    /// # Errors
    /// The driver's error: the system has only so many pages that it can do without.
    pub fn new(cuda: &'c Cuda, bytes: &[u8]) -> Result<Self> {
        cuda.bind()?;
        // SAFETY: the memory is freed in `Drop`.
        let at = unsafe { result::malloc_host(bytes.len().max(1), 0) }
            .map_err(failed("lock pages of the CPU's memory; take fewer"))?
            .cast::<u8>();
        // SAFETY: the driver gave at least so many bytes, which are not shared.
        unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(Self { cuda, at, len: bytes.len() })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: allocated and written in `new`, and borrowed no longer than `self` lives.
        unsafe { slice::from_raw_parts(self.at, self.len) }
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        // A copy may still read it.
        if self.cuda.bind().is_ok() {
            // SAFETY: the context is current.
            let _ = unsafe { sys::cuCtxSynchronize() };
            // SAFETY: allocated once, freed once.
            let _ = unsafe { result::free_host(self.at.cast()) };
        }
    }
}

/// An event, destroyed when dropped.
struct Event(sys::CUevent);

impl Event {
    fn new() -> Result<Self> {
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
        result::event::create(flags).map(Self).map_err(failed("make an event"))
    }

    fn record(&self, stream: sys::CUstream) -> Result<()> {
        // SAFETY: event and stream live.
        unsafe { result::event::record(self.0, stream) }.map_err(failed("mark a place in a stream"))
    }

    /// Lets later work in `stream` wait for the last marked point.
    fn holds_back(&self, stream: sys::CUstream) -> Result<()> {
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: event and stream live.
        unsafe { result::stream::wait_event(stream, self.0, flags) }
            .map_err(failed("let a stream wait"))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made once, destroyed once.
        let _ = unsafe { result::event::destroy(self.0) };
    }
}

lab::named! {
    /// How the bytes of a batch reach the device.
    pub enum Transfer("transfer") {
        /// They are there already.
        Resident = "resident",
        /// From ordinary memory, before each step, and the CPU waits for each copy: no launch runs ahead of it.
        Waiting = "waiting",
        /// From ordinary memory, before each step.
        Pageable = "pageable",
        /// From page-locked memory, before each step.
        Pinned = "pinned",
        /// From page-locked memory, on a second stream, while the step before is computed.
        Overlapped = "overlapped",
    }
}

impl Transfer {
    /// Whether its batches lie in page-locked memory.
    pub fn pins(self) -> bool {
        matches!(self, Self::Pinned | Self::Overlapped)
    }
}

/// Two slots for batches on the device that are filled and used in turn, and the stream that fills them.
pub struct Feed<'c> {
    cuda: &'c Cuda,
    stream: sys::CUstream,
    /// The slot is full.
    copied: [Event; 2],
    /// The slot is no longer needed.
    used: [Event; 2],
}

impl<'c> Feed<'c> {
    /// A second stream, and four events.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(cuda: &'c Cuda) -> Result<Self> {
        cuda.bind()?;
        let (copied, used) = ([Event::new()?, Event::new()?], [Event::new()?, Event::new()?]);
        let stream =
            result::stream::create(StreamKind::NonBlocking).map_err(failed("make a stream"))?;
        Ok(Self { cuda, stream, copied, used })
    }

    /// Starts a copy of `bytes` to one half of `places`, in a stream's order.
    ///
    /// # Safety
    /// `bytes` and `places` must live until the stream has come so far.
    unsafe fn copy(
        &self,
        bytes: &[u8],
        places: &Buffer,
        half: usize,
        stream: sys::CUstream,
    ) -> Result<()> {
        if 2 * bytes.len() > places.bytes {
            return Err(Error::message(format!(
                "two batches of {} bytes do not fit {} bytes",
                bytes.len(),
                places.bytes
            )));
        }
        let at = self.cuda.address(places)? + (half * bytes.len()) as u64;
        // SAFETY: the half is as long as the bytes, and both live as the caller promises.
        unsafe { result::memcpy_htod_async(at, bytes, stream) }
            .map_err(failed("copy to the device"))
    }

    /// Does `compute` once for each of the batches, which are copied to the halves of `places` in turn: batch i is in half
    /// i mod 2 when it is computed. Waits for the last one.
    ///
    /// # Errors
    /// The error of `compute` or of the driver.
    pub fn run(
        &self,
        way: Transfer,
        batches: &[&[u8]],
        places: &Buffer,
        mut compute: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        self.cuda.bind()?;
        // Whatever happens, nothing may be under way when the borrows end, not even if `compute` panics.
        let _finish = Finish;
        let done = self.start(way, batches, places, &mut compute);
        let over = Finish::now();
        done?;
        over.map_err(failed("finish its work"))
    }

    fn start(
        &self,
        way: Transfer,
        batches: &[&[u8]],
        places: &Buffer,
        compute: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let main = self.cuda.stream();
        for (i, bytes) in batches.iter().enumerate() {
            match way {
                Transfer::Resident => {}
                Transfer::Waiting | Transfer::Pageable | Transfer::Pinned => {
                    // In the stream's order: the step waits for its batch, the CPU need not.
                    // SAFETY: `run` waits before it returns.
                    unsafe { self.copy(bytes, places, i % 2, main)? };
                    if way == Transfer::Waiting {
                        self.cuda.finish()?;
                    }
                }
                // ANCHOR: overlap
                Transfer::Overlapped => {
                    if i == 0 {
                        self.fetch(bytes, places, 0)?;
                    }
                    self.copied[i % 2].holds_back(main)?; // wait for batch i
                    compute()?;
                    self.used[i % 2].record(main)?; // its slot is free again
                    if let Some(next) = batches.get(i + 1) {
                        if i > 0 {
                            self.used[(i + 1) % 2].holds_back(self.stream)?;
                        }
                        self.fetch(next, places, (i + 1) % 2)?; // during batch i
                    }
                    continue;
                } // ANCHOR_END: overlap
            }
            compute()?;
        }
        Ok(())
    }

    /// Starts the copy of a batch on the second stream.
    fn fetch(&self, bytes: &[u8], places: &Buffer, half: usize) -> Result<()> {
        // SAFETY: `run` waits before it returns.
        unsafe { self.copy(bytes, places, half, self.stream)? };
        self.copied[half].record(self.stream)
    }
}

impl Drop for Feed<'_> {
    fn drop(&mut self) {
        if self.cuda.bind().is_ok() {
            // SAFETY: made once, destroyed once; the driver waits for what is in it.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
    }
}

/// Trains `step`, whose data set are two batches, on batches of pixels that come one after the other.
///
/// # Errors
/// An error if the batches have another length than the step's, or the driver's.
pub fn train(feed: &Feed, way: Transfer, batches: &[&[u8]], step: &Step) -> Result<()> {
    if batches.iter().any(|bytes| 2 * bytes.len() != step.pixels().bytes) {
        return Err(Error::message("the step's data set must be two batches, in turn"));
    }
    feed.run(way, batches, step.pixels(), || step.launch())
}
