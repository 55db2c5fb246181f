//! The ring: every rank sends to the next one and receives from the one before, all at the same time.
//!
//! Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", Journal of Parallel and
//! Distributed Computing 69 (2009).

use super::naive::add;
use crate::{PointToPoint, Rank, Result, part_of};
use std::ops::Range;

// ANCHOR: step
/// What rank `me` sends and what it receives in a step, as numbers of
/// parts. In the first half, steps 1 to p − 1, a part grows into the
/// sum; in the second, steps p to 2p − 2, the sums go round.
pub fn step_parts(me: Rank, step: usize, size: usize) -> (Rank, Rank) {
    // A part moves on by one rank in each step, so from a rank's point
    // of view the parts come by in falling order.
    let back = |by: usize| Rank((me.0 + 2 * size - by) % size);
    (back(step), back(step + 1))
}
// ANCHOR_END: step

/// The ranks after and before this one.
fn neighbours<C: PointToPoint + ?Sized>(comm: &C) -> (Rank, Rank) {
    let (me, size) = (comm.rank().0, comm.size());
    (Rank((me + 1) % size), Rank((me + size - 1) % size))
}

/// One part to read and another to write.
fn two(data: &mut [f32], read: Range<usize>, write: Range<usize>) -> (&[f32], &mut [f32]) {
    if read.end <= write.start {
        let (low, high) = data.split_at_mut(write.start);
        (&low[read], &mut high[..write.len()])
    } else {
        let (low, high) = data.split_at_mut(read.start);
        (&high[..read.len()], &mut low[write])
    }
}

/// Rank r gets part r of the sum over all ranks; the other parts are sums of some ranks. Each part is summed in the
/// order of the ring, by one rank after the other, so all ranks come to see the very same sum.
///
/// # Errors
/// Those of [`PointToPoint`].
// ANCHOR: reduce_scatter
pub fn reduce_scatter<C>(comm: &mut C, data: &mut [f32]) -> Result<()>
where
    C: PointToPoint + ?Sized,
{
    let (len, size, me) = (data.len(), comm.size(), comm.rank());
    let (next, before) = neighbours(comm);
    let mut got = Vec::new();
    for step in 1..size {
        let (out, into) = step_parts(me, step, size);
        let (out, into) = (part_of(len, out, size), part_of(len, into, size));
        got.resize(into.len(), 0.0);
        comm.exchange(next, &data[out], before, &mut got)?;
        add(&mut data[into], &got);
    }
    Ok(())
}
// ANCHOR_END: reduce_scatter

/// Every rank gets part r of rank r's numbers.
///
/// # Errors
/// Those of [`PointToPoint`].
// ANCHOR: all_gather
pub fn all_gather<C>(comm: &mut C, data: &mut [f32]) -> Result<()>
where
    C: PointToPoint + ?Sized,
{
    let (len, size, me) = (data.len(), comm.size(), comm.rank());
    let (next, before) = neighbours(comm);
    for step in size..2 * size - 1 {
        let (out, into) = step_parts(me, step, size);
        let (out, into) = (part_of(len, out, size), part_of(len, into, size));
        let (out, into) = two(data, out, into);
        comm.exchange(next, out, before, into)?;
    }
    Ok(())
}
// ANCHOR_END: all_gather

/// Every rank gets the sum over all ranks: the two halves of the ring.
///
/// # Errors
/// Those of [`PointToPoint`].
pub fn all_reduce<C>(comm: &mut C, data: &mut [f32]) -> Result<()>
where
    C: PointToPoint + ?Sized,
{
    reduce_scatter(comm, data)?;
    all_gather(comm, data)
}
