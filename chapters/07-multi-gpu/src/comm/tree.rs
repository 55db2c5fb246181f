//! A binomial tree: in each round half of the ranks that are left hand their numbers to the other half.
//!
//! Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", International
//! Journal of High Performance Computing Applications 19 (2005), sections 4.2 and 4.5.

use super::naive::add;
use crate::{PointToPoint, Rank, Result};

/// Distances between partners: 1, 2, 4, … below `size`.
fn distances(size: usize) -> impl DoubleEndedIterator<Item = usize> {
    (0..super::cost::rounds(size)).map(|round| 1 << round)
}

/// The rank at `position` of the tree whose root has position 0, and the position of this rank.
fn positions<C: PointToPoint + ?Sized>(
    comm: &C,
    root: Rank,
) -> (usize, impl Fn(usize) -> Rank + use<C>) {
    let size = comm.size();
    let position = (comm.rank().0 + size - root.0) % size;
    (position, move |position| Rank((position + root.0) % size))
}

/// The root gets the sum over all ranks; the others keep what they have so far.
///
/// # Errors
/// Those of [`PointToPoint`].
// ANCHOR: reduce
pub fn reduce<C>(comm: &mut C, root: Rank, data: &mut [f32]) -> Result<()>
where
    C: PointToPoint + ?Sized,
{
    let size = comm.size();
    let (me, at) = positions(comm, root);
    let mut got = vec![0.0; data.len()];
    for distance in distances(size) {
        if me % (2 * distance) == distance {
            return comm.send(at(me - distance), data); // its work is done
        }
        if me + distance < size {
            comm.receive(at(me + distance), &mut got)?;
            add(data, &got);
        }
    }
    Ok(())
}
// ANCHOR_END: reduce

/// Every rank gets the root's numbers: [`reduce`] in reverse.
///
/// # Errors
/// Those of [`PointToPoint`].
pub fn broadcast<C>(comm: &mut C, root: Rank, data: &mut [f32]) -> Result<()>
where
    C: PointToPoint + ?Sized,
{
    let size = comm.size();
    let (me, at) = positions(comm, root);
    for distance in distances(size).rev() {
        if me % (2 * distance) == distance {
            comm.receive(at(me - distance), data)?;
        } else if me % (2 * distance) == 0 && me + distance < size {
            comm.send(at(me + distance), data)?;
        }
    }
    Ok(())
}

/// Every rank gets the sum over all ranks: up the tree and down again.
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

/// No rank goes on before all are here: an all-reduce of nothing.
///
/// # Errors
/// Those of [`PointToPoint`].
pub fn barrier<C>(comm: &mut C) -> Result<()>
where
    C: PointToPoint + ?Sized,
{
    all_reduce(comm, &mut [])
}

/// Every rank gets the sum over all ranks by recursive halving and doubling: partners exchange half of what they still
/// have, then a quarter, and so on, and the sums go the same way back. Where the ranks are no power of two, the last
/// ones hand their numbers to one of the first and get the sum from it.
///
/// # Errors
/// Those of [`PointToPoint`].
pub fn halving<C>(comm: &mut C, data: &mut [f32]) -> Result<()>
where
    C: PointToPoint + ?Sized,
{
    let (me, core) = (comm.rank().0, 1_usize << comm.size().ilog2());
    if me >= core {
        comm.send(Rank(me - core), data)?;
        return comm.receive(Rank(me - core), data);
    }
    let (twin, mut got) = (Rank(me + core), vec![0.0; data.len()]);
    if twin.0 < comm.size() {
        comm.receive(twin, &mut got)?;
        add(data, &got);
    }
    let (mut mine, mut way) = (0..data.len(), Vec::new());
    for distance in distances(core).rev() {
        let middle = usize::midpoint(mine.start, mine.end);
        let (low, high) = (mine.start..middle, middle..mine.end);
        let (keep, give) = if me & distance == 0 { (low, high) } else { (high, low) };
        let partner = Rank(me ^ distance);
        let got = &mut got[..keep.len()];
        comm.exchange(partner, &data[give.clone()], partner, got)?;
        add(&mut data[keep.clone()], got);
        way.push((partner, keep.clone(), give));
        mine = keep;
    }
    for (partner, keep, give) in way.into_iter().rev() {
        let got = &mut got[..give.len()];
        comm.exchange(partner, &data[keep], partner, got)?;
        data[give].copy_from_slice(got);
    }
    if twin.0 < comm.size() {
        comm.send(twin, data)?;
    }
    Ok(())
}
