//! OpenCL, loaded when the program runs: GPUs of any maker, and through `PoCL` the CPU.

use super::device::{
    About, Api, Arg, Buffer, Devices, Fetching, Gpu, Kernel, Kind, Launch, Mark, Missing, fits,
    no_entry, own, part, wrong_count,
};
use crate::{Error, Result};
use opencl3::{
    command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue},
    context::Context,
    device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, Device},
    error_codes::{
        CL_DEVICE_NOT_AVAILABLE, CL_INVALID_BUFFER_SIZE, CL_INVALID_KERNEL_NAME,
        CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE,
        CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, ClError, DLOPEN_RUNTIME_LOAD_FAILED,
    },
    event::Event,
    kernel, memory,
    memory::{CL_MEM_READ_WRITE, ClMem},
    platform::get_platforms,
    program::Program,
    types::{CL_FALSE, CL_TRUE, cl_device_id},
};
use std::{any::Any, cell::RefCell, ptr, time::Instant};

const INSTALL: &str = "install a driver with OpenCL, or PoCL, which runs kernels on the CPU (Debian, Ubuntu: \
                       sudo apt install ocl-icd-libopencl1 pocl-opencl-icd)";

/// Adds the OpenCL devices of this machine, or why there are none.
pub fn find(devices: &mut Devices) {
    match list() {
        Ok(list) => devices.found.extend(list.into_iter().map(|(about, _)| about)),
        Err(why) => devices.missing.push(Missing { api: Api::OpenCl, why }),
    }
}

/// Every device with its handle, or a message.
fn list() -> Result<Vec<(About, cl_device_id)>, String> {
    // Starts the drivers, by one thread of all that ask here or there: PoCL 3.1 crashes if two do at once.
    lab::doctor::opencl_devices();
    let platforms = match get_platforms() {
        Ok(platforms) => platforms,
        Err(error) => return Err(no_platform(&error)),
    };
    let mut found: Vec<(About, cl_device_id)> = Vec::new();
    for platform in platforms {
        for handle in platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default() {
            let device = Device::new(handle);
            let Ok(mut about) = describe(device) else { continue };
            let before = found.iter().filter(|(other, _)| other.kind == about.kind).count();
            if before > 0 {
                about.id = format!("{}:{before}", about.id);
            }
            found.push((about, handle));
        }
    }
    if found.is_empty() {
        return Err(format!("the OpenCL library finds no device; {INSTALL}"));
    }
    Ok(found)
}

/// Why there is no driver behind OpenCL.
pub fn no_platform(error: &ClError) -> String {
    match error.0 {
        DLOPEN_RUNTIME_LOAD_FAILED => format!("this machine has no OpenCL library; {INSTALL}"),
        // The library without a driver reports it in several ways.
        _ => format!(
            "this machine has OpenCL's library, but no driver behind it ({error}); {INSTALL}"
        ),
    }
}

fn describe(device: Device) -> Result<About, ClError> {
    let cpu = device.dev_type()? & CL_DEVICE_TYPE_CPU != 0;
    if !device.available()? || !device.compiler_available()? {
        return Err(ClError(CL_DEVICE_NOT_AVAILABLE));
    }
    let clock = f64::from(device.max_clock_frequency()?) * 1e6;
    // PoCL warns of questions that it does not know.
    let nvidia = device.extensions()?.contains("cl_nv_device_attribute_query");
    let capability = nvidia.then(|| device.compute_capability_major_nv().ok()).flatten();
    Ok(About {
        id: if cpu { "opencl-cpu" } else { "opencl-gpu" }.to_owned(),
        api: Api::OpenCl,
        kind: if cpu { Kind::Cpu } else { Kind::Gpu },
        name: device.name()?.trim().to_owned(),
        driver: format!("{}, driver {}", device.version()?.trim(), device.driver_version()?.trim()),
        compute_units: device.max_compute_units()?,
        clock_hz: (clock > 0.0).then_some(clock),
        memory: device.global_mem_size()?,
        shared_memory: device.local_mem_size()?,
        max_block: device.max_work_group_size()?,
        compute_capability: capability.zip(device.compute_capability_minor_nv().ok()),
    })
}

