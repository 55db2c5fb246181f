//! The test of the exercise `ring-all-gather`.

#[cfg_attr(feature = "solutions", path = "solution.rs")]
#[cfg_attr(not(feature = "solutions"), path = "exercise.rs")]
mod exercise;

use exercise::all_gather;
use multi_gpu::{
    Communicator, PointToPoint, Rank, Result,
    communicator::part_of,
    threads::{self, Threads},
};

/// A communicator that notes whom it exchanges with, and whether it sends in another way.
struct Watched {
    inner: Threads,
    exchanged: Vec<(Rank, usize, Rank)>,
    sent: usize,
}

impl PointToPoint for Watched {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }
    fn size(&self) -> usize {
        self.inner.size()
    }
    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        self.sent += 1;
        self.inner.send(to, data)
    }
    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        self.inner.receive(from, data)
    }
    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        self.exchanged.push((to, send.len(), from));
        self.inner.exchange(to, send, from, receive)
    }
}

impl Communicator for Watched {}

/// Gathers on `size` threads and checks the messages.
#[track_caller]
fn holds(size: usize, len: usize, ring: bool) {
    let wanted: Vec<f32> = (0..len).map(|i| 1.0 + i as f32).collect();
    let done = threads::run(size, |inner| {
        let mut comm = Watched { inner, exchanged: Vec::new(), sent: 0 };
        let own = part_of(len, comm.rank(), size);
        // What is not this rank's own part is not known yet.
        let mut data = vec![f32::NAN; len];
        data[own.clone()].copy_from_slice(&wanted[own]);
        all_gather(&mut comm, &mut data)?;
        Ok((data, comm.exchanged, comm.sent))
    })
    .unwrap_or_else(|error| panic!("{size} ranks, {len} numbers: {error}"));
    for (me, (data, exchanged, sent)) in done.into_iter().enumerate() {
        assert_eq!(data, wanted, "rank {me} of {size}");
        if !ring {
            continue;
        }
        assert_eq!(sent, 0, "rank {me} sends without receiving at the same time");
        assert_eq!(exchanged.len(), size - 1, "steps of rank {me} of {size}");
        let (next, before) = (Rank((me + 1) % size), Rank((me + size - 1) % size));
        for (to, _, from) in &exchanged {
            assert_eq!((*to, *from), (next, before), "rank {me} talks to another rank");
        }
        // All parts but the next rank's own.
        let own = part_of(len, next, size).len();
        let numbers: usize = exchanged.iter().map(|(_, numbers, _)| numbers).sum();
        assert_eq!(numbers, len - own, "rank {me} of {size} sends so many numbers");
    }
}

#[test]
fn everybody_gets_all_parts() {
    for size in [1, 2, 3, 4, 5] {
        for len in [0, 1, size, 4 * size, 97] {
            holds(size, len, false);
        }
    }
}

#[test]
fn every_link_carries_one_part_in_every_step() {
    for size in [2, 3, 4, 5, 8] {
        for len in [0, 3, 8 * size, 97] {
            holds(size, len, true);
        }
    }
}
