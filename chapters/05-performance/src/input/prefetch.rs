//! Prefetch: threads make batches while another one uses them, with a queue of bounded length between the two.

use crate::{Error, Result};
use std::{
    sync::mpsc::{Receiver, sync_channel},
    thread::{self, JoinHandle},
};

/// Batches that a thread makes ahead of time. It is an iterator; when it is dropped, the thread ends.
pub struct Prefetch<T> {
    batches: Option<Receiver<Result<T>>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Prefetch<T> {
    // ANCHOR: prefetch
    /// Starts a thread that makes the items of `source`, at most `queue` ahead
    /// and one in its hands. The first error is the last item.
    ///
    /// # Errors
    /// [`Error::Config`] if the system starts no thread.
    pub fn new<I>(source: I, queue: usize) -> Result<Self>
    where
        I: Iterator<Item = Result<T>> + Send + 'static,
    {
        let (send, batches) = sync_channel(queue);
        let work = move || {
            for item in source {
                let last = item.is_err();
                // Waits while the queue is full: backpressure. No receiver
                // any more: then there is nothing left to do.
                if send.send(item).is_err() || last {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("prefetch".into()).spawn(work);
        let thread = thread.map_err(|e| no_thread(&e))?;
        Ok(Self { batches: Some(batches), thread: Some(thread) })
    }
    // ANCHOR_END: prefetch
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::Config(format!("the system starts no thread ({error}); use no prefetch"))
}

impl<T> Iterator for Prefetch<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let item = self.batches.as_ref()?.recv();
        if let Ok(item) = item {
            return Some(item);
        }
        // The thread is over: it came to the end, or it panicked.
        self.batches = None;
        let ended = self.thread.take().map(JoinHandle::join);
        matches!(ended, Some(Err(_))).then(|| {
            Err(Error::Config(
                "the thread that reads the data panicked; its message is above".to_owned(),
            ))
        })
    }
}

// ANCHOR: drop
impl<T> Drop for Prefetch<T> {
    fn drop(&mut self) {
        // First the receiver, so that a thread that waits in `send` wakes up;
        // then the thread. The other way round both would wait forever.
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic was reported where it happened
        }
    }
}
// ANCHOR_END: drop

/// Batches that several threads make ahead of time, in the order of one.
pub struct Loaders<T> {
    threads: Vec<Prefetch<T>>,
    turn: usize,
}

impl<T: Send + 'static> Loaders<T> {
    /// A thread and a queue for each source: of w sources, source j makes the
    /// items j, j + w, j + 2w, …
    ///
    /// # Errors
    /// As [`Prefetch::new`].
    pub fn new<I>(sources: impl IntoIterator<Item = I>, queue: usize) -> Result<Self>
    where
        I: Iterator<Item = Result<T>> + Send + 'static,
    {
        let start = |source| Prefetch::new(source, queue);
        let threads = sources.into_iter().map(start).collect::<Result<_>>()?;
        Ok(Self { threads, turn: 0 })
    }
}

// ANCHOR: turns
impl<T> Iterator for Loaders<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        // In turn, not from whichever thread is ready first.
        let item = self.threads.get_mut(self.turn)?.next();
        self.turn = (self.turn + 1) % self.threads.len();
        if !matches!(item, Some(Ok(_))) {
            self.threads.clear(); // the end, or the first error
        }
        item
    }
}
// ANCHOR_END: turns
