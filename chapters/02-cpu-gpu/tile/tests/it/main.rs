//! What holds without a card: `CUDA_TOOLKIT_PATH` names a toolkit with `tileiras`, `nvdisasm` and `cuobjdump`
//! (`tools/cuda/toolkit.sh DIR --tile` gets one).

mod exercises;
mod interpreted;
mod launches;
mod machine_code;
mod programs;
mod references;

use std::sync::OnceLock;
use tile::{
    catalog::Kernel,
    code::Code,
    library::{Compiled, HINTS, compile},
};

/// The generations that are looked at: Ampere, Hopper, and Blackwell's large and small chips.
const TARGETS: [&str; 4] = ["sm_80", "sm_90", "sm_100", "sm_120"];

struct Entry {
    kernel: Kernel,
    compiled: Compiled,
    code: Code,
}

impl Entry {
    fn new(kernel: Kernel, target: &str) -> Self {
        let compiled = compile(&kernel, target, HINTS).unwrap();
        let code = Code::read(&compiled.cubin).unwrap();
        Self { kernel, compiled, code }
    }
}

/// All kernels for a generation, compiled once for all tests.
fn table(target: &str) -> &'static [Entry] {
    static TABLES: [OnceLock<Vec<Entry>>; 4] = [const { OnceLock::new() }; 4];
    let at = TARGETS.iter().position(|name| *name == target).unwrap();
    TABLES[at].get_or_init(|| Kernel::all(target, 1024).map(|k| Entry::new(k, target)).collect())
}

fn product(tile: &str) -> Kernel {
    Kernel::new("product", &tile.split(' ').collect::<Vec<_>>(), [1024; 3]).unwrap()
}
