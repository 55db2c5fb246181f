//! Rung 7: AMX, the matrix unit of newer Intel CPUs.

/// Whether this CPU and its operating system let this process use AMX tiles with bf16.
pub fn available() -> bool {
    false
}
