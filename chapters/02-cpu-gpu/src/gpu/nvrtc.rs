//! NVRTC, NVIDIA's compiler as a library: CUDA C++ in, machine code for one GPU out.
//!
//! It is loaded by hand, in a version that the driver understands, from wherever [`toolkit`] finds it.
//! Source: NVRTC documentation, CUDA 13.0.

use super::toolkit::{self, Part};
use crate::{Error, Result, library};
use lab::doctor;
use libloading::Library;
use std::{
    collections::HashMap,
    env,
    ffi::{CStr, CString, c_char, c_int, c_void},
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    ptr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

type Program = *mut c_void;
/// Tells how many bytes NVRTC holds for a program.
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
/// Copies them.
type Fetch = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Texts = *const *const c_char;

library! {
    struct Functions of "NVRTC", "that of CUDA 12 or 13" {
        count_archs = "nvrtcGetNumSupportedArchs"(*mut c_int) -> c_int;
        archs = "nvrtcGetSupportedArchs"(*mut c_int) -> c_int;
        create = "nvrtcCreateProgram"(*mut Program, *const c_char, *const c_char, c_int, Texts, Texts) -> c_int;
        compile = "nvrtcCompileProgram"(Program, c_int, Texts) -> c_int;
        destroy = "nvrtcDestroyProgram"(*mut Program) -> c_int;
        log_size = "nvrtcGetProgramLogSize"(Program, *mut usize) -> c_int;
        log = "nvrtcGetProgramLog"(Program, *mut c_char) -> c_int;
        ptx_size = "nvrtcGetPTXSize"(Program, *mut usize) -> c_int;
        ptx = "nvrtcGetPTX"(Program, *mut c_char) -> c_int;
        cubin_size = "nvrtcGetCUBINSize"(Program, *mut usize) -> c_int;
        cubin = "nvrtcGetCUBIN"(Program, *mut c_char) -> c_int;
        error_string = "nvrtcGetErrorString"(c_int) -> *const c_char;
    }
}

/// Machine code that this program has compiled, by everything that it depends on.
static IMAGES: Mutex<Option<HashMap<String, Arc<[u8]>>>> = Mutex::new(None);

/// Names a folder in which machine code is kept from one program to the next, for several that measure one after the
/// other. Each file is a cubin, which `nvdisasm` reads.
const FOLDER: &str = "THROUGHPUT_KERNELS";

/// Whether the next kernels are compiled whatever is at hand.
static FRESH: AtomicBool = AtomicBool::new(false);

/// Forgets what [`Nvrtc::compile_once`] has compiled, until [`remember`]: for one who measures how long it takes.
pub fn forget() {
    *IMAGES.lock().unwrap_or_else(PoisonError::into_inner) = None;
    FRESH.store(true, Ordering::Relaxed);
}

/// From here on a kernel is compiled once again.
pub fn remember() {
    FRESH.store(false, Ordering::Relaxed);
}

/// Machine code in a file, if it is there and is some.
pub fn kept(file: &Path) -> Option<Vec<u8>> {
    fs::read(file).ok().filter(|image| image.starts_with(b"\x7fELF"))
}

/// Writes next to the file and renames, since another program may look for it. A folder that can't be written costs
/// time and nothing else.
pub fn keep(file: &Path, image: &[u8]) {
    let part = file.with_extension(format!("part{}", std::process::id()));
    let _ = fs::write(&part, image).and_then(|()| fs::rename(&part, file));
}

/// NVRTC, loaded.
pub struct Nvrtc {
    functions: Functions,
    /// A second part, which NVRTC asks the system for by name when it compiles: in a folder that the system does not
    /// know it is found because it is loaded already.
    _builtins: Vec<Library>,
    /// Folders with the headers of its toolkit; empty where only the library is installed.
    includes: Vec<PathBuf>,
    /// As it says itself.
    version: Option<String>,
}

/// How it is looked for. The packages of CUDA 12 have the number in their names, later ones have not.
pub const NVRTC: Part = Part {
    file: "nvrtc",
    asks: doctor::Library::Nvrtc,
    called: "NVRTC, which compiles CUDA kernels,",
    missing: "there is no NVRTC (libnvrtc.so), which compiles CUDA kernels; install the CUDA toolkit, or its compiler \
              alone with `pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl` for the python3 on your \
              PATH",
    other: |driver| match driver {
        ..=12 => format!("`pip install 'nvidia-cuda-nvrtc-cu{driver}'`"),
        _ => format!("`pip install 'nvidia-cuda-nvrtc=={driver}.*'`"),
    },
};

impl Nvrtc {
    /// Looks for NVRTC and loads it.
    ///
    /// # Errors
    /// A message if there is none, or none that the driver understands.
    pub fn load() -> Result<Self> {
        let found = NVRTC.load()?;
        let builtins = found.beside.iter().filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libnvrtc-builtins.so")
        });
        Ok(Self {
            // SAFETY: NVIDIA's libraries do nothing harmful when they are loaded.
            _builtins: builtins.filter_map(|path| unsafe { Library::new(path) }.ok()).collect(),
            version: found.version,
            includes: toolkit::includes(found.root.as_deref(), found.major),
            functions: Functions::of(found.library).map_err(Error::Message)?,
        })
    }

    /// What to compile for on a GPU of this compute capability: its machine code, `sm_90`. A GPU newer than this NVRTC gets
    /// PTX for the newest one before it that NVRTC knows, `compute_90`, from which the driver makes machine code. `suffix`
    /// is `a` for what one generation alone has, and no other runs.
    pub fn target(&self, (major, minor): (u32, u32), suffix: &str) -> String {
        let own = (10 * major + minor) as c_int;
        match self.known().into_iter().filter(|known| *known <= own).max() {
            Some(newest) if newest < own && suffix.is_empty() => format!("compute_{newest}"),
            _ => format!("sm_{own}{suffix}"),
        }
    }

    /// The compute capabilities that it compiles for, as `90`. None where it does not tell.
    fn known(&self) -> Vec<c_int> {
        let mut many = 0;
        // SAFETY: nvrtcResult nvrtcGetNumSupportedArchs(int *numArchs), by the manual.
        if unsafe { (self.functions.count_archs)(&raw mut many) } != 0 {
            return Vec::new();
        }
        let mut known = vec![0; many.max(0) as usize];
        // SAFETY: nvrtcResult nvrtcGetSupportedArchs(int *supportedArchs): as many as it has said.
        let status = unsafe { (self.functions.archs)(known.as_mut_ptr()) };
        if status == 0 { known } else { Vec::new() }
    }

    /// [`Nvrtc::compile`] the first time; later, what that has returned, whichever kernel of the text is asked for. A rung of
    /// the ladder is compiled for each size of a product, and nearly always the same way.
    ///
    /// # Errors
    /// As [`Nvrtc::compile`].
    pub fn compile_once(
        &self,
        source: &str,
        options: &[(&str, String)],
        entry: &str,
        target: &str,
    ) -> Result<Arc<[u8]>> {
        let defines: Vec<String> =
            options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let key = [target, &defines.join("\0"), source].join("\0\0");
        let images = || IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = images().as_ref().and_then(|images| images.get(&key)) {
            return Ok(Arc::clone(image));
        }
        let folder = env::var_os(FOLDER).filter(|_| target.starts_with("sm"));
        let file = folder.map(|folder| {
            let mut hash = DefaultHasher::new();
            (&key, &self.version).hash(&mut hash);
            PathBuf::from(folder).join(format!("{entry}-{target}-{:016x}.cubin", hash.finish()))
        });
        let at_hand = file.as_deref().filter(|_| !FRESH.load(Ordering::Relaxed)).and_then(kept);
        let image: Arc<[u8]> = if let Some(image) = at_hand {
            image.into()
        } else {
            let image = self.compile(source, options, entry, target)?.0;
            if let Some(file) = &file {
                keep(file, &image);
            }
            image.into()
        };
        images().get_or_insert_default().insert(key, Arc::clone(&image));
        Ok(image)
    }

    /// [`Nvrtc::compile`], and the compiler's words about a kernel that it takes: registers, shared memory, stack, and
    /// what makes it slower than it was written.
    ///
    /// # Errors
    /// As [`Nvrtc::compile`].
    pub fn compile(
        &self,
        source: &str,
        options: &[(&str, String)],
        entry: &str,
        target: &str,
    ) -> Result<(Vec<u8>, String)> {
        let mut flags = vec![format!("--gpu-architecture={target}"), "--std=c++17".to_owned()];
        flags.push("--ptxas-options=--verbose".to_owned());
        flags.extend(options.iter().map(|(name, value)| format!("-D{name}={value}")));
        let paths = self.includes.iter().map(|path| format!("--include-path={}", path.display()));
        flags.extend(paths);
        let zero = |_| Error::message("a kernel's source and options have no zero byte");
        let flags =
            flags.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>().map_err(zero)?;
        let flags: Vec<*const c_char> = flags.iter().map(|flag| flag.as_ptr()).collect();
        let source = CString::new(source).map_err(zero)?;
        let name = CString::new(format!("{entry}.cu")).map_err(zero)?;

        let Functions { create, compile, destroy, .. } = &self.functions;
        let mut program: Program = ptr::null_mut();
        // SAFETY: both texts end with a zero byte and outlive the call; there are no headers.
        let made = unsafe {
            create(&raw mut program, source.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null())
        };
        self.check(made, "take the source of a kernel")?;
        // SAFETY: `program` was made above; the flags outlive the call.
        let compiled = unsafe { compile(program, flags.len() as c_int, flags.as_ptr()) };
        let log = self.text(program, self.functions.log_size, self.functions.log);
        let log = log.map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default();
        let log = log.trim_end_matches(['\0', '\n']);
        let result = if compiled == 0 {
            let image = if target.starts_with("compute") {
                self.text(program, self.functions.ptx_size, self.functions.ptx)
            } else {
                self.text(program, self.functions.cubin_size, self.functions.cubin)
            };
            image.map(|image| (image, log.to_owned()))
        } else {
            Err(match compiled {
                // NVRTC_ERROR_INVALID_OPTION: it does not know this GPU.
                5 => Error::message(format!(
                    "this NVRTC does not compile for {target}; install the CUDA toolkit that fits the GPU ({log})"
                )),
                _ => Error::message(format!(
                    "the kernel `{entry}` does not compile for {target}:\n{log}"
                )),
            })
        };
        // SAFETY: made once, destroyed once.
        unsafe { destroy(&raw mut program) };
        result
    }

    /// Bytes that NVRTC holds for a program, by the two functions that tell their number and copy them.
    fn text(&self, program: Program, size: Size, copy: Fetch) -> Result<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: `program` is alive; NVRTC writes one number.
        self.check(unsafe { size(program, &raw mut bytes) }, "tell a size")?;
        let mut out = vec![0_u8; bytes];
        // SAFETY: `out` is as long as NVRTC has said.
        self.check(unsafe { copy(program, out.as_mut_ptr().cast()) }, "give its result")?;
        Ok(out)
    }

    fn check(&self, code: c_int, what: &str) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: NVRTC returns a text that lives as long as the library.
        let said = unsafe { CStr::from_ptr((self.functions.error_string)(code)) }.to_string_lossy();
        Err(Error::message(format!("NVRTC can't {what} ({said})")))
    }
}
