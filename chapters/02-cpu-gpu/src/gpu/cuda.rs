//! CUDA, loaded when the program runs: the driver starts and feeds the GPU, NVRTC compiles kernels for it.
//!
//! The driver comes through the crate `cudarc`, which panics where it finds no `libcuda`; so that is asked
//! first. NVRTC is loaded by [`nvrtc`](super::nvrtc).

use super::{
    device::{
        About, Api, Arg, Buffer, Devices, Fetching, Gpu, Kernel, Kind, Launch, Mark, Missing, fits,
        no_entry, others, own, part, wrong_count,
    },
    nvrtc::Nvrtc,
};
use crate::{Error, Result};
use cudarc::driver::{
    result::{self, DriverError},
    sys::{self, CUdevice_attribute as Attribute, CUresult},
};
use std::{
    any::Any,
    cell::{Cell, RefCell},
    ffi::{CString, c_int, c_void},
    ptr,
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

/// The seconds after which a kernel that has not ended is given up; 60 unless this variable says otherwise.
const PATIENCE: &str = "THROUGHPUT_GPU_PATIENCE";

/// The oldest driver interface that the course uses: CUDA 12.0, which has tensor maps.
pub const OLDEST: i32 = 12_000;
const DRIVER: &str =
    "install NVIDIA's driver, version 525 or newer (https://www.nvidia.com/drivers)";

/// Adds the NVIDIA GPUs of this machine, or why there are none.
pub fn find(devices: &mut Devices) {
    match list() {
        Ok(list) => devices.found.extend(list),
        Err(why) => devices.missing.push(Missing { api: Api::Cuda, why }),
    }
}

/// What the driver's own version means for the course: nothing, or a message.
pub fn too_old(version: i32) -> Option<String> {
    (version < OLDEST).then(|| {
        format!(
            "the NVIDIA driver speaks CUDA {}.{}, and the course needs {}.{}; {DRIVER}",
            version / 1000,
            version % 1000 / 10,
            OLDEST / 1000,
            OLDEST % 1000 / 10
        )
    })
}

/// A driver's code as a message about a device.
pub fn sentence(name: &str, what: &str, code: CUresult) -> String {
    use CUresult as Code;
    let why = match code {
        Code::CUDA_ERROR_OUT_OF_MEMORY => {
            "it is out of memory; take smaller matrices, or close programs that use it"
        }
        Code::CUDA_ERROR_NO_DEVICE | Code::CUDA_ERROR_INVALID_DEVICE => {
            "it finds no GPU; look whether CUDA_VISIBLE_DEVICES hides it, and start \
             a container with `--gpus all`"
        }
        Code::CUDA_ERROR_ILLEGAL_ADDRESS
        | Code::CUDA_ERROR_MISALIGNED_ADDRESS
        | Code::CUDA_ERROR_LAUNCH_FAILED => {
            "a kernel has read or written outside of its memory; start the program \
             again, and find the line with NVIDIA's compute-sanitizer"
        }
        Code::CUDA_ERROR_STUB_LIBRARY => {
            "the libcuda.so that was found is a stub for linking; take the toolkit's folder `stubs` out of \
             LD_LIBRARY_PATH, and install NVIDIA's driver if there is none"
        }
        Code::CUDA_ERROR_NO_BINARY_FOR_GPU
        | Code::CUDA_ERROR_INVALID_IMAGE
        | Code::CUDA_ERROR_INVALID_PTX
        | Code::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
            "the kernel is compiled for another GPU or a newer driver; install a newer driver \
             (https://www.nvidia.com/drivers)"
        }
        Code::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES | Code::CUDA_ERROR_INVALID_VALUE => {
            "it has not so many threads, registers or bytes of shared memory for a block; take smaller blocks"
        }
        Code::CUDA_ERROR_LAUNCH_TIMEOUT => {
            "a kernel ran longer than it may; start the program again with smaller matrices"
        }
        Code::CUDA_ERROR_DEVICE_UNAVAILABLE | Code::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED => {
            "another program has it for itself; wait for that to end (`nvidia-smi` shows it)"
        }
        Code::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
        | Code::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
        | Code::CUDA_ERROR_SYSTEM_NOT_READY => {
            "the driver's parts have different versions or are not all running; restart the machine"
        }
        Code::CUDA_ERROR_ECC_UNCORRECTABLE => "its memory has a fault; have the card checked",
        _ => "see `throughput doctor`",
    };
    format!("{name} can't {what}: {why} ({code:?})")
}

