//! Every kernel of the chapter, compiled by NVRTC as the course does when it runs, for three generations of GPUs and the size of
//! a head that all models of the course have. It needs no GPU. None may use a stack, keep registers in memory, or let the compiler complain.
//!
//! Where there is no compiler the test is skipped; `tools/cuda/compile.sh` gets one without root and runs this.

use crate::code::{self, GENERATIONS};
use cpu_gpu::gpu::testing::nvrtc;
use language_model::{Config, gpu::kernels::ALL};

#[test]
fn every_kernel_compiles_with_nvrtc_as_the_course_does() {
    let (nvrtc, nvdisasm) = (nvrtc(), code::nvdisasm());
    let Some(nvrtc) = nvrtc else { return };
    let jobs: Vec<_> = ALL.iter().flat_map(|kernel| GENERATIONS.map(|to| (*kernel, to))).collect();
    let name = |((_, entry, _), to): &((&str, &str, bool), u32)| format!("{entry} sm_{to}");
    let options = [("HEAD", Config::tiny().head().to_string())];
    code::all(&jobs, name, |((source, entry, _), to)| {
        let kernel = (*source, &options[..], *entry);
        code::compiled((&nvrtc, nvdisasm.as_deref()), kernel, &format!("sm_{to}"), code::fault)
    });
}