/// An OpenCL device with one queue, which keeps the order of what is put into it.
pub struct OpenCl {
    about: About,
    device: Device,
    context: Context,
    queue: CommandQueue,
    /// Parts of buffers that a kernel in the queue may still use.
    parts: RefCell<Vec<Memory>>,
}

/// Parts that are kept at most until the queue is waited for.
const PARTS: usize = 1000;

/// A kernel and what is known of it.
struct Loaded {
    handle: kernel::Kernel,
    parameters: usize,
    /// The most threads that a block of this kernel may have.
    max_block: usize,
    _program: Program,
}

/// Bytes that a copy is writing to.
struct Coming {
    bytes: Vec<u8>,
    event: Option<Event>,
}

impl Drop for Coming {
    fn drop(&mut self) {
        // The copy must not outlive the bytes.
        let _ = self.event.take().map(|event| event.wait());
    }
}

/// Memory of an OpenCL device.
type Memory = memory::Buffer<u8>;

impl OpenCl {
    /// Starts a device that [`find`] has found.
    ///
    /// # Errors
    /// A message if it is not there any more, or does not start.
    pub fn open(about: About) -> Result<Self> {
        let list = list().map_err(Error::Message)?;
        let Some((_, handle)) = list.into_iter().find(|(other, _)| other.id == about.id) else {
            return Err(Error::message(format!("this machine has no device {}", about.id)));
        };
        let failed = |e: ClError| {
            Error::message(format!("{} does not start ({e}); see `throughput doctor`", about.name))
        };
        let device = Device::new(handle);
        let context = Context::from_device(&device).map_err(failed)?;
        let queue =
            CommandQueue::create_default(&context, CL_QUEUE_PROFILING_ENABLE).map_err(failed)?;
        Ok(Self { about, device, context, queue, parts: RefCell::default() })
    }

    #[allow(clippy::needless_pass_by_value)] // as `map_err` hands it over
    fn failed(&self, what: &str, error: ClError) -> Error {
        Error::Message(sentence(&self.about.name, what, &error))
    }
}

/// The most threads that a block of a kernel may have: as many as it is written for, where it says so. For such a kernel too
/// a driver may tell what it takes `usually`, which is less (NVIDIA's: 256); whether it has the registers is told by the
/// launch.
pub fn most(written_for: &[usize], usually: usize) -> usize {
    match written_for.iter().product() {
        0 => usually,
        threads => threads,
    }
}

/// A code of OpenCL as a message about a device.
pub fn sentence(name: &str, what: &str, error: &ClError) -> String {
    let why = match error.0 {
        CL_INVALID_BUFFER_SIZE | CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_HOST_MEMORY => {
            "it is out of memory; take smaller matrices, or close programs that use it"
        }
        CL_OUT_OF_RESOURCES => {
            "it is out of memory, or a kernel has read or written outside of its memory; take smaller matrices, and if \
             that does not help, find the line with THROUGHPUT_DEVICE=cpu"
        }
        CL_INVALID_WORK_GROUP_SIZE | CL_INVALID_WORK_ITEM_SIZE => {
            "a block has not the size that the kernel is written for, or one that this device does not take"
        }
        _ => "see `throughput doctor`",
    };
    format!("{name} can't {what}: {why} ({error})")
}

impl Gpu for OpenCl {
    fn about(&self) -> &About {
        &self.about
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        // SAFETY: without a host pointer OpenCL only makes the buffer.
        let buffer = unsafe {
            Memory::create(&self.context, CL_MEM_READ_WRITE, bytes.max(1), ptr::null_mut())
        };
        let buffer = buffer.map_err(|e| self.failed(&format!("reserve {bytes} bytes"), e))?;
        Ok(Buffer { bytes, inner: Box::new(RefCell::new(buffer)) })
    }