/// The GPUs that kernels can be compiled for and run on, or why there are none.
fn list() -> Result<Vec<About>, String> {
    // SAFETY: it only looks whether the library can be loaded; `cudarc` panics at the first call without it.
    if !unsafe { sys::is_culib_present() } {
        return Err(format!("this machine has no NVIDIA driver; with an NVIDIA GPU, {DRIVER}"));
    }
    let asked = |what: &'static str| move |e: DriverError| sentence("the NVIDIA driver", what, e.0);
    let mut version = 0;
    // SAFETY: the driver writes one number.
    let code = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    code.result().map_err(asked("tell its version"))?;
    if let Some(why) = too_old(version) {
        return Err(why);
    }
    result::init().map_err(asked("start"))?;
    let count = result::device::get_count().map_err(asked("count GPUs"))?;
    if count == 0 {
        return Err(sentence("the NVIDIA driver", "start", CUresult::CUDA_ERROR_NO_DEVICE));
    }
    // Without a compiler a GPU runs nothing here.
    Nvrtc::load().map_err(|e| e.to_string())?;
    (0..count).map(|at| describe(at, version).map_err(asked("describe its GPU"))).collect()
}

/// What [`open`](crate::gpu::open) calls the GPU with this number: `cuda` the first one, then `cuda:1`.
pub fn id(at: usize) -> String {
    if at == 0 { "cuda".to_owned() } else { format!("cuda:{at}") }
}

fn describe(at: i32, version: i32) -> Result<About, DriverError> {
    let device = result::device::get(at)?;
    // SAFETY: `device` is one of the driver's.
    let get = |what| unsafe { result::device::get_attribute(device, what) };
    Ok(About {
        id: id(at as usize),
        api: Api::Cuda,
        kind: Kind::Gpu,
        name: result::device::get_name(device)?,
        driver: format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        compute_units: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        clock_hz: Some(f64::from(get(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?) * 1e3),
        // SAFETY: as above.
        memory: unsafe { result::device::total_mem(device)? } as u64,
        shared_memory: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?
            as u64,
        max_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)? as usize,
        compute_capability: Some((
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? as u32,
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)? as u32,
        )),
    })
}

/// The device's primary context, given back when it is no longer needed.
struct Context {
    device: sys::CUdevice,
    handle: sys::CUcontext,
    /// Whether a kernel does not end. Every call that waits for it would wait forever, those that free memory too: so
    /// nothing is called any more, and the system cleans up when the program ends.
    hung: Cell<bool>,
}

impl Context {
    /// Makes it the calling thread's own, as every call of the driver wants.
    fn bind(&self) -> Result<(), DriverError> {
        if self.hung.get() {
            return Err(DriverError(CUresult::CUDA_ERROR_LAUNCH_TIMEOUT));
        }
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { result::ctx::set_current(self.handle) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.hung.get() {
            return;
        }
        // SAFETY: it was retained once, in `Cuda::open`.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Memory of a GPU.
struct Memory {
    context: Rc<Context>,
    at: sys::CUdeviceptr,
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: it was allocated in this context and is freed once; the call waits for kernels that use it.
            let _ = unsafe { result::free_sync(self.at) };
        }
    }
}

/// A kernel's module, unloaded when it is dropped.
struct Module {
    context: Rc<Context>,
    handle: sys::CUmodule,
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // The kernel may still run.
            // SAFETY: the context is current.
            let _ = unsafe { sys::cuCtxSynchronize() };
            // SAFETY: it was loaded in this context and is unloaded once.
            let _ = unsafe { result::module::unload(self.handle) };
        }
    }
}

