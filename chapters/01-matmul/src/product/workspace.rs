//! Memory for packed blocks: each thread keeps its own and uses it again, so that a product allocates nothing
//! after its first call.

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    cell::Cell,
    ptr::NonNull,
};

/// A page: a packed block that starts on one crosses as few of them as it can.
pub const ALIGN: usize = 4096;

/// Uninitialised bytes that start on a page.
#[derive(Debug, Default)]
pub struct Buffer(Option<(NonNull<u8>, Layout)>);

// SAFETY: a buffer owns its bytes alone.
unsafe impl Send for Buffer {}
// SAFETY: a shared buffer can only be read, and only by those who know what it holds.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// The first of at least `bytes` bytes, aligned to a page; what they held before may be lost.
    pub fn at_least(&mut self, bytes: usize) -> *mut u8 {
        if let Some((start, layout)) = self.0
            && layout.size() >= bytes
        {
            return start.as_ptr();
        }
        *self = Self::default();
        let layout =
            Layout::from_size_align(bytes.max(ALIGN), ALIGN).expect("less than isize::MAX");
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        self.0 = Some((start, layout));
        start.as_ptr()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some((start, layout)) = self.0.take() {
            // SAFETY: allocated in `at_least` with this layout.
            unsafe { dealloc(start.as_ptr(), layout) }
        }
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
