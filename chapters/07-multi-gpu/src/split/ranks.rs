//! What a device's program asks of other ranks, answered by a communicator.

use super::{
    group::{Group, lock},
    overlap::CommThread,
    pipeline::meet,
};
use crate::{Communicator, Error, Rank};
use engine::{
    program::What,
    ranks::{Failed, Ranks},
};
use std::sync::{Arc, Mutex};

/// A rank's way to the others.
pub struct Peers<C: ?Sized> {
    /// Its communicator.
    pub comm: Arc<Mutex<C>>,
    /// Its groups, by their numbers.
    pub groups: [Vec<Rank>; 3],
    /// A thread that sums while the program goes on, if there is one; else a sum that begins is made where it ends.
    pub thread: Option<CommThread>,
}

impl<C: Communicator + ?Sized> Ranks for Peers<C> {
    fn meet(
        &mut self,
        what: What,
        group: usize,
        given: &[f32],
        numbers: &mut [f32],
    ) -> Result<(), Failed> {
        if let Some(thread) = &self.thread {
            if what == What::Begin {
                thread.send(given.to_vec());
                return Ok(());
            } else if what == What::End {
                numbers.copy_from_slice(&thread.sum()?);
                return Ok(());
            }
        }
        let mut comm = lock(&self.comm);
        let mut group = Group::of(&mut *comm, &self.groups[group])?;
        // ANCHOR: meet
        match what {
            What::Begin => {} // without a thread, the end does it all
            What::Sum | What::End => group.all_reduce(numbers)?,
            What::Scatter => group.reduce_scatter(numbers)?,
            What::Gather => group.all_gather(numbers)?,
            What::Message { to, from } => {
                let out = to.map(|to| (Rank(to), given.to_vec()));
                let got = meet(from.map(Rank), numbers.len(), out, &mut *comm)?;
                numbers.copy_from_slice(&got.unwrap_or_default());
            }
        }
        // ANCHOR_END: meet
        Ok(())
    }

    unsafe fn meet_in_place(
        &mut self,
        what: What,
        group: usize,
        numbers: (u64, usize),
        event: u64,
    ) -> Result<Option<()>, Failed> {
        let mut comm = lock(&self.comm);
        let all = self.groups[group].len() == comm.size(); // NCCL sums over all ranks
        let Some(gpus) = comm.in_place().filter(|_| all) else { return Ok(None) };
        if matches!(what, What::Sum | What::Begin) {
            // SAFETY: as the caller promises.
            unsafe { gpus.begin_sum(numbers, Some(event)) }?;
        }
        match what {
            What::Sum | What::End => gpus.wait()?,
            What::Begin => {}
            _ => return Ok(None),
        }
        Ok(Some(()))
    }
}

/// What a device failed with.
pub fn original(failed: Failed) -> Error {
    failed.downcast().map_or_else(|other| Error::Config(other.to_string()), |error| *error)
}