/// A kernel in its module.
struct Loaded {
    function: sys::CUfunction,
    /// The most threads that a block of this kernel may have: its registers have to suffice for all.
    max_block: usize,
    /// The bytes of each parameter, where the driver tells.
    parameters: Option<Vec<usize>>,
    module: Module,
}

/// The bytes of each of a kernel's parameters. Drivers before CUDA 12.4 do not tell.
fn parameters(function: sys::CUfunction) -> Option<Vec<usize>> {
    type GetParamInfo =
        unsafe extern "C" fn(sys::CUfunction, usize, *mut usize, *mut usize) -> c_int;
    // SAFETY: the function's type by the driver's manual; the library has been loaded, since there is a function.
    let get = unsafe { sys::culib().get::<GetParamInfo>(b"cuFuncGetParamInfo\0") }.ok()?;
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the driver writes two numbers; beyond the last parameter it returns an error.
        if unsafe { get(function, sizes.len(), &raw mut offset, &raw mut size) } != 0 {
            return Some(sizes);
        }
        sizes.push(size);
    }
}

/// Refuses arguments that are not as many, or not as large, as a kernel's parameters.
///
/// # Errors
/// Which of them does not fit.
pub fn fitting(entry: &str, parameters: &[usize], args: &[Arg]) -> Result<()> {
    if parameters.len() != args.len() {
        return Err(wrong_count(entry, parameters.len(), args.len()));
    }
    for (at, (wanted, arg)) in parameters.iter().zip(args).enumerate() {
        let got = match arg {
            Arg::Buffer(_) | Arg::Part { .. } => 8,
            Arg::U32(_) | Arg::F32(_) => 4,
        };
        if got != *wanted {
            return Err(Error::message(format!(
                "argument {at} of `{entry}` has {wanted} bytes, and it is given {got}"
            )));
        }
    }
    Ok(())
}

/// An NVIDIA GPU with one stream, which keeps the order of what is put into it.
pub struct Cuda {
    about: About,
    context: Rc<Context>,
    stream: sys::CUstream,
    nvrtc: Nvrtc,
    patience: Duration,
    /// Memory of the CPU for what is fetched, as long as nobody needs it.
    hosts: RefCell<Vec<Host>>,
}

/// Memory of the CPU that the system never moves: a GPU copies to it by itself.
struct Host {
    context: Rc<Context>,
    at: *mut u8,
    bytes: usize,
}

impl Drop for Host {
    fn drop(&mut self) {
        // A copy may still write to it.
        if self.context.bind().is_ok() {
            // SAFETY: the context is current.
            let _ = unsafe { sys::cuCtxSynchronize() };
            // SAFETY: allocated once, freed once.
            let _ = unsafe { result::free_host(self.at.cast()) };
        }
    }
}

/// Bytes that a copy is writing to, and the mark behind it.
struct Coming {
    host: Host,
    bytes: usize,
    mark: Mark,
}

/// How long to wait by what `THROUGHPUT_GPU_PATIENCE` says.
///
/// # Errors
/// If it is no length of time.
pub fn patience(said: Option<&str>) -> Result<Duration> {
    let Some(said) = said else { return Ok(Duration::from_mins(1)) };
    let seconds = said.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.filter(|seconds| !seconds.is_zero()).ok_or_else(|| {
        Error::message(format!("{PATIENCE}={said} is no number of seconds; write it as 60"))
    })
}

/// Lets some time go by for one who has waited so long. Short work is over within the first loop, where nothing but
/// asking happens; long work is asked for so often that the waiting adds a hundredth to it.
fn pause(waited: Duration) {
    if waited < Duration::from_millis(20) {
        std::hint::spin_loop();
    } else {
        thread::sleep(waited / 100);
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: made in `open`, destroyed once.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
    }
}

