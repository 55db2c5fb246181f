//! NVRTC, NVIDIA's compiler as a library: CUDA C++ in, machine code for one GPU out.
//!
//! It is loaded by hand, because its file has another name for each version of CUDA, and because it may lie
//! in the folder of a Python package. Source: NVRTC documentation, CUDA 13.0.

use crate::{Error, Result};
use libloading::Library;
use std::{
    env,
    ffi::{CStr, CString, c_char, c_int, c_void},
    fs,
    path::{Path, PathBuf},
    ptr,
};

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;

/// NVRTC, loaded.
pub struct Nvrtc {
    library: Library,
}

const INSTALL: &str = "install the CUDA toolkit, or its compiler alone with `pip install nvidia-cuda-nvrtc \
                       nvidia-cuda-runtime nvidia-cuda-cccl`, and set LD_LIBRARY_PATH to the folder that holds libnvrtc";

/// Folders in which parts of a CUDA toolkit may lie: named by the environment first.
pub fn toolkits() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT"]
        .iter()
        .filter_map(|name| env::var_os(name).map(PathBuf::from))
        .collect();
    roots.push("/usr/local/cuda".into());
    // Python's packages lie beside those of LD_LIBRARY_PATH: …/nvidia/cu13/lib.
    for folder in env::var_os("LD_LIBRARY_PATH").iter().flat_map(env::split_paths) {
        roots.extend(folder.parent().map(Path::to_owned));
    }
    roots.retain(|root| root.is_dir());
    roots.dedup();
    roots
}

/// The files that may be a library of the toolkit, such as `nvrtc`: names that the system looks up, then files
/// in the folders of [`toolkits`].
pub fn candidates(name: &str) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        ["", ".13", ".12"].iter().map(|end| format!("lib{name}.so{end}").into()).collect();
    for root in toolkits() {
        for folder in ["lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"] {
            let files = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
            let start = format!("lib{name}.so");
            names.extend(files.map(|file| file.path()).filter(|path| {
                path.file_name().is_some_and(|f| f.to_string_lossy().starts_with(&start))
            }));
        }
    }
    names
}

/// The first of [`candidates`] that loads.
pub fn load(name: &str) -> Option<Library> {
    // SAFETY: NVIDIA's libraries do nothing harmful when they are loaded.
    candidates(name).iter().find_map(|path| unsafe { Library::new(path) }.ok())
}

impl Nvrtc {
    /// Looks for NVRTC and loads it.
    ///
    /// # Errors
    /// A sentence if there is none.
    pub fn load() -> Result<Self> {
        match load("nvrtc") {
            Some(library) => Ok(Self { library }),
            None => Err(Error::message(format!(
                "there is no NVRTC (libnvrtc.so), which compiles CUDA kernels; {INSTALL}"
            ))),
        }
    }

    /// A function of the library.
    fn call<F: Copy>(&self, name: &str) -> Result<F> {
        // SAFETY: `F` is the function's type by NVRTC's manual, stated where it is called.
        unsafe { self.library.get::<F>(name.as_bytes()) }.map(|symbol| *symbol).map_err(|_| {
            Error::message(format!(
                "this NVRTC has no {name}; the course needs that of CUDA 12 or 13"
            ))
        })
    }

    /// Compiles `source` for `target`, such as `sm_90`. Returns a cubin.
    ///
    /// # Errors
    /// The compiler's words, or a sentence.
    pub fn compile(
        &self,
        source: &str,
        options: &[(&str, String)],
        entry: &str,
        target: &str,
    ) -> Result<Vec<u8>> {
        let mut flags = vec![format!("--gpu-architecture={target}"), "--std=c++17".to_owned()];
        flags.extend(options.iter().map(|(name, value)| format!("-D{name}={value}")));
        for root in toolkits() {
            for folder in ["include", "include/cccl", "targets/x86_64-linux/include"] {
                let folder = root.join(folder);
                if folder.is_dir() {
                    flags.push(format!("--include-path={}", folder.display()));
                }
            }
        }
        let zero = |_| Error::message("a kernel's source and options have no zero byte");
        let flags =
            flags.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>().map_err(zero)?;
        let flags: Vec<*const c_char> = flags.iter().map(|flag| flag.as_ptr()).collect();
        let source = CString::new(source).map_err(zero)?;
        let name = CString::new(format!("{entry}.cu")).map_err(zero)?;

        let create: Create = self.call("nvrtcCreateProgram")?;
        let compile: Compile = self.call("nvrtcCompileProgram")?;
        let destroy: Destroy = self.call("nvrtcDestroyProgram")?;

        let mut program: Program = ptr::null_mut();
        // SAFETY: both texts end with a zero byte and outlive the call; there are no headers.
        let made = unsafe {
            create(&raw mut program, source.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null())
        };
        self.check(made, "take the source of a kernel")?;
        // SAFETY: `program` was made above; the flags outlive the call.
        let compiled = unsafe { compile(program, flags.len() as c_int, flags.as_ptr()) };
        let result = if compiled == 0 {
            self.text(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")
        } else {
            let log = self.text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog");
            let log = log.map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default();
            let log = log.trim_end_matches(['\0', '\n']);
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
    fn text(&self, program: Program, size: &str, copy: &str) -> Result<Vec<u8>> {
        let size: unsafe extern "C" fn(Program, *mut usize) -> c_int = self.call(size)?;
        let copy: unsafe extern "C" fn(Program, *mut c_char) -> c_int = self.call(copy)?;
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
        let said: unsafe extern "C" fn(c_int) -> *const c_char =
            self.call("nvrtcGetErrorString")?;
        // SAFETY: NVRTC returns a text that lives as long as the library.
        let said = unsafe { CStr::from_ptr(said(code)) }.to_string_lossy().into_owned();
        Err(Error::message(format!("NVRTC can't {what} ({said})")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_for_every_version_by_name() {
        let names = candidates("nvrtc");
        for name in ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"] {
            assert!(names.contains(&PathBuf::from(name)), "{names:?}");
        }
    }

    #[test]
    fn compiles_or_says_what_is_missing() {
        match Nvrtc::load() {
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("libnvrtc") && error.contains("install"), "{error}");
            }
            Ok(nvrtc) => {
                let source = "extern \"C\" __global__ void f(float *x) { x[threadIdx.x] = SOME; }";
                let options = [("SOME", "2.0f".to_owned())];
                let image = nvrtc.compile(source, &options, "f", "sm_90").unwrap();
                assert_eq!(image[..4], *b"\x7fELF");
                let error = nvrtc.compile(source, &[], "f", "sm_90").unwrap_err().to_string();
                assert!(
                    error.contains("`f` does not compile") && error.contains("SOME"),
                    "{error}"
                );
                let error = nvrtc.compile(source, &options, "f", "sm_10").unwrap_err().to_string();
                assert!(error.contains("does not compile for sm_10"), "{error}");
            }
        }
    }
}
