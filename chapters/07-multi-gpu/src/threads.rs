//! The first engine: ranks are threads of one process, and messages go through channels.

use crate::{Communicator, Error, Rank, Result, communicator::part_of};
use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

/// How long a rank waits for another before it says so.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A rank that is a thread. Messages between two ranks arrive in the order in which they were sent.
#[derive(Debug)]
pub struct Threads {
    rank: Rank,
    /// To each rank.
    to: Vec<Sender<Vec<f32>>>,
    /// From each rank.
    from: Vec<Receiver<Vec<f32>>>,
    patience: Duration,
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
        let ways = to.into_iter().zip(from).enumerate();
        ways.map(|(r, (to, from))| Self { rank: Rank(r), to, from, patience: PATIENCE }).collect()
    }
}

/// Runs `work` on `size` threads, each with its communicator, and returns what each came to, in the order of ranks.
///
/// # Errors
/// The error of the rank that failed first of all: others fail because of it.
pub fn run<T: Send>(size: usize, work: impl Fn(Threads) -> Result<T> + Sync) -> Result<Vec<T>> {
    let results: Vec<thread::Result<Result<T>>> = thread::scope(|scope| {
        let ranks = Threads::ranks(size).into_iter();
        let threads: Vec<_> = ranks.map(|rank| scope.spawn(|| work(rank))).collect();
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let mut done = Vec::new();
    let mut first: Option<Error> = None;
    for (rank, result) in results.into_iter().enumerate() {
        let error = match result {
            Ok(Ok(value)) => {
                done.push(value);
                continue;
            }
            Ok(Err(error)) => error,
            Err(_) => Error::Lost { rank: Rank(rank), why: "it panicked".into() },
        };
        // What a rank did wrong says more than that another one waited for it.
        let effect = |e: &Error| matches!(e, Error::Lost { .. } | Error::Silent { .. });
        if first.as_ref().is_none_or(|old| effect(old) && !effect(&error)) {
            first = Some(error);
        }
    }
    first.map_or(Ok(done), Err)
}

impl Communicator for Threads {
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
            return Err(Error::Config(format!(
                "rank {from} sent {} numbers where rank {} waits for {}; all ranks must run the same program",
                got.len(),
                self.rank,
                data.len()
            )));
        }
        data.copy_from_slice(&got);
        Ok(())
    }

    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        self.send(to, send)?; // a channel takes any amount at once
        self.receive(from, receive)
    }

    fn broadcast(&mut self, root: Rank, data: &mut [f32]) -> Result<()> {
        if self.rank != root {
            return self.receive(root, data);
        }
        for to in (0..self.size()).map(Rank).filter(|to| *to != root) {
            self.send(to, data)?;
        }
        Ok(())
    }

    fn all_reduce(&mut self, data: &mut [f32]) -> Result<()> {
        self.reduce_scatter(data)?;
        self.all_gather(data)
    }

    fn reduce_scatter(&mut self, data: &mut [f32]) -> Result<()> {
        let (len, size, me) = (data.len(), self.size(), self.rank.0);
        let (next, before) = (Rank((me + 1) % size), Rank((me + size - 1) % size));
        let mut got = Vec::new();
        for step in 1..size {
            let part = |back: usize| part_of(len, Rank((me + 2 * size - back) % size), size);
            let (out, into) = (part(step), part(step + 1));
            got.resize(into.len(), 0.0);
            self.exchange(next, &data[out], before, &mut got)?;
            data[into].iter_mut().zip(&got).for_each(|(sum, new)| *sum += new);
        }
        Ok(())
    }

    fn all_gather(&mut self, data: &mut [f32]) -> Result<()> {
        let (len, size, me) = (data.len(), self.size(), self.rank.0);
        let (next, before) = (Rank((me + 1) % size), Rank((me + size - 1) % size));
        for step in 0..size.saturating_sub(1) {
            let part = |back: usize| part_of(len, Rank((me + size - back) % size), size);
            let out = data[part(step)].to_vec();
            self.exchange(next, &out, before, &mut data[part(step + 1)])?;
        }
        Ok(())
    }

    fn barrier(&mut self) -> Result<()> {
        self.all_reduce(&mut vec![0.0; self.size()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_reduce_gives_everybody_the_sum() {
        for size in [1, 2, 3, 5] {
            for len in [0, 1, 2, 7, 100] {
                let sums = run(size, |mut rank| {
                    let me = rank.rank().0;
                    let mut data: Vec<f32> = (0..len).map(|i| (i * (me + 1)) as f32).collect();
                    rank.all_reduce(&mut data)?;
                    Ok(data)
                })
                .unwrap();
                let factor = size * (size + 1) / 2;
                let sum: Vec<f32> = (0..len).map(|i| (i * factor) as f32).collect();
                assert!(
                    sums.iter().all(|got| *got == sum),
                    "{size} ranks, {len} numbers: {sums:?}"
                );
            }
        }
    }

    #[test]
    fn broadcast_gives_everybody_the_roots_numbers() {
        let got = run(3, |mut rank| {
            let mut data = [rank.rank().0 as f32; 4];
            rank.broadcast(Rank(1), &mut data)?;
            rank.barrier()?;
            Ok(data)
        })
        .unwrap();
        assert_eq!(got, [[1.0; 4]; 3]);
    }

    #[test]
    fn a_rank_that_fails_ends_the_others_with_its_own_words() {
        let failed = run(3, |mut rank| {
            if rank.rank() == Rank(1) {
                return Err(Error::Config("rank 1 does not like this".into()));
            }
            rank.barrier()
        });
        assert_eq!(failed.unwrap_err().to_string(), "rank 1 does not like this");
    }

    #[test]
    fn messages_of_another_length_are_refused() {
        let failed = run(2, |mut rank| match rank.rank() {
            Rank(0) => rank.send(Rank(1), &[1.0, 2.0]),
            _ => rank.receive(Rank(0), &mut [0.0]),
        });
        let words = failed.unwrap_err().to_string();
        assert!(words.starts_with("rank 0 sent 2 numbers where rank 1 waits for 1"), "{words}");
    }
}