impl Cuda {
    /// Starts a GPU that [`find`] has found.
    ///
    /// # Errors
    /// A message if it does not start, or if there is no NVRTC to compile kernels.
    pub fn open(about: About) -> Result<Self> {
        let nvrtc = Nvrtc::load()?;
        let at = about.id.strip_prefix("cuda:").map_or(Some(0), |at| at.parse().ok()).unwrap_or(0);
        let failed = |e: DriverError| Error::Message(sentence(&about.name, "start", e.0));
        let device = result::device::get(at).map_err(failed)?;
        // SAFETY: `device` is one of the driver's; released in `Drop`.
        let handle = unsafe { result::primary_ctx::retain(device) }.map_err(failed)?;
        let context = Rc::new(Context { device, handle, hung: Cell::new(false) });
        context.bind().map_err(failed)?;
        let stream =
            result::stream::create(result::stream::StreamKind::NonBlocking).map_err(failed)?;
        let patience = patience(std::env::var(PATIENCE).ok().as_deref())?;
        let hosts = RefCell::default();
        Ok(Self { about, context, stream, nvrtc, patience, hosts })
    }

    fn failed(&self, what: &str) -> impl Fn(DriverError) -> Error {
        move |e| Error::Message(sentence(&self.about.name, what, e.0))
    }

