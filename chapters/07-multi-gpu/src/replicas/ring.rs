//! Collective operations in a ring, on any communicator that can exchange.

use crate::{Communicator, Rank, Result, communicator::part_of};

/// A rank's neighbours in the ring: the next one and the one before.
fn neighbours(comm: &dyn Communicator) -> (Rank, Rank) {
    let (me, size) = (comm.rank().0, comm.size());
    (Rank((me + 1) % size), Rank((me + size - 1) % size))
}

/// Rank r gets part r of the sum over all ranks.
///
/// # Errors
/// The communicator's own.
pub fn reduce_scatter(comm: &mut dyn Communicator, data: &mut [f32]) -> Result<()> {
    let (len, size, me) = (data.len(), comm.size(), comm.rank().0);
    let (next, before) = neighbours(comm);
    let part = |back: usize| part_of(len, Rank((me + 2 * size - back) % size), size);
    let mut got = Vec::new();
    for step in 1..size {
        let (out, into) = (part(step), part(step + 1));
        got.resize(into.len(), 0.0);
        comm.exchange(next, &data[out], before, &mut got)?;
        data[into].iter_mut().zip(&got).for_each(|(sum, new)| *sum += new);
    }
    Ok(())
}

/// Everybody gets part r of rank r's numbers.
///
/// # Errors
/// The communicator's own.
pub fn all_gather(comm: &mut dyn Communicator, data: &mut [f32]) -> Result<()> {
    let (len, size, me) = (data.len(), comm.size(), comm.rank().0);
    let (next, before) = neighbours(comm);
    let part = |back: usize| part_of(len, Rank((me + size - back) % size), size);
    for step in 0..size.saturating_sub(1) {
        let out = data[part(step)].to_vec();
        comm.exchange(next, &out, before, &mut data[part(step + 1)])?;
    }
    Ok(())
}
