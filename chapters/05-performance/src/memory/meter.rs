//! A meter of memory: every allocation of the program passes through it and is counted.
//!
//! It counts what the program asks for. The system may give pages later, when they are first written, and an allocator
//! keeps some for itself; so this is the memory that the program needs, not the number that `top` shows.
//!
//! The meter is declared here, once: every program that links this crate (the course's command, a test, a notebook's
//! cell) has it. Two additions for each allocation are little next to the allocation.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicIsize, Ordering::Relaxed},
    },
};

/// Bytes that are allocated now. A thread may free what was allocated before the program began to count, so the number
/// has a sign.
static CURRENT: AtomicIsize = AtomicIsize::new(0);
/// Bytes of those alone that begin at a cache line: an engine's buffers.
static BUFFERS: AtomicIsize = AtomicIsize::new(0);
/// The highest value of [`CURRENT`] since the last scope began.
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// Bytes of a cache line.
const LINE: usize = 64;

// ANCHOR: meter
/// The system's allocator, and a count of what passes through it.
pub struct Meter;

fn count(bytes: isize, align: usize) {
    let now = CURRENT.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(now, Relaxed);
    if align == LINE {
        BUFFERS.fetch_add(bytes, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Meter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize, layout.align());
        // SAFETY: the caller's promise is the one that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize), layout.align());
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
    // ANCHOR_END: meter

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize, layout.align());
        // SAFETY: as above. The system knows pages that are zero already.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize, layout.align());
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static METER: Meter = Meter;

/// One scope at a time: there is one peak.
static TURN: Mutex<()> = Mutex::new(());

/// A stretch of the program whose memory is measured, in bytes above what was there when it began.
///
/// The whole program is counted, so no other thread should allocate at the same time. A second scope waits until the
/// first is dropped.
///
/// ```
/// use performance::memory::meter::Scope;
/// let scope = Scope::begin();
/// let numbers = std::hint::black_box(vec![0.0_f32; 1000]);
/// drop(numbers);
/// assert!(scope.peak() >= 4000 && scope.now() < 4000);
/// ```
pub struct Scope {
    start: isize,
    buffers: isize,
    _turn: MutexGuard<'static, ()>,
}

impl Scope {
    /// Begins to measure.
    pub fn begin() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let start = CURRENT.load(Relaxed);
        PEAK.store(start, Relaxed);
        Self { start, buffers: BUFFERS.load(Relaxed), _turn: turn }
    }

    /// The most bytes that were allocated at a time since the scope began, or since [`Scope::reset`].
    pub fn peak(&self) -> u64 {
        (PEAK.load(Relaxed) - self.start).max(0) as u64
    }

    /// Bytes that are allocated now and were not when the scope began.
    pub fn now(&self) -> u64 {
        (CURRENT.load(Relaxed) - self.start).max(0) as u64
    }

    /// [`Scope::now`], of what begins at a cache line: buffers of an engine, and none of its lists.
    pub fn buffers(&self) -> u64 {
        (BUFFERS.load(Relaxed) - self.buffers).max(0) as u64
    }

    /// Forgets the peak so far. What was there when the scope began still counts as nothing.
    pub fn reset(&self) {
        PEAK.store(CURRENT.load(Relaxed), Relaxed);
    }
}

/// What `work` gives, and the peak of memory while it ran.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let scope = Scope::begin();
    let value = work();
    (value, scope.peak())
}
