use lab::testing::soon;
use performance::{
    Error, Result,
    input::prefetch::{Loaders, Prefetch},
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

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
        soon("the thread makes the next", || made.load(SeqCst) == used + 4);
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
