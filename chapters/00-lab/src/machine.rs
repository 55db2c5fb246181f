//! Which machine a record comes from.

use serde::{Deserialize, Serialize};

/// A machine, as `machine.json` keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU's model name.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Instruction sets that the course has a path for: `avx2`, `fma`, `avx512f`, `amx-bf16`, …
    pub features: Vec<String>,
    /// Memory in bytes.
    pub memory: u64,
    /// The operating system and its kernel.
    pub os: String,
    /// The GPUs, by name.
    pub gpus: Vec<String>,
    /// The NVIDIA driver's version, if there is one.
    pub driver: Option<String>,
    /// The CUDA toolkit's version, if there is one.
    pub cuda: Option<String>,
}

impl Machine {
    /// What this machine is.
    pub fn detect() -> Self {
        Self::default()
    }
}
