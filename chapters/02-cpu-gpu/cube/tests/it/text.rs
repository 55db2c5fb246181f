//! What CubeCL writes: the barriers and multiplications of the kernels, in each language.

use crate::clients;
use cube::{kernels::TILE, product::Kernel, text};

/// Barriers, and multiplications that are written out: the naive kernel has one, in a loop.
const EXPECTED: [(Kernel, usize, usize); 3] =
    [(Kernel::Naive, 0, 1), (Kernel::Tiled, 2, TILE), (Kernel::NoBarrierBefore, 1, TILE)];

#[test]
fn wgsl_has_the_barriers_of_the_kernel_and_its_multiplications() {
    for client in clients(|_| true) {
        for (kernel, barriers, multiplications) in EXPECTED {
            let text = text::wgsl(&client, kernel).unwrap();
            let count = |word: &str| text.matches(word).count();
            assert_eq!(count("workgroupBarrier()"), barriers, "{text}");
            assert_eq!(count("fma("), multiplications, "{text}");
        }
    }
}

#[cfg(feature = "cuda-text")]
mod cuda {
    use super::*;
    use crate::need;
    use cudarc::nvrtc::{result, sys};
    use std::ffi::CString;

    /// What `ptxas` says of the text's machine code for a Hopper GPU.
    fn compile(text: &str, toolkit: &str) -> Result<String, String> {
        let options = [
            "--gpu-architecture=sm_90",
            "--ptxas-options=--verbose",
            &format!("--include-path={toolkit}/include"),
        ];
        let text = CString::new(text).unwrap();
        let program = result::create_program(&text, None).map_err(|e| e.to_string())?;
        // SAFETY: the program was made above, and is destroyed once, after its last use.
        let (compiled, log) = unsafe {
            let compiled = result::compile_program(program, &options);
            let log = result::get_program_log(program).unwrap_or_default();
            result::destroy_program(program).map_err(|e| e.to_string())?;
            (compiled, log)
        };
        let log = log.iter().map(|byte| char::from(*byte as u8)).collect::<String>();
        compiled.map(|()| log.clone()).map_err(|error| format!("{error}: {log}"))
    }

    #[test]
    fn nvrtc_compiles_the_cuda_text_without_a_stack() {
        // SAFETY: NVIDIA's library does nothing harmful when it is loaded.
        let found = unsafe { sys::is_culib_present() };
        let toolkit = std::env::var("CUDA_PATH").ok().filter(|_| found);
        let why =
            "no NVRTC; `eval \"$(tools/cuda/toolkit.sh DIR --compile-only --checks)\"` gets it";
        let Some(toolkit) = need("NVRTC", toolkit.ok_or_else(|| why.to_owned())) else { return };
        for client in clients(|_| true) {
            for (kernel, barriers, _) in EXPECTED {
                let text = text::cuda(&client, kernel).unwrap();
                assert_eq!(text.matches("__syncthreads()").count(), barriers, "{text}");
                let said = compile(&text, &toolkit).unwrap_or_else(|said| panic!("{said}\n{text}"));
                assert!(said.contains("0 bytes stack frame"), "{said}");
                eprintln!("{kernel:?}: {said}");
            }
        }
    }
}