    /// Puts a copy from or to a buffer into the stream, if it has any bytes.
    fn copying(
        &self,
        buffer: &Buffer,
        bytes: usize,
        what: &str,
        copy: impl FnOnce(u64, sys::CUstream) -> Result<(), DriverError>,
    ) -> Result<()> {
        fits(buffer, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        self.bind()?;
        copy(self.address(buffer)?, self.stream).map_err(self.failed(what))
    }

    /// Asks until the answer is no longer that something is under way, as long as patience allows.
    fn wait(&self, ask: impl Fn() -> CUresult) -> Result<()> {
        self.bind()?;
        let began = Instant::now();
        loop {
            match ask() {
                CUresult::CUDA_SUCCESS => return Ok(()),
                CUresult::CUDA_ERROR_NOT_READY => {}
                code => return Err(self.failed("finish its work")(DriverError(code))),
            }
            let waited = began.elapsed();
            if waited > self.patience {
                self.context.hung.set(true);
                return Err(Error::message(format!(
                    "a kernel on {} does not end: it was given up after {:.1} s ({PATIENCE} says how long to wait); \
                     start the program again",
                    self.about.name,
                    waited.as_secs_f64()
                )));
            }
            pause(waited);
        }
    }

    /// Makes this device's context the calling thread's own: what calls of the driver want that go past this trait.
    ///
    /// # Errors
    /// A message if the driver refuses.
    pub fn bind(&self) -> Result<()> {
        self.context.bind().map_err(self.failed("be used from this thread"))
    }

    /// Refuses what was made in another context: another GPU's, or that of another [`Cuda`].
    fn mine(&self, context: &Rc<Context>, what: &str) -> Result<()> {
        if Rc::ptr_eq(context, &self.context) { Ok(()) } else { Err(others(what)) }
    }

    fn kernel<'k>(&self, kernel: &'k Kernel) -> Result<&'k Loaded> {
        let loaded: &Loaded = own(&*kernel.inner, "kernel")?;
        self.mine(&loaded.module.context, "kernel")?;
        Ok(loaded)
    }

    fn marked(&self, mark: &Mark) -> Result<sys::CUevent> {
        let event: &Event = own(&*mark.inner, "mark")?;
        self.mine(&event.context, "mark")?;
        Ok(event.handle)
    }

    /// The address of a buffer on the device.
    ///
    /// # Errors
    /// A message if the buffer belongs to another device.
    pub fn address(&self, buffer: &Buffer) -> Result<u64> {
        let memory: &Memory = own(&*buffer.inner, "buffer")?;
        self.mine(&memory.context, "buffer")?;
        Ok(memory.at)
    }

    /// The stream of this device, for libraries that launch into it. It lives as long as `self`.
    pub fn stream(&self) -> sys::CUstream {
        self.stream
    }

    /// The event of a mark, for libraries that wait for it. It lives as long as the mark.
    ///
    /// # Errors
    /// A message if the mark belongs to another device.
    pub fn event(&self, mark: &Mark) -> Result<u64> {
        Ok(self.marked(mark)? as u64)
    }

    /// The compute capability: (9, 0) for an H100 or H200.
    pub fn capability(&self) -> (u32, u32) {
        self.about.compute_capability.unwrap_or((0, 0))
    }

    /// As [`Gpu::compile`], for features of one generation alone: `suffix` is `a` for `sm_90a`.
    ///
    /// # Errors
    /// The compiler's words, or a message.
    pub fn compile_for(
        &self,
        source: &str,
        options: &[(&str, String)],
        entry: &str,
        suffix: &str,
    ) -> Result<Kernel> {
        let target = self.nvrtc.target(self.capability(), suffix);
        let image = self.nvrtc.compile_once(source, options, entry, &target)?;
        self.bind()?;
        // SAFETY: `image` is a whole cubin, or PTX with a zero byte at its end, which NVRTC has made.
        let handle = unsafe { result::module::load_data(image.as_ptr().cast::<c_void>()) }
            .map_err(self.failed(&format!("load `{entry}`")))?;
        let module = Module { context: Rc::clone(&self.context), handle };
        let name =
            CString::new(entry).map_err(|_| Error::message("a kernel's name has no zero byte"))?;
        // SAFETY: the module is loaded.
        let function =
            unsafe { result::module::get_function(module.handle, name) }.map_err(|e| {
                if e.0 == CUresult::CUDA_ERROR_NOT_FOUND {
                    no_entry(entry)
                } else {
                    self.failed(&format!("load `{entry}`"))(e)
                }
            })?;
        let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
        // SAFETY: the function is in a loaded module.
        let max_block = unsafe { result::function::get_function_attribute(function, most) }
            .map_err(self.failed(&format!("describe `{entry}`")))?;
        let loaded = Loaded {
            function,
            max_block: max_block.max(0) as usize,
            parameters: parameters(function),
            module,
        };
        Ok(Kernel { entry: entry.to_owned(), inner: Box::new(loaded) })
    }

    /// Lets a kernel have more than the usual 48 KiB of shared memory in [`Launch::shared`].
    ///
    /// # Errors
    /// A message if the GPU has less.
    pub fn allow_shared(&self, kernel: &Kernel, bytes: u32) -> Result<()> {
        self.bind()?;
        let loaded = self.kernel(kernel)?;
        if u64::from(bytes) > self.about.shared_memory {
            return Err(Error::message(format!(
                "`{}` wants {bytes} bytes of shared memory for a block, and {} has {}; take smaller tiles",
                kernel.entry, self.about.name, self.about.shared_memory
            )));
        }
        let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function's module is loaded.
        unsafe { result::function::set_function_attribute(loaded.function, most, bytes as i32) }
            .map_err(
                self.failed(&format!("give `{}` {bytes} bytes of shared memory", kernel.entry)),
            )
    }

    /// How many clusters of `cluster` blocks of a kernel run at once, by the driver's own count: a cluster lies in one
    /// part of the GPU (a GPC), and where such a part has an odd number of multiprocessors, or belongs to another
    /// program, one remains that no pair can use.
    ///
    /// # Errors
    /// A message if the driver refuses.
    pub fn clusters_at_once(&self, kernel: &Kernel, launch: Launch, cluster: u32) -> Result<u32> {
        let loaded = self.kernel(kernel)?;
        launch.check(kernel, &self.about, loaded.max_block)?;
        self.bind()?;
        // SAFETY: a C struct and union of numbers and pointers, for which zeros are a value.
        let mut attribute: sys::CUlaunchAttribute = unsafe { std::mem::zeroed() };
        attribute.id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        let size = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x: cluster, y: 1, z: 1 };
        attribute.value.clusterDim = size;
        let config = sys::CUlaunchConfig {
            gridDimX: cluster,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: launch.block[0] as u32,
            blockDimY: launch.block[1] as u32,
            blockDimZ: 1,
            sharedMemBytes: launch.shared,
            hStream: self.stream,
            attrs: &raw mut attribute,
            numAttrs: 1,
        };
        let mut clusters = 0;
        // SAFETY: the function's module is loaded; configuration and attribute outlive the call.
        let code = unsafe {
            sys::cuOccupancyMaxActiveClusters(&raw mut clusters, loaded.function, &raw const config)
        };
        code.result().map_err(self.failed(&format!("count the clusters of `{}`", kernel.entry)))?;
        Ok(clusters.max(0) as u32)
    }

    /// Launches with arguments by address, for kernels that take more than numbers and buffers: each pointer
    /// leads to a value as large as the kernel's parameter.
    ///
    /// # Safety
    /// There must be a pointer for each parameter of the kernel, to a value of its type.
    ///
    /// # Errors
    /// A message.
    pub unsafe fn launch_raw(
        &self,
        kernel: &Kernel,
        launch: Launch,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        let loaded = self.kernel(kernel)?;
        launch.check(kernel, &self.about, loaded.max_block)?;
        if launch.is_empty() {
            return Ok(());
        }
        self.bind()?;
        let size = |[x, y]: [usize; 2]| (x as u32, y as u32, 1);
        // SAFETY: as the caller promises; the driver copies the values before it returns.
        unsafe {
            result::launch_kernel(
                loaded.function,
                size(launch.grid),
                size(launch.block),
                launch.shared,
                self.stream,
                parameters,
            )
        }
        .map_err(self.failed(&format!("launch `{}`", kernel.entry)))
    }
}

