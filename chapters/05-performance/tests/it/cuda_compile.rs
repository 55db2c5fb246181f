//! Every kernel of the chapter, compiled by NVRTC as the course does when it runs, for three generations of GPUs. It needs
//! no GPU. None may use a stack, keep registers in memory, or let the compiler complain.
//!
//! Where there is no compiler the test is skipped; `tools/cuda/compile.sh` gets one without root and runs this.

use crate::code::{self, GENERATIONS};
use cpu_gpu::gpu::testing::nvrtc;
use performance::gpu::kernels::ALL;

#[test]
fn every_kernel_compiles_with_nvrtc_as_the_course_does() {
    let (nvrtc, nvdisasm) = (nvrtc(), code::nvdisasm());
    let Some(nvrtc) = nvrtc else { return };
    let jobs: Vec<_> = ALL.iter().flat_map(|v| GENERATIONS.map(|to| (v, to))).collect();
    let name = |(variant, to): &(&performance::gpu::kernels::Variant, u32)| {
        format!("{} {:?} sm_{to}", variant.entry, variant.defines)
    };
    code::all(&jobs, name, |(variant, to)| {
        let kernel = (variant.source, &variant.options()[..], variant.entry);
        // An operation of `unfused.cl` need not look at both of its numbers.
        let judge = |words: &str| {
            let counts = |line: &&str| !line.contains("#177-D") && !line.contains("-diag-suppress");
            code::fault(&words.lines().filter(counts).collect::<Vec<_>>().join("\n"))
        };
        code::compiled((&nvrtc, nvdisasm.as_deref()), kernel, &format!("sm_{to}"), judge)
    });
}
