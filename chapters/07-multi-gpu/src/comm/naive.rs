//! Everything to rank 0 and back: the obvious collectives.

use crate::{PointToPoint, Rank, Result};

/// All ranks but one.
fn others(size: usize, but: Rank) -> impl Iterator<Item = Rank> {
    (0..size).map(Rank).filter(move |rank| *rank != but)
}

/// Adds `new` to `sum`, number by number.
pub(super) fn add(sum: &mut [f32], new: &[f32]) {
    sum.iter_mut().zip(new).for_each(|(sum, new)| *sum += new);
}

/// The root gets the sum over all ranks; the others keep what they have.
///
/// # Errors
/// Those of [`PointToPoint`].
// ANCHOR: naive
pub fn reduce<C>(comm: &mut C, root: Rank, data: &mut [f32]) -> Result<()>
where
    C: PointToPoint + ?Sized,
{
    if comm.rank() != root {
        return comm.send(root, data);
    }
    let mut got = vec![0.0; data.len()];
    for from in others(comm.size(), root) {
        comm.receive(from, &mut got)?;
        add(data, &got);
    }
    Ok(())
}
// ANCHOR_END: naive

/// Every rank gets the root's numbers.
///
/// # Errors
/// Those of [`PointToPoint`].
pub fn broadcast<C>(comm: &mut C, root: Rank, data: &mut [f32]) -> Result<()>
where
    C: PointToPoint + ?Sized,
{
    if comm.rank() != root {
        return comm.receive(root, data);
    }
    others(comm.size(), root).try_for_each(|to| comm.send(to, data))
}

/// Every rank gets the sum over all ranks, by way of rank 0.
///
/// # Errors
/// Those of [`PointToPoint`].
pub fn all_reduce<C>(comm: &mut C, data: &mut [f32]) -> Result<()>
where
    C: PointToPoint + ?Sized,
{
    reduce(comm, Rank(0), data)?;
    broadcast(comm, Rank(0), data)
}
