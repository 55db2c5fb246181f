//! Memory for packed blocks: each thread keeps its own and uses it again, so that a product allocates nothing
//! after its first call.

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    cell::Cell,
    ptr::NonNull,
};

/// A page: a packed block that starts on one crosses as few of them as it can.
const ALIGN: usize = 4096;

/// Uninitialised bytes that start on a page.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Option<(NonNull<u8>, Layout)>);

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
pub(crate) struct Workspace {
    /// For blocks of A.
    pub a: Buffer,
    /// For blocks of B.
    pub b: Buffer,
}

thread_local! {
    static MINE: Cell<Workspace> = Cell::default();
}

/// Lends this thread's workspace to `work`.
pub(crate) fn with<R>(work: impl FnOnce(&mut Workspace) -> R) -> R {
    let mut mine = MINE.take();
    let result = work(&mut mine);
    MINE.set(mine);
    result
}

#[cfg(test)]
mod tests {
    use super::{ALIGN, Buffer, with};

    #[test]
    fn a_buffer_grows_and_stays_on_a_page() {
        let mut buffer = Buffer::default();
        let first = buffer.at_least(10_000);
        assert_eq!(first as usize % ALIGN, 0);
        assert_eq!(buffer.at_least(10), first);
        let larger = buffer.at_least(1_000_000);
        assert_eq!(larger as usize % ALIGN, 0);
        // SAFETY: the buffer has a million bytes.
        unsafe {
            larger.add(999_999).write(7);
            assert_eq!(buffer.at_least(999_999).add(999_999).read(), 7);
        }
    }

    #[test]
    fn a_thread_gets_its_memory_again() {
        let first = with(|space| space.a.at_least(5000));
        assert_eq!(with(|space| space.a.at_least(4000)), first);
        let other = std::thread::spawn(|| with(|space| space.a.at_least(5000)) as usize);
        assert_ne!(other.join().ok(), Some(first as usize));
    }
}
