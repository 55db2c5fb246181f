//! What the heap does with memory that a program gives back, and what fresh memory costs.
//!
//! A training step frees all that it made on its way forward, and the next one asks for the same again. glibc hands
//! what lies free at the heap's end to the system once it is more than twice the largest piece that the program has
//! freed so far (of those up to 32 MiB), and the next step gets it anew: page by page, each with a fault and filled
//! with zeros. That is so for the heap of the main thread, on which a training runs; other threads have smaller ones,
//! which go back when they are empty. Source: mallopt(3), `M_MMAP_THRESHOLD` and `M_TRIM_THRESHOLD`.

crate::named! {
    /// What becomes of memory that a program has freed.
    pub enum Freed("freed") {
        /// More than 2 MiB at the heap's end goes back to the system: what glibc comes to by itself, when the largest piece
        /// that a program has freed has 1 MiB.
        Returned = "returned",
        /// All stays with the program, as far as the main thread frees it.
        Kept = "kept",
    }
}

/// Tells the heap of this process what to do with freed memory; whether it listens. Other C libraries than glibc have
/// rules of their own, and stay as they are.
pub fn set(freed: Freed) -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // ANCHOR: set
    {
        let end = match freed {
            Freed::Returned => 2 << 20,
            Freed::Kept => -1, // never
        };
        // Larger pieces come from the system one by one. glibc takes
        // 32 MiB at most.
        let alone = 32 << 20;
        // SAFETY: mallopt only sets numbers of the allocator, under its lock.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, alone) == 1
                && libc::mallopt(libc::M_TRIM_THRESHOLD, end) == 1
        }
    }
    // ANCHOR_END: set
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    {
        let _ = freed;
        false
    }
}

/// Pages that the system had to give this process so far; none where they are not counted: without Linux's `/proc`, and
/// in sandboxes that say 0.
pub fn page_faults() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the program's name, ends with the last parenthesis; minor faults are the tenth.
    stat.rsplit_once(')')?.1.split_whitespace().nth(7)?.parse().ok().filter(|count| *count > 0.0)
}
