//! Launches as a CUDA graph: they are recorded once, and then started with one call.
//!
//! While a stream captures, a launch is written down instead of carried out (CUDA C++ Programming Guide, "CUDA Graphs").
//! What is written down are the kernel, the launch's shape and the arguments' values: the same buffers at every replay.
//! What differs from step to step must therefore lie *in* a buffer, as the order of the images and the step's number
//! do.

use cpu_gpu::{
    Error, Result,
    gpu::{Gpu, cuda::Cuda},
};
use cudarc::driver::{
    result::{self, DriverError},
    sys,
};

/// Launches that can be replayed. It borrows the device; what they use has to live as long: see [`Graph::capture`].
pub struct Graph<'s> {
    cuda: &'s Cuda,
    exec: sys::CUgraphExec,
    _recorded: Recorded<'s>,
}

fn failed(what: &str) -> impl Fn(DriverError) -> Error {
    move |error| {
        Error::message(format!(
            "the GPU can't {what} ({:?}); launch the kernels one by one instead",
            error.0
        ))
    }
}

impl<'s> Graph<'s> {
    /// Records what `work` launches on the device's stream.
    ///
    /// # Safety
    /// Every kernel and buffer that `work` launches with must live as long as the graph.
    ///
    /// # Errors
    /// The error of `work` or of the driver.
    // ANCHOR: capture
    pub unsafe fn capture<F>(cuda: &'s Cuda, work: F) -> Result<Self>
    where
        F: FnOnce() -> Result<()>,
    {
        cuda.bind()?;
        let here = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream lives as long as the device.
        unsafe { result::stream::begin_capture(cuda.stream(), here) }
            .map_err(failed("record launches"))?;
        let done = work();
        // SAFETY: as above. A capture must end, whether the work failed or not.
        let handle = unsafe { result::stream::end_capture(cuda.stream()) };
        let handle = handle.map_err(failed("record these launches"))?;
        let recorded = Recorded { cuda, handle };
        done?;
        // SAFETY: the graph was made by the call before.
        let exec = unsafe { result::graph::instantiate(handle, DEFAULT) }
            .map_err(failed("prepare the recorded launches"))?;
        Ok(Self { cuda, exec, _recorded: recorded })
    }

    // ANCHOR_END: capture
    // ANCHOR: replay
    /// Starts everything that was recorded, with one call, and returns at once.
    ///
    /// # Errors
    /// The driver's error.
    pub fn replay(&self) -> Result<()> {
        self.cuda.bind()?;
        // SAFETY: graph and stream live; so do the kernels and buffers.
        unsafe { result::graph::launch(self.exec, self.cuda.stream()) }
            .map_err(failed("replay the recorded launches"))
    }
    // ANCHOR_END: replay
}

const DEFAULT: sys::CUgraphInstantiate_flags = sys::CUgraphInstantiate_flags(0);

/// A graph, destroyed when it is dropped.
struct Recorded<'s> {
    cuda: &'s Cuda,
    handle: sys::CUgraph,
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        if self.cuda.bind().is_ok() {
            // SAFETY: made once, destroyed once.
            let _ = unsafe { result::graph::destroy(self.handle) };
        }
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        // A replay may still run.
        if self.cuda.finish().is_ok() || self.cuda.bind().is_ok() {
            // SAFETY: made once, destroyed once.
            let _ = unsafe { result::graph::exec_destroy(self.exec) };
        }
    }
}
