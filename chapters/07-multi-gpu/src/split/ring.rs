//! Collective operations that need nothing but an exchange with two neighbours: what a communicator that is built on
//! another one ([`Group`](super::group::Group), [`Wire`](super::wire::Wire)) is made of.

use crate::{Communicator, Rank, Result, communicator::part_of};

/// A rank's neighbours in the ring: whom it sends to, and from whom it receives.
fn neighbours<C: Communicator + ?Sized>(comm: &C) -> (Rank, Rank) {
    let (me, size) = (comm.rank().0, comm.size());
    (Rank((me + 1) % size), Rank((me + size - 1) % size))
}

/// The part of `len` numbers that belongs to the rank `back` places before this one.
fn behind<C: Communicator + ?Sized>(comm: &C, len: usize, back: usize) -> std::ops::Range<usize> {
    let (me, size) = (comm.rank().0, comm.size());
    part_of(len, Rank((me + 2 * size - back) % size), size)
}

/// As [`Communicator::reduce_scatter`]: p − 1 exchanges of one part.
///
/// # Errors
/// Those of the communicator.
pub fn reduce_scatter<C: Communicator + ?Sized>(comm: &mut C, data: &mut [f32]) -> Result<()> {
    let (next, before) = neighbours(comm);
    let mut got = Vec::new();
    for step in 1..comm.size() {
        let (out, into) = (behind(comm, data.len(), step), behind(comm, data.len(), step + 1));
        got.resize(into.len(), 0.0);
        comm.exchange(next, &data[out], before, &mut got)?;
        data[into].iter_mut().zip(&got).for_each(|(sum, new)| *sum += new);
    }
    Ok(())
}

/// As [`Communicator::all_gather`]: p − 1 exchanges of one part.
///
/// # Errors
/// Those of the communicator.
pub fn all_gather<C: Communicator + ?Sized>(comm: &mut C, data: &mut [f32]) -> Result<()> {
    let (next, before) = neighbours(comm);
    for step in 1..comm.size() {
        let out = data[behind(comm, data.len(), step - 1)].to_vec();
        let into = behind(comm, data.len(), step);
        comm.exchange(next, &out, before, &mut data[into])?;
    }
    Ok(())
}

/// As [`Communicator::all_reduce`]: 2·(p − 1) exchanges of one part.
///
/// # Errors
/// Those of the communicator.
pub fn all_reduce<C: Communicator + ?Sized>(comm: &mut C, data: &mut [f32]) -> Result<()> {
    reduce_scatter(comm, data)?;
    all_gather(comm, data)
}

/// As [`Communicator::broadcast`]: the root sends to each of the others.
///
/// # Errors
/// Those of the communicator.
pub fn broadcast<C: Communicator + ?Sized>(
    comm: &mut C,
    root: Rank,
    data: &mut [f32],
) -> Result<()> {
    if comm.rank() != root {
        return comm.receive(root, data);
    }
    for to in (0..comm.size()).map(Rank).filter(|to| *to != root) {
        comm.send(to, data)?;
    }
    Ok(())
}

/// As [`Communicator::barrier`]: a sum that nobody has before everybody gave a number to it.
///
/// # Errors
/// Those of the communicator.
pub fn barrier<C: Communicator + ?Sized>(comm: &mut C) -> Result<()> {
    let mut numbers = vec![0.0; comm.size()];
    all_reduce(comm, &mut numbers)
}
