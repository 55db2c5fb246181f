//! Some of the ranks, as a communicator of their own.

use crate::comm::{ring, tree};
use crate::{Communicator, Error, PointToPoint, Rank, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The group of those with the same parameters, and other images.
pub const DATA: usize = 0;
/// The group of those with other parts of the same products.
pub const TENSOR: usize = 1;
/// The group of all.
pub const ALL: usize = 2;

/// Some ranks of another communicator, numbered anew from 0. It is made where it is needed and costs nothing but a
/// list: in a grid of ranks each one belongs to several groups, and speaks in one at a time.
#[derive(Debug)]
pub struct Group<'a, C: ?Sized> {
    all: &'a mut C,
    /// The ranks in `all`, in the order of the group.
    ranks: Vec<Rank>,
    me: Rank,
}

impl<'a, C: Communicator + ?Sized> Group<'a, C> {
    /// The group of `ranks`, in their order.
    ///
    /// # Errors
    /// [`Error::Config`] if this rank is not among them, one is there twice, or one does not exist.
    pub fn of(all: &'a mut C, ranks: &[Rank]) -> Result<Self> {
        let (mine, size) = (all.rank(), all.size());
        let twice = |(at, rank)| ranks[..at].contains(rank);
        if ranks.iter().any(|r| r.0 >= size) || ranks.iter().enumerate().any(twice) {
            return Err(Error::Config(format!(
                "{ranks:?} is not a group of {size} ranks; name each of its ranks once, from 0 to {}",
                size.saturating_sub(1)
            )));
        }
        match ranks.iter().position(|rank| *rank == mine) {
            Some(me) => Ok(Self { all, ranks: ranks.to_vec(), me: Rank(me) }),
            None => Err(Error::Config(format!(
                "rank {mine} is not in the group {ranks:?}; only its members may speak in it"
            ))),
        }
    }

    /// Whether the group is the whole communicator, whose own operations are then the fastest.
    fn is_everybody(&self) -> bool {
        self.ranks.len() == self.all.size() && self.ranks.is_sorted()
    }
}

impl<C: Communicator + ?Sized> PointToPoint for Group<'_, C> {
    fn rank(&self) -> Rank {
        self.me
    }

    fn size(&self) -> usize {
        self.ranks.len()
    }

    fn send(&mut self, to: Rank, data: &[f32]) -> Result<()> {
        self.all.send(self.ranks[to.0], data)
    }

    fn receive(&mut self, from: Rank, data: &mut [f32]) -> Result<()> {
        self.all.receive(self.ranks[from.0], data)
    }

    fn exchange(&mut self, to: Rank, send: &[f32], from: Rank, receive: &mut [f32]) -> Result<()> {
        self.all.exchange(self.ranks[to.0], send, self.ranks[from.0], receive)
    }
}

impl<C: Communicator + ?Sized> Communicator for Group<'_, C> {
    fn broadcast(&mut self, root: Rank, data: &mut [f32]) -> Result<()> {
        if self.is_everybody() {
            self.all.broadcast(root, data)
        } else {
            tree::broadcast(self, root, data)
        }
    }

    fn all_reduce(&mut self, data: &mut [f32]) -> Result<()> {
        if self.is_everybody() { self.all.all_reduce(data) } else { ring::all_reduce(self, data) }
    }

    fn reduce_scatter(&mut self, data: &mut [f32]) -> Result<()> {
        if self.is_everybody() {
            self.all.reduce_scatter(data)
        } else {
            ring::reduce_scatter(self, data)
        }
    }

    fn all_gather(&mut self, data: &mut [f32]) -> Result<()> {
        if self.is_everybody() { self.all.all_gather(data) } else { ring::all_gather(self, data) }
    }

    fn barrier(&mut self) -> Result<()> {
        if self.is_everybody() { self.all.barrier() } else { tree::barrier(self) }
    }
}

/// What a thread may use, too. Where its owner panicked it is still whole: each is one value.
pub fn lock<C: ?Sized>(comm: &Mutex<C>) -> MutexGuard<'_, C> {
    comm.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Its rank, and how many there are.
pub fn size<C: Communicator + ?Sized>(comm: &Mutex<C>) -> (Rank, usize) {
    let comm = lock(comm);
    (comm.rank(), comm.size())
}