impl dyn Gpu + '_ {
    /// This device as a CUDA device, if it is one, for what CUDA alone can do.
    pub fn as_cuda(&self) -> Option<&Cuda> {
        self.as_any().downcast_ref()
    }
}

impl Gpu for Cuda {
    fn about(&self) -> &About {
        &self.about
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn alloc(&self, bytes: usize) -> Result<Buffer> {
        self.bind()?;
        // SAFETY: the memory is freed in `Drop`, in the same context.
        let at = unsafe { result::malloc_sync(bytes.max(1)) }
            .map_err(self.failed(&format!("reserve {bytes} bytes")))?;
        Ok(Buffer { bytes, inner: Box::new(Memory { context: Rc::clone(&self.context), at }) })
    }

    fn write(&self, to: &Buffer, bytes: &[u8]) -> Result<()> {
        self.finish()?; // patiently: the driver may wait in a copy of memory that the system can move
        // In the stream, so that it is waited for: the synchronous copy returns before the last bytes have arrived.
        self.copying(to, bytes.len(), "copy to the device", |at, stream| {
            // SAFETY: the buffer is as long as `bytes`, which live until `finish` has waited for the copy.
            unsafe { result::memcpy_htod_async(at, bytes, stream) }
        })?;
        self.finish()
    }

    fn read(&self, from: &Buffer, bytes: &mut [u8]) -> Result<()> {
        self.finish()?; // as above
        self.copying(from, bytes.len(), "copy from the device", |at, stream| {
            // SAFETY: as above.
            unsafe { result::memcpy_dtoh_async(bytes, at, stream) }
        })?;
        self.finish()
    }

    fn copy(&self, from: &Buffer, to: &Buffer, bytes: usize) -> Result<()> {
        fits(to, bytes)?;
        let to = self.address(to)?;
        self.copying(from, bytes, "copy in its memory", |from, stream| {
            // SAFETY: both buffers have so many bytes; freeing one waits for the stream.
            unsafe { result::memcpy_dtod_async(to, from, bytes, stream) }
        })
    }

    fn compile(&self, source: &str, options: &[(&str, String)], entry: &str) -> Result<Kernel> {
        self.compile_for(source, options, entry, "")
    }

    fn launch(&self, kernel: &Kernel, launch: Launch, args: &[Arg]) -> Result<()> {
        let loaded = self.kernel(kernel)?;
        if let Some(parameters) = &loaded.parameters {
            fitting(&kernel.entry, parameters, args)?;
        }
        // Every argument in eight bytes of its own; the kernel takes as many of them as its parameter has.
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(match *arg {
                Arg::Buffer(buffer) => self.address(buffer)?,
                Arg::Part { buffer, offset } => {
                    part(buffer, offset)?;
                    self.address(buffer)? + offset as u64
                }
                Arg::U32(value) => u64::from(value),
                Arg::F32(value) => u64::from(value.to_bits()),
            });
        }
        let mut parameters: Vec<*mut c_void> =
            values.iter_mut().map(|value| ptr::from_mut(value).cast()).collect();
        // SAFETY: NVIDIA's GPUs and the machines that carry them are little-endian, so that the first bytes of
        // a value are those of the smaller types. Number and sizes are checked above, where the driver tells them.
        unsafe { self.launch_raw(kernel, launch, &mut parameters) }
    }

