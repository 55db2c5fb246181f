//! What a message and an all-reduce take, on any engine.

use super::algorithm::Algorithm;
use crate::{Communicator, Rank, Result, part_of};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Seconds of one operation on `p` ranks with messages of `bytes`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timing {
    /// `message`, an [`Algorithm`]'s name, or `library` for the engine's own all-reduce.
    pub what: String,
    /// How many ranks.
    pub p: usize,
    /// Bytes of the numbers that are sent or summed.
    pub bytes: usize,
    /// Seconds, one for each repetition.
    pub seconds: Vec<f64>,
}

/// Which all-reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// One of ours, over the engine's messages.
    Ours(Algorithm),
    /// The engine's own.
    Library,
}

impl Implementation {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours(algorithm) => algorithm.name(),
            Self::Library => "library",
        }
    }

    fn all_reduce<C: Communicator + ?Sized>(self, comm: &mut C, data: &mut [f32]) -> Result<()> {
        match self {
            Self::Ours(algorithm) => algorithm.all_reduce(comm, data),
            Self::Library => comm.all_reduce(data),
        }
    }
}

/// How long to measure one size.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// About so long for a size, warm-up aside.
    pub time: Duration,
    /// At least so many samples.
    pub least: usize,
    /// At most so many.
    pub most: usize,
}

// ANCHOR: ping_pong
/// Seconds that a message takes one way: rank 0 sends it, rank 1 sends it
/// back, and the time there and back is halved. Others wait.
///
/// # Errors
/// Those of [`Communicator`].
pub fn ping_pong<C: Communicator + ?Sized>(
    comm: &mut C,
    numbers: usize,
    effort: Effort,
) -> Result<Vec<f64>> {
    let mut data = vec![1.0; numbers];
    let seconds = sampled(comm, effort, |comm| match comm.rank() {
        Rank(0) => {
            comm.send(Rank(1), &data)?;
            comm.receive(Rank(1), &mut data)
        }
        Rank(1) => {
            comm.receive(Rank(0), &mut data)?;
            comm.send(Rank(0), &data)
        }
        _ => Ok(()),
    })?;
    Ok(seconds.into_iter().map(|there_and_back| there_and_back / 2.0).collect())
}
// ANCHOR_END: ping_pong

/// Seconds of an all-reduce of so many numbers.
///
/// # Errors
/// Those of [`Communicator`].
pub fn all_reduce<C: Communicator + ?Sized>(
    comm: &mut C,
    way: Implementation,
    numbers: usize,
    effort: Effort,
) -> Result<Vec<f64>> {
    // Zeros stay zeros, however often they are summed.
    let mut data = vec![0.0; numbers];
    sampled(comm, effort, |comm| way.all_reduce(comm, &mut data))
}

/// Seconds of `work`, which all ranks do together: after a barrier, until the slowest is done. Small work is repeated
/// within a sample, as a clock's tick would spoil it. All ranks return the same samples.
fn sampled<C: Communicator + ?Sized>(
    comm: &mut C,
    effort: Effort,
    mut work: impl FnMut(&mut C) -> Result<()>,
) -> Result<Vec<f64>> {
    let mut round = |comm: &mut C, times: usize| -> Result<f64> {
        comm.barrier()?;
        let start = Instant::now();
        for _ in 0..times {
            work(comm)?;
        }
        slowest(comm, start.elapsed().as_secs_f64() / times as f64)
    };
    round(comm, 1)?;
    let once = round(comm, 2)?.max(1e-9);
    // A sample takes 200 µs or more.
    let times = (2e-4 / once).ceil().clamp(1.0, 1000.0) as usize;
    let samples = (effort.time.as_secs_f64() / (once * times as f64)) as usize;
    (0..samples.clamp(effort.least, effort.most)).map(|_| round(comm, times)).collect()
}

/// The largest of all ranks' numbers.
fn slowest<C: Communicator + ?Sized>(comm: &mut C, mine: f64) -> Result<f64> {
    let size = comm.size();
    let mut all = vec![0.0; size];
    all[part_of(size, comm.rank(), size)].fill(mine as f32);
    comm.all_gather(&mut all)?;
    Ok(f64::from(all.into_iter().fold(0.0, f32::max)))
}

/// All timings of one world: messages if it has two ranks, and all-reduces by these ways and sizes in turn.
///
/// # Errors
/// Those of [`Communicator`].
pub fn bench<C: Communicator + ?Sized>(
    comm: &mut C,
    ways: &[Implementation],
    bytes: &[usize],
    effort: Effort,
) -> Result<Vec<Timing>> {
    let p = comm.size();
    let mut all = Vec::new();
    for bytes in bytes.iter().copied() {
        if p == 2 {
            let seconds = ping_pong(comm, bytes / 4, effort)?;
            all.push(Timing { what: "message".into(), p, bytes, seconds });
        }
        for way in ways {
            let seconds = all_reduce(comm, *way, bytes / 4, effort)?;
            all.push(Timing { what: way.name().into(), p, bytes, seconds });
        }
    }
    Ok(all)
}

/// The sizes of messages: 4 B to `largest`, four times as large each.
pub fn sizes(largest: usize) -> Vec<usize> {
    std::iter::successors(Some(4), |bytes| Some(4 * bytes)).take_while(|b| *b <= largest).collect()
}
