//! Every kernel of every model's step, compiled by NVRTC as the course does when it runs, for three generations of GPUs. It needs
//! no GPU. None may use a stack, keep registers in memory, or let the compiler complain.

use crate::{
    code::{self, GENERATIONS},
    steps::{BATCH, models},
};
use cpu_gpu::gpu::testing::nvrtc;
use engine::{
    device::Macros, gather::GATHER, plan::Plan, program::Numbers, ranks::RANKS, record::Pass,
    rule::UPDATE, step::program,
};
use engine_gpu::{
    cast::{FORM, launches},
    kernels::{SET, text},
};

/// Text, macros and the name of a kernel, each text once for the same macros: it is compiled with all of its kernels.
fn all() -> Vec<(&'static str, Macros, &'static str)> {
    let mut all: Vec<_> =
        [SET, GATHER, UPDATE, RANKS].map(|source| (source, Vec::new(), "all")).into();
    let rules = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (4, 1)];
    let update = |(rule, some)| (UPDATE, vec![("RULE", rule), ("SPARED", some)], "update");
    all.extend(rules.map(update));
    for model in models() {
        // A large batch has larger tiles.
        for (rows, training) in [(BATCH, true), (BATCH, false), (2048, true)] {
            let pass = Pass { rows, training, numbers: Numbers::F32, adds: false };
            let program = program(&model, pass, FORM);
            let launches = launches(&program, &Plan::new(&program, false)).unwrap().all;
            let kernels = launches.into_iter().map(|planned| planned.launch);
            all.extend(kernels.map(|launch| (launch.source, launch.macros, launch.entry)));
        }
    }
    all.sort();
    all.dedup_by(|(source, macros, _), before| (*source, &*macros) == (before.0, &before.1));
    all
}

#[test]
fn every_kernel_compiles_with_nvrtc_as_the_course_does() {
    let (nvrtc, nvdisasm) = (nvrtc(), code::nvdisasm());
    let Some(nvrtc) = nvrtc else { return };
    let kernels = all();
    let jobs: Vec<_> =
        kernels.iter().flat_map(|kernel| GENERATIONS.map(|to| (kernel, to))).collect();
    let name = |((source, macros, entry), to): &(&(&str, Macros, &str), u32)| {
        format!("{} {entry} {macros:?} sm_{to}", source.len())
    };
    code::all(&jobs, name, |((source, macros, entry), to)| {
        let options: Vec<(&str, String)> =
            macros.iter().map(|(name, value)| (*name, value.to_string())).collect();
        let kernel = (&*text(source), &options[..], *entry);
        code::compiled((&nvrtc, nvdisasm.as_deref()), kernel, &format!("sm_{to}"), code::fault)
    });
}
