//! Every kernel of every model's step, compiled by NVRTC as the course does when it runs, for three generations of GPUs. It needs
//! no GPU. None may use a stack, keep registers in memory, or let the compiler complain.

use crate::{
    code::{self, GENERATIONS},
    steps::{BATCH, models},
};
use cpu_gpu::gpu::testing::nvrtc;
use engine::{
    device::Macros,
    plan::Plan,
    program::Numbers,
    ranks::RANKS,
    record::Pass,
    rule::UPDATE,
    step::{GATHER, program},
};
use engine_gpu::{
    cast::{FORM, launches},
    kernels::{SET, text},
};

/// The kernels of a text.
fn entries(source: &'static str) -> impl Iterator<Item = &'static str> {
    let kernels = source.split("KERNEL ").skip(1);
    kernels.filter_map(|kernel| kernel.split_once(" void ")?.1.split('(').next())
}

/// Text, name and macros of all kernels, each once.
fn all() -> Vec<(&'static str, &'static str, Macros)> {
    let mut all = Vec::new();
    for source in [SET, GATHER, UPDATE, RANKS] {
        let plain = entries(source).filter(|entry| *entry != "update");
        all.extend(plain.map(|entry| (source, entry, Vec::new())));
    }
    let rules = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (4, 1)];
    let update = |(rule, some)| (UPDATE, "update", vec![("RULE", rule), ("SPARED", some)]);
    all.extend(rules.map(update));
    for model in models() {
        // A large batch has larger tiles.
        for (rows, training) in [(BATCH, true), (BATCH, false), (2048, true)] {
            let pass = Pass { rows, training, numbers: Numbers::F32, adds: false };
            let program = program(&model, pass, FORM);
            let launches = launches(&program, &Plan::new(&program, false)).unwrap().all;
            let kernels = launches.into_iter().map(|planned| planned.launch);
            all.extend(kernels.map(|launch| (launch.source, launch.entry, launch.macros)));
        }
    }
    all.sort();
    all.dedup();
    all
}

#[test]
fn every_kernel_compiles_with_nvrtc_as_the_course_does() {
    let (nvrtc, nvdisasm) = (nvrtc(), code::nvdisasm());
    let Some(nvrtc) = nvrtc else { return };
    let kernels = all();
    let jobs: Vec<_> =
        kernels.iter().flat_map(|kernel| GENERATIONS.map(|to| (kernel, to))).collect();
    let name = |((source, entry, macros), to): &(&(&str, &str, Macros), u32)| {
        format!("{} {entry} {macros:?} sm_{to}", source.len())
    };
    code::all(&jobs, name, |((source, entry, macros), to)| {
        let options: Vec<(&str, String)> =
            macros.iter().map(|(name, value)| (*name, value.to_string())).collect();
        let kernel = (&*text(source), &options[..], *entry);
        code::compiled((&nvrtc, nvdisasm.as_deref()), kernel, &format!("sm_{to}"), code::fault)
    });
}