    fn fetch(&self, from: &Buffer, bytes: usize) -> Result<Fetching> {
        self.bind()?;
        let fitting = self.hosts.borrow().iter().position(|host| host.bytes >= bytes);
        let host = if let Some(at) = fitting {
            self.hosts.borrow_mut().swap_remove(at)
        } else {
            // SAFETY: the memory is freed in `Drop`.
            let at = unsafe { result::malloc_host(bytes.max(1), 0) }
                .map_err(self.failed("lock pages of the CPU's memory"))?;
            Host { context: Rc::clone(&self.context), at: at.cast(), bytes }
        };
        // ANCHOR: fetch
        // SAFETY: so many bytes at least were allocated, and nobody else has them.
        let to = unsafe { std::slice::from_raw_parts_mut(host.at, bytes) };
        self.copying(from, bytes, "copy from the device", |at, stream| {
            // SAFETY: the buffer is as long as `to`, which is not freed before
            // the copy is over.
            unsafe { result::memcpy_dtoh_async(to, at, stream) }
        })?;
        let coming = Coming { host, bytes, mark: self.mark()? };
        // ANCHOR_END: fetch
        Ok(Fetching { inner: Box::new(coming) })
    }

    fn fetched(&self, fetching: Fetching) -> Result<Vec<u8>> {
        let coming = fetching.inner.downcast::<Coming>();
        let Coming { host, bytes, mark } =
            *coming.map_err(|_| Error::message("it was fetched from another device"))?;
        let event = self.marked(&mark)?;
        // SAFETY: the event lives as long as the mark.
        self.wait(|| unsafe { sys::cuEventQuery(event) })?;
        // SAFETY: so many bytes were copied to it.
        let found = unsafe { std::slice::from_raw_parts(host.at, bytes) }.to_vec();
        self.hosts.borrow_mut().push(host);
        Ok(found)
    }

    fn finish(&self) -> Result<()> {
        // SAFETY: the stream lives as long as `self`.
        self.wait(|| unsafe { sys::cuStreamQuery(self.stream) })
    }

    fn seconds(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        let begin = self.mark()?;
        work()?;
        let end = self.mark()?;
        self.finish()?;
        self.between(&begin, &end)
    }

    fn mark(&self) -> Result<Mark> {
        self.bind()?;
        let failed = self.failed("take the time");
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        let handle = result::event::create(flags).map_err(&failed)?;
        let event = Event { context: Rc::clone(&self.context), handle };
        // SAFETY: event and stream are of this context, and live.
        unsafe { result::event::record(handle, self.stream) }.map_err(&failed)?;
        Ok(Mark { inner: Box::new(event) })
    }

    fn between(&self, from: &Mark, to: &Mark) -> Result<f64> {
        let (from, to) = (self.marked(from)?, self.marked(to)?);
        self.bind()?;
        // SAFETY: both events live; the driver refuses those that are not over.
        let milliseconds = unsafe { result::event::elapsed(from, to) }
            .map_err(self.failed("tell the time of a mark"))?;
        Ok(f64::from(milliseconds) * 1e-3)
    }
}

/// An event, destroyed when it is dropped.
struct Event {
    context: Rc<Context>,
    handle: sys::CUevent,
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: made once, destroyed once.
            let _ = unsafe { result::event::destroy(self.handle) };
        }
    }
}
