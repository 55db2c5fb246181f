//! The first engine: ranks are threads of one process, and messages go through channels.

use crate::{
    Communicator, Error, PointToPoint, Rank, Result,
    point_to_point::{Watch, other_length},
};
use std::{
    sync::{
        Arc, OnceLock,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

/// How long a rank waits for another before it reports it. A thread that ends is noticed at once; one that lives may be
/// slow, for instance where many ranks share few cores.
pub const PATIENCE: Duration = Duration::from_mins(5);

/// A rank that is a thread. Messages between two ranks arrive in the order in which they were sent.
#[derive(Debug)]
pub struct Threads {
    rank: Rank,
    /// To each rank.
    to: Vec<Sender<Vec<f32>>>,
    /// From each rank.
    from: Vec<Receiver<Vec<f32>>>,
    patience: Duration,
    /// The first of all that has panicked.
    lost: Arc<OnceLock<Rank>>,
}

impl Threads {
    /// `size` ranks that can talk to each other.
    pub fn ranks(size: usize) -> Vec<Self> {
        let mut to: Vec<Vec<_>> = (0..size).map(|_| Vec::new()).collect();
        let mut from: Vec<Vec<_>> = (0..size).map(|_| Vec::new()).collect();
        for sender in &mut to {
            for receiver in &mut from {
                let (send, receive) = channel();
                sender.push(send);
                receiver.push(receive);
            }
        }
        let (ways, lost) = (to.into_iter().zip(from).enumerate(), Arc::default());
        let rank = |(r, (to, from))| Self {
            rank: Rank(r),
            to,
            from,
            patience: PATIENCE,
            lost: Arc::clone(&lost),
        };
        ways.map(rank).collect()
    }

    /// This rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// How many are we?
    pub fn size(&self) -> usize {
        self.to.len()
    }

    /// This rank now waits for another at most so long before it fails with [`Error::Silent`].
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = self.lost.set(self.rank); // the first is named
        }
    }
}

/// Runs `work` on `size` threads, each with its communicator, and returns what each came to, in the order of ranks.
///
/// # Errors
/// The error that the others follow from: what a rank did wrong, then a silence, then that a rank has ended.
pub fn run<T: Send>(size: usize, work: impl Fn(Threads) -> Result<T> + Sync) -> Result<Vec<T>> {
    let results: Vec<thread::Result<Result<T>>> = thread::scope(|scope| {
        let ranks = Threads::ranks(size).into_iter();
        let threads: Vec<_> = ranks.map(|rank| scope.spawn(|| work(rank))).collect();
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    together(results)
}

/// What all ranks came to, in their order.
///
/// # Errors
/// As [`run`].
pub fn together<T>(results: Vec<thread::Result<Result<T>>>) -> Result<Vec<T>> {
    let (mut done, mut errors) = (Vec::new(), Vec::new());
    for (rank, result) in results.into_iter().enumerate() {
        match result {
            Ok(Ok(value)) => done.push(value),
            Ok(Err(error)) => {
                let follows = match error {
                    Error::Lost { .. } => 2,
                    Error::Silent { .. } | Error::Stuck { .. } => 1,
                    _ => 0,
                };
                errors.push((follows, error));
            }
            Err(_) => {
                errors.push((0, Error::Lost { rank: Rank(rank), why: "it panicked".into() }));
            }
        }
    }
    let first = errors.into_iter().min_by_key(|(follows, _)| *follows);
    first.map_or(Ok(done), |(_, error)| Err(error))
}

impl PointToPoint for Threads {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        let gone = |_| Error::Lost { rank: to, why: "its thread has ended".into() };
        self.to[to.0].send(data.to_vec()).map_err(gone)
    }

    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        let got = self.from[from.0].recv_timeout(self.patience).map_err(|error| match error {
            RecvTimeoutError::Disconnected => {
                Error::Lost { rank: from, why: "its thread has ended".into() }
            }
            RecvTimeoutError::Timeout => {
                Error::Silent { rank: from, seconds: self.patience.as_secs_f64() }
            }
        })?;
        if got.len() != data.len() {
            return Err(other_length((from, got.len()), (self.rank, data.len())));
        }
        data.copy_from_slice(&got);
        Ok(())
    }

    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        self.send(to, send)?; // a channel takes any amount at once
        self.receive(from, receive)
    }

    /// Who waits elsewhere, as for a sum on GPUs, hears of a panic.
    fn watch(&self) -> Option<Watch> {
        let lost = Arc::clone(&self.lost);
        let panicked = |rank: &Rank| Error::Lost { rank: *rank, why: "it panicked".into() };
        Some(Box::new(move || lost.get().map_or(Ok(()), |rank| Err(panicked(rank)))))
    }
}

impl Communicator for Threads {}
