//! A device that notes what it is given and when it does it: what a GPU's profiler shows, from events alone.
//!
//! A mark behind each call takes the device's time (CUDA Driver API, "Event Management"; `OpenCL` 1.2, section 5.12), and two
//! looks at the host's clock the time of the call. A mark takes some of the device's time itself; NVIDIA's own profilers read what
//! the GPU writes down of each kernel (CUPTI), without marks between them.

pub use super::device::Label;
use super::device::{About, Arg, Buffer, Fetching, Gpu, Kernel, Launch, Mark};
use crate::Result;
use std::{any::Any, cell::RefCell, time::Instant};

/// What a device was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A kernel.
    Kernel,
    /// A copy between its memory and the host's, or within its own.
    Copy,
}

/// One thing that a device was given, and did.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The kernel's name, or the copy's direction.
    pub name: String,
    /// What it is.
    pub what: What,
    /// Whose work it is, as far as that was said.
    pub label: Label,
    /// Seconds at which the host's call began and had returned.
    pub called: [f64; 2],
    /// Seconds at which the device can have begun, and at which it had done it: it begins when it has done what was before, and
    /// not before it is asked. Both clocks start together, up to the microseconds until the host sees a mark.
    pub ran: [f64; 2],
}

/// A call with the mark behind it.
struct Call {
    name: String,
    what: What,
    label: Label,
    called: [f64; 2],
    mark: Mark,
}

/// What gives a device something to do.
pub type Work<'w> = dyn FnMut() -> Result<()> + 'w;

/// A device, with a recording of what it is given.
pub struct Traced<'g> {
    gpu: &'g dyn Gpu,
    log: RefCell<Option<Log>>,
    next: RefCell<Label>,
    /// Bytes of all buffers that were made.
    pub reserved: RefCell<usize>,
}

struct Log {
    clock: Instant,
    calls: Vec<Call>,
}

impl<'g> Traced<'g> {
    /// The device, for all that takes a device. It notes nothing until [`Traced::record`].
    pub fn new(gpu: &'g dyn Gpu) -> Self {
        let (log, next, reserved) = Default::default();
        Self { gpu, log, next, reserved }
    }

    /// Everything that `work` gives to this device, in its order, when the device has done it.
    ///
    /// # Errors
    /// Those of `work`; a message if the device's driver keeps no times.
    // ANCHOR: record
    pub fn record(&self, work: &mut Work) -> Result<Vec<Span>> {
        self.gpu.finish()?;
        let zero = self.gpu.mark()?;
        self.gpu.finish()?;
        let clock = Instant::now(); // both clocks begin here
        self.log.replace(Some(Log { clock, calls: Vec::new() }));
        let done = work();
        let log = self.log.take();
        done?;
        self.gpu.finish()?;
        let mut before = 0.0_f64; // when the device was free
        let span = |Call { name, what, label, called, mark }| {
            let end = self.gpu.between(&zero, &mark)?;
            // A launch returns at once, a copy perhaps when it is done.
            let ready = called[usize::from(what == What::Kernel)];
            let ran = [before.max(ready).min(end), end];
            before = end;
            Ok(Span { name, what, label, called, ran })
        };
        log.into_iter().flat_map(|log| log.calls).map(span).collect()
    }
    // ANCHOR_END: record

    // ANCHOR: noted
    /// Does what `give` gives to the device, and puts a mark behind it.
    fn noted<R, F>(&self, name: &str, what: What, give: F) -> Result<R>
    where
        F: FnOnce() -> Result<R>,
    {
        let label = self.next.take();
        let Some(Log { clock, calls }) = &mut *self.log.borrow_mut() else {
            return give();
        };
        let began = clock.elapsed().as_secs_f64();
        let given = give()?;
        let called = [began, clock.elapsed().as_secs_f64()];
        let mark = self.gpu.mark()?;
        calls.push(Call { name: name.into(), what, label, called, mark });
        Ok(given)
    }
    // ANCHOR_END: noted
}

impl Gpu for Traced<'_> {
    fn about(&self) -> &About {
        self.gpu.about()
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        *self.reserved.borrow_mut() += bytes;
        self.gpu.alloc(bytes)
    }

    fn write(&self, to: &Buffer, bytes: &[u8]) -> Result<()> {
        self.noted("copy to the device", What::Copy, || self.gpu.write(to, bytes))
    }

    fn read(&self, from: &Buffer, bytes: &mut [u8]) -> Result<()> {
        self.noted("copy to the host", What::Copy, || self.gpu.read(from, bytes))
    }

    fn copy(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
        self.noted("copy on the device", What::Copy, || self.gpu.copy(from, to, bytes))
    }

    fn compile(&self, source: &str, options: &[(&str, String)], entry: &str) -> Result<Kernel> {
        self.gpu.compile(source, options, entry)
    }

    fn launch(&self, kernel: &Kernel, how: Launch, args: &[Arg]) -> Result<()> {
        self.noted(&kernel.entry, What::Kernel, || self.gpu.launch(kernel, how, args))
    }

    fn fetch(&self, from: &Buffer, bytes: usize) -> Result<Fetching> {
        self.noted("copy to the host", What::Copy, || self.gpu.fetch(from, bytes))
    }

    fn fetched(&self, fetching: Fetching) -> Result<Vec<u8>> {
        self.gpu.fetched(fetching)
    }

    fn finish(&self) -> Result<()> {
        self.gpu.finish()
    }

    fn seconds(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        self.gpu.seconds(work)
    }

    fn mark(&self) -> Result<Mark> {
        self.gpu.mark()
    }

    fn between(&self, from: &Mark, to: &Mark) -> Result<f64> {
        self.gpu.between(from, to)
    }

    fn label(&self, label: &Label) {
        self.next.replace(label.clone());
    }

    fn as_any(&self) -> &dyn Any {
        self.gpu.as_any()
    }
}
