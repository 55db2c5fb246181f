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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::SeqCst},
        },
        time::{Duration, Instant},
    };

    /// Counts what was made, and reports when it is gone.
    struct Source {
        made: Arc<AtomicUsize>,
        gone: Arc<AtomicUsize>,
        end: usize,
    }

    impl Iterator for Source {
        type Item = Result<usize>;

        fn next(&mut self) -> Option<Result<usize>> {
            let at = self.made.fetch_add(1, SeqCst);
            (at < self.end).then_some(Ok(at))
        }
    }

    impl Drop for Source {
        fn drop(&mut self) {
            self.gone.fetch_add(1, SeqCst);
        }
    }

    fn source(end: usize) -> (Source, Arc<AtomicUsize>, Arc<AtomicUsize>) {
        let (made, gone) = (Arc::default(), Arc::default());
        (Source { made: Arc::clone(&made), gone: Arc::clone(&gone), end }, made, gone)
    }

    fn soon(mut what: impl FnMut() -> bool) -> bool {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            if what() {
                return true;
            }
            thread::sleep(Duration::from_millis(1));
        }
        false
    }

    #[test]
    fn everything_comes_in_order() {
        for queue in [0, 1, 5, 1000] {
            let (source, _, gone) = source(100);
            let mut prefetch = Prefetch::new(source, queue).unwrap();
            let all: Vec<usize> = prefetch.by_ref().map(Result::unwrap).collect();
            assert_eq!(all, (0..100).collect::<Vec<_>>());
            assert!(prefetch.next().is_none() && gone.load(SeqCst) == 1);
        }
    }

    #[test]
    fn several_threads_keep_the_order_of_one() {
        for (threads, end) in [(1, 7), (2, 7), (3, 100), (4, 2), (8, 64), (3, 0)] {
            let source = move |j| {
                (j..end).step_by(threads).map(move |at| {
                    // The first thread is the slowest.
                    thread::sleep(Duration::from_micros(if j == 0 { 300 } else { 0 }));
                    Ok(at)
                })
            };
            let mut all = Loaders::new((0..threads).map(source), 2).unwrap();
            let found: Vec<usize> = all.by_ref().map(Result::unwrap).collect();
            assert_eq!(found, (0..end).collect::<Vec<_>>(), "{threads} threads");
            assert!(all.next().is_none());
        }
        let none = Loaders::<usize>::new(Vec::<std::iter::Empty<_>>::new(), 2);
        assert!(none.unwrap().next().is_none());
    }

    #[test]
    fn the_first_error_of_several_threads_ends_them_all() {
        let source = |j| {
            (0..).map(move |at| match (j, at) {
                (1, 2) => Err(Error::Config("torn".to_owned())),
                _ => Ok(3 * at + j),
            })
        };
        let mut all = Loaders::new((0..3).map(source), 1).unwrap();
        let before: Vec<i32> = all.by_ref().take(7).map(Result::unwrap).collect();
        assert_eq!(before, (0..7).collect::<Vec<_>>());
        assert_eq!(all.next().unwrap().unwrap_err().to_string(), "torn");
        assert!(all.next().is_none()); // and would hang here if a thread did
    }

    #[test]
    fn it_stays_only_a_queue_ahead() {
        let (source, made, _) = source(1000);
        let mut prefetch = Prefetch::new(source, 3).unwrap();
        for used in 1..20 {
            prefetch.next().unwrap().unwrap();
            // Three wait in the queue, one waits in the thread's hands.
            assert!(soon(|| made.load(SeqCst) == used + 4), "{used}: {}", made.load(SeqCst));
            thread::sleep(Duration::from_millis(2));
            assert!(made.load(SeqCst) <= used + 4);
        }
    }

    #[test]
    fn an_early_end_ends_the_thread() {
        for queue in [0, 2] {
            let (source, made, gone) = source(usize::MAX);
            let mut prefetch = Prefetch::new(source, queue).unwrap();
            prefetch.next().unwrap().unwrap();
            drop(prefetch); // would hang if the thread did
            assert_eq!(gone.load(SeqCst), 1);
            assert!(made.load(SeqCst) <= queue + 3);
        }
    }

    #[test]
    fn the_first_error_is_the_last_item() {
        let items = [Ok(1), Err(Error::Config("torn".to_owned())), Ok(2)].into_iter();
        let mut prefetch = Prefetch::new(items, 2).unwrap();
        assert_eq!(prefetch.next().unwrap().unwrap(), 1);
        assert_eq!(prefetch.next().unwrap().unwrap_err().to_string(), "torn");
        assert!(prefetch.next().is_none());
    }

    #[test]
    fn a_panic_is_an_error_and_no_silent_end() {
        let items = (0..3).map(|at| if at == 2 { panic!("on purpose") } else { Ok(at) });
        let mut prefetch = Prefetch::new(items, 1).unwrap();
        assert!(prefetch.next().unwrap().is_ok() && prefetch.next().unwrap().is_ok());
        assert!(prefetch.next().unwrap().unwrap_err().to_string().contains("panicked"));
        assert!(prefetch.next().is_none());
    }
}