    fn write(&self, to: &Buffer, bytes: &[u8]) -> Result<()> {
        fits(to, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        let memory: &RefCell<Memory> = own(&*to.inner, "buffer")?;
        // SAFETY: the buffer is as long as `bytes`, and the call returns when they are copied.
        unsafe {
            self.queue.enqueue_write_buffer(&mut memory.borrow_mut(), CL_TRUE, 0, bytes, &[])
        }
        .map_err(|e| self.failed("copy to the device", e))?;
        Ok(())
    }

    fn read(&self, from: &Buffer, bytes: &mut [u8]) -> Result<()> {
        fits(from, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        let memory: &RefCell<Memory> = own(&*from.inner, "buffer")?;
        // SAFETY: the buffer is as long as `bytes`, and the call returns when they are copied.
        unsafe { self.queue.enqueue_read_buffer(&memory.borrow(), CL_TRUE, 0, bytes, &[]) }
            .map_err(|e| self.failed("copy from the device", e))?;
        self.parts.borrow_mut().clear(); // the kernels before are over
        Ok(())
    }

    fn copy(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
        fits(from, bytes)?;
        fits(to, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let from: &RefCell<Memory> = own(&*from.inner, "buffer")?;
        let to: &RefCell<Memory> = own(&*to.inner, "buffer")?;
        // SAFETY: both buffers have so many bytes, and live at least as long as the queue's work on them (OpenCL 1.2,
        // section 5.4.1: the runtime keeps what it uses).
        unsafe {
            self.queue.enqueue_copy_buffer(&from.borrow(), &mut to.borrow_mut(), 0, 0, bytes, &[])
        }
        .map_err(|e| self.failed("copy in its memory", e))?;
        Ok(())
    }

    fn compile(&self, source: &str, options: &[(&str, String)], entry: &str) -> Result<Kernel> {
        let defines: Vec<String> =
            options.iter().map(|(name, value)| format!("-D{name}={value}")).collect();
        let flags = format!("-cl-std=CL1.2 -cl-mad-enable {}", defines.join(" "));
        let program = Program::create_and_build_from_source(&self.context, source, &flags)
            .map_err(|said| {
                Error::message(format!(
                    "the kernel `{entry}` does not compile for {}:\n{}",
                    self.about.name,
                    said.trim()
                ))
            })?;
        let kernel = kernel::Kernel::create(&program, entry).map_err(|e| match e.0 {
            CL_INVALID_KERNEL_NAME => no_entry(entry),
            _ => self.failed(&format!("make the kernel `{entry}`"), e),
        })?;
        let asked = |e| self.failed(&format!("describe the kernel `{entry}`"), e);
        let loaded = Loaded {
            parameters: kernel.num_args().map_err(asked)? as usize,
            max_block: most(
                &kernel.get_compile_work_group_size(self.device.id()).map_err(asked)?,
                kernel.get_work_group_size(self.device.id()).map_err(asked)?,
            ),
            handle: kernel,
            _program: program,
        };
        Ok(Kernel { entry: entry.to_owned(), inner: Box::new(loaded) })
    }

    fn launch(&self, kernel: &Kernel, launch: Launch, args: &[Arg]) -> Result<()> {
        let Loaded { handle, parameters, max_block, .. } = own(&*kernel.inner, "kernel")?;
        launch.check(kernel, &self.about, *max_block)?;
        if *parameters != args.len() {
            return Err(wrong_count(&kernel.entry, *parameters, args.len()));
        }
        if launch.is_empty() {
            return Ok(());
        }
        for (at, arg) in args.iter().enumerate() {
            let at = at as u32;
            let set = match *arg {
                // SAFETY: a kernel's arguments are copied; OpenCL refuses one of another size.
                Arg::U32(value) => unsafe { handle.set_arg(at, &value) },
                // SAFETY: as above.
                Arg::F32(value) => unsafe { handle.set_arg(at, &value) },
                Arg::Buffer(buffer) => {
                    let memory: &RefCell<Memory> = own(&*buffer.inner, "buffer")?;
                    // SAFETY: as above; the handle is that of a live buffer.
                    unsafe { handle.set_arg(at, &memory.borrow().get()) }
                }
                Arg::Part { buffer, offset } => {
                    let memory: &RefCell<Memory> = own(&*buffer.inner, "buffer")?;
                    let rest = part(buffer, offset)?;
                    // SAFETY: the part lies in the buffer.
                    let part = unsafe {
                        memory.borrow().create_sub_buffer(CL_MEM_READ_WRITE, offset, rest)
                    }
                    .map_err(|e| self.failed("take a part of a buffer", e))?;
                    // SAFETY: as above.
                    let set = unsafe { handle.set_arg(at, &part.get()) };
                    self.parts.borrow_mut().push(part);
                    set
                }
            };
            set.map_err(|e| self.failed(&format!("set argument {at} of `{}`", kernel.entry), e))?;
        }
        let threads = [launch.grid[0] * launch.block[0], launch.grid[1] * launch.block[1]];
        // SAFETY: sizes and arguments are checked; what the kernel does with its buffers is its own matter.
        unsafe {
            self.queue.enqueue_nd_range_kernel(
                handle.get(),
                2,
                ptr::null(),
                threads.as_ptr(),
                launch.block.as_ptr(),
                &[],
            )
        }
        .map_err(|e| self.failed(&format!("launch `{}`", kernel.entry), e))?;
        let kept = self.parts.borrow().len();
        if kept > PARTS { self.finish() } else { Ok(()) }
    }

    fn fetch(&self, from: &Buffer, bytes: usize) -> Result<Fetching> {
        fits(from, bytes)?;
        let mut coming = Coming { bytes: vec![0; bytes], event: None };
        if bytes > 0 {
            let memory: &RefCell<Memory> = own(&*from.inner, "buffer")?;
            let to = &mut coming.bytes;
            // SAFETY: the buffer is as long as `to`, which lives until the copy is over.
            let event =
                unsafe { self.queue.enqueue_read_buffer(&memory.borrow(), CL_FALSE, 0, to, &[]) };
            coming.event = Some(event.map_err(|e| self.failed("copy from the device", e))?);
            self.queue.flush().map_err(|e| self.failed("begin its work", e))?;
        }
        Ok(Fetching { inner: Box::new(coming) })
    }

    fn fetched(&self, fetching: Fetching) -> Result<Vec<u8>> {
        let coming = fetching.inner.downcast::<Coming>();
        let mut coming =
            coming.map_err(|_| Error::message("it was fetched from another device"))?;
        if let Some(event) = coming.event.take() {
            event.wait().map_err(|e| self.failed("copy from the device", e))?;
        }
        Ok(std::mem::take(&mut coming.bytes))
    }

    fn finish(&self) -> Result<()> {
        self.queue.finish().map_err(|e| self.failed("finish its work", e))?;
        self.parts.borrow_mut().clear();
        Ok(())
    }

    fn seconds(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        self.finish()?;
        let clock = Instant::now();
        let begin = self.mark()?;
        work()?;
        let end = self.mark()?;
        self.finish()?;
        let here = clock.elapsed().as_secs_f64();
        // Some drivers keep no time for markers; then the host's clock has to do.
        Ok(self.between(&begin, &end).ok().filter(|seconds| *seconds > 0.0).unwrap_or(here))
    }

    fn mark(&self) -> Result<Mark> {
        // SAFETY: a marker waits for what is before it in the queue.
        let event = unsafe { self.queue.enqueue_marker_with_wait_list(&[]) }
            .map_err(|e| self.failed("take the time", e))?;
        Ok(Mark { inner: Box::new(event) })
    }

    fn between(&self, from: &Mark, to: &Mark) -> Result<f64> {
        let time = |mark: &Mark| {
            let event: &Event = own(&*mark.inner, "mark")?;
            event.profiling_command_end().map_err(|e| self.failed("tell the time of a mark", e))
        };
        let (from, to) = (time(from)?, time(to)?);
        if from == 0 || to < from {
            return Err(Error::message(format!(
                "the driver of {} keeps no time for markers; take another device",
                self.about.name
            )));
        }
        Ok((to - from) as f64 * 1e-9)
    }
}
