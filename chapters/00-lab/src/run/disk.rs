//! The disk, as what writes a run's folder sees it: `std::fs`, in which a test can let any operation fail.

use std::{cell::Cell, fs, io, panic::resume_unwind, path::Path};

/// What can happen to a run at an operation on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The disk is full from then on.
    Full,
    /// The process ends, as by SIGKILL.
    Killed,
}

thread_local! {
    /// Operations of this thread so far, and the one from which on they fail.
    static DONE: Cell<(usize, Option<(usize, Fault)>)> = const { Cell::new((0, None)) };
}

/// Lets this thread's operations fail from the `n`-th from now on. Returns how many there were since the last call.
pub fn fail(fault: Option<(usize, Fault)>) -> usize {
    DONE.replace((0, fault)).0
}

/// Counts an operation: what happens to it, if something does.
fn fault() -> Option<Fault> {
    let (done, at) = DONE.get();
    DONE.set((done + 1, at));
    at.filter(|(first, _)| done >= *first).map(|(_, fault)| fault)
}

/// The operation's end by a fault.
fn end(fault: Fault) -> io::Error {
    match fault {
        Fault::Full => io::ErrorKind::StorageFull.into(),
        Fault::Killed => resume_unwind(Box::new(Fault::Killed)), // nothing else of the run's code runs
    }
}

fn operation<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    fault().map_or_else(work, |fault| Err(end(fault)))
}

/// Moves a file, as [`fs::rename`] does.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    operation(|| fs::rename(from, to))
}

/// Removes a file, as [`fs::remove_file`] does. It needs no room.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    match fault() {
        Some(Fault::Killed) => Err(end(Fault::Killed)),
        _ => fs::remove_file(path),
    }
}

/// A file that is written.
#[derive(Debug)]
pub(crate) struct File(fs::File);

impl File {
    pub fn create(path: &Path) -> io::Result<Self> {
        operation(|| fs::File::create(path)).map(Self)
    }

    pub fn create_new(path: &Path) -> io::Result<Self> {
        operation(|| fs::File::create_new(path)).map(Self)
    }

    pub fn open(path: &Path) -> io::Result<Self> {
        fs::File::open(path).map(Self)
    }

    pub fn sync_all(&self) -> io::Result<()> {
        operation(|| self.0.sync_all())
    }
}

impl io::Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(fault) = fault() {
            let _ = self.0.write(&bytes[..bytes.len() / 2]); // what was written before there was no room
            return Err(end(fault));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
