//! A core for each rank, as `mpirun --bind-to core` gives one to each process.

use crate::Rank;
#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps the calling thread on one of the cores that this process may use, the same one for the same rank; with more
/// ranks than cores, some share one. Threads that it starts afterwards also stay there. False where the system has no
/// such call or refuses it: then the thread runs wherever the system puts it.
// ANCHOR: keep_to_core
#[cfg(target_os = "linux")]
pub fn keep_to_core(rank: Rank) -> bool {
    let Ok(ours) = sched_getaffinity(None) else { return false };
    let allowed = |core: &usize| ours.is_set(*core);
    let cores: Vec<_> = (0..CpuSet::MAX_CPU).filter(allowed).collect();
    let Some(core) = cores.get(rank.0 % cores.len().max(1)) else {
        return false;
    };
    let mut one = CpuSet::new();
    one.set(*core);
    sched_setaffinity(None, &one).is_ok()
}
// ANCHOR_END: keep_to_core

/// Keeps the calling thread on one core, where the system has a call for that; here it has none.
#[cfg(not(target_os = "linux"))]
pub fn keep_to_core(_: Rank) -> bool {
    false
}
