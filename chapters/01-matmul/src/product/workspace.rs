//! Memory for packed blocks: each thread keeps its own and uses it again, so that a product allocates nothing
//! after its first call.

use std::cell::Cell;

/// A page: a packed block that starts on one crosses as few of them as it can.
pub const ALIGN: usize = 4096;

/// Uninitialised bytes with a page among them to start on.
#[derive(Debug, Default)]
pub struct Buffer(Vec<u8>);

impl Buffer {
    /// The first of at least `bytes` bytes, aligned to a page; what they held before may be lost.
    pub fn at_least(&mut self, bytes: usize) -> *mut u8 {
        if self.0.capacity() < bytes + ALIGN {
            self.0 = Vec::new(); // the old one goes first
            self.0.reserve_exact(bytes + ALIGN);
        }
        let start = self.0.as_mut_ptr();
        start.wrapping_add(start.align_offset(ALIGN))
    }
}

/// Two buffers: one for blocks of A, one for blocks of B.
#[derive(Debug, Default)]
pub struct Workspace {
    /// For blocks of A.
    pub a: Buffer,
    /// For blocks of B.
    pub b: Buffer,
}

thread_local! {
    static MINE: Cell<Workspace> = Cell::default();
}

/// Lends this thread's workspace to `work`.
pub fn with<R>(work: impl FnOnce(&mut Workspace) -> R) -> R {
    let mut mine = MINE.take();
    let result = work(&mut mine);
    MINE.set(mine);
    result
}
