//! A warp: 32 threads that move in lock-step as long as they are at the same instruction, and one group after the
//! other where they have parted.
//!
//! Which group goes first decides when they meet again. This machine takes the one whose position is the earliest
//! in the source: threads that are behind catch up, and after an `if` or a loop all are at the same line
//! once more. Collange 2011, "Stack-less SIMT reconvergence at low cost", describes the rule for hardware;
//! NVIDIA does not publish its own.

use super::{
    block::BlockState,
    counts::{Counts, Event},
    fault::{KernelFault, Place, Who},
    memory::{Access, Space, WARP, Width, sectors, shared_passes},
    thread::{Request, Thread},
};
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

/// A thread with what is left of its kernel.
pub(super) struct Lane<F> {
    pub(super) thread: Thread,
    pub(super) kernel: Option<Pin<Box<F>>>,
}

impl<F> Lane<F> {
    /// What it asks for, and where.
    pub(super) fn request(&self) -> Option<(Request, Place)> {
        *self.thread.mailbox.request.borrow()
    }

    /// Where it is, unless it has ended.
    fn place(&self) -> Option<Place> {
        self.request().map(|(_, place)| place)
    }

    pub(super) fn who(&self) -> Who {
        Who { block: self.thread.block_index, thread: self.thread.index }
    }
}

/// The order of positions in the source.
fn order(place: Place) -> (&'static str, u32, u32) {
    (place.file(), place.line(), place.column())
}

/// Up to 32 threads with neighbouring numbers.
pub(super) struct Warp<F> {
    pub(super) lanes: Vec<Lane<F>>,
}

impl<F: Future<Output = ()>> Warp<F> {
    // ANCHOR: run
    /// Runs until every thread has ended or waits at a barrier.
    pub fn run(&mut self, block: &mut BlockState) -> Result<(), KernelFault> {
        let all: Vec<usize> = (0..self.lanes.len()).collect();
        self.wake(&all, &mut block.counts);
        while let Some(place) = self.earliest() {
            // All threads that are here execute the instruction together.
            let at = |lane: &usize| self.lanes[*lane].place() == Some(place);
            let group: Vec<usize> = all.iter().copied().filter(at).collect();
            self.execute(&group, place, block)?;
            self.wake(&group, &mut block.counts);
        }
        Ok(())
    }

    /// The earliest position of a thread that does not wait at a barrier.
    fn earliest(&self) -> Option<Place> {
        let requests = self.lanes.iter().filter_map(Lane::request);
        let busy = requests.filter(|(request, _)| *request != Request::Barrier);
        busy.map(|(_, place)| place).min_by_key(|place| order(place))
    }
    // ANCHOR_END: run

    /// Lets threads that have their replies go on to the next instruction.
    fn wake(&mut self, group: &[usize], counts: &mut Counts) {
        let mut context = Context::from_waker(Waker::noop());
        for &at in group {
            let lane = &mut self.lanes[at];
            let Some(kernel) = &mut lane.kernel else { continue };
            if lane.thread.mailbox.request.borrow().is_some() {
                continue; // it waits at a barrier
            }
            if let Poll::Ready(()) = kernel.as_mut().poll(&mut context) {
                lane.kernel = None;
            }
        }
        // Those that were together and part now have diverged.
        let mut places = group.iter().map(|lane| self.lanes[*lane].place());
        let first = places.next();
        counts.divergences += u64::from(places.any(|place| Some(place) != first));
    }

    /// One instruction for the lanes of `group`.
    fn execute(
        &mut self,
        group: &[usize],
        place: Place,
        block: &mut BlockState,
    ) -> Result<(), KernelFault> {
        let mut starts = [None; WARP];
        let mut what = None;
        let mut failed = None;
        for &at in group {
            let lane = &self.lanes[at];
            let Some((request, _)) = lane.thread.mailbox.request.take() else { continue };
            let (Request::Load(space, index, width) | Request::Store(space, index, width, _)) =
                request
            else {
                continue;
            };
            let store = matches!(request, Request::Store(..));
            (starts[at], what) = (Some(index), Some((space, width, store)));
            let access = Access {
                who: lane.who(),
                number: lane.thread.number(),
                epoch: block.epoch,
                at: place,
            };
            let result = match request {
                Request::Store(_, _, _, values) => {
                    block.store(space, index, &values[..width.count()], access)
                }
                _ => block
                    .load(space, index, width, access)
                    .map(|v| lane.thread.mailbox.reply.set(v)),
            };
            // The whole warp executes an instruction, so the first fault waits for the other lanes.
            failed = failed.or(result.err());
        }
        if let Some((space, width, store)) = what {
            count(&mut block.counts, &starts[..self.lanes.len()], space, width, store);
            block.watch(self.lanes[0].thread.number() / WARP, || Event {
                line: place.line(),
                lanes: mask(group),
                touched: Some((space, starts)),
                store,
                width: width.count(),
            });
        }
        failed.map_or(Ok(()), Err)
    }

    /// Lets every thread pass the barrier at which it waits.
    pub(super) fn release(&mut self, block: &mut BlockState) {
        let waiting: Vec<usize> =
            (0..self.lanes.len()).filter(|at| self.lanes[*at].request().is_some()).collect();
        let Some(first) = waiting.first() else { return };
        let line = self.lanes[*first].place().map_or(0, std::panic::Location::line);
        block.counts.instructions += 1;
        block.counts.active_lanes += waiting.len() as u64;
        block.watch(self.lanes[0].thread.number() / WARP, || Event {
            line,
            lanes: mask(&waiting),
            touched: None,
            store: false,
            width: 0,
        });
        for at in waiting {
            self.lanes[at].thread.mailbox.request.take();
        }
    }
}

fn mask(group: &[usize]) -> u32 {
    group.iter().fold(0, |mask, lane| mask | 1 << lane)
}

/// Counts one instruction of a warp whose lanes start at the words `starts`.
fn count(counts: &mut Counts, starts: &[Option<usize>], space: Space, width: Width, store: bool) {
    let lanes = starts.iter().flatten().count() as u64;
    counts.instructions += 1;
    counts.active_lanes += lanes;
    match space {
        Space::Global(_) => {
            let mut words: Vec<usize> =
                starts.iter().flatten().flat_map(|start| *start..start + width.count()).collect();
            words.sort_unstable();
            words.dedup();
            counts.useful_bytes += 4 * words.len() as u64;
            let moved = sectors(words);
            let (requests, total) = if store {
                (&mut counts.store_requests, &mut counts.store_sectors)
            } else {
                (&mut counts.load_requests, &mut counts.load_sectors)
            };
            *requests += 1;
            *total += moved;
        }
        Space::Shared(array) => {
            let words: Vec<Option<usize>> =
                starts.iter().map(|start| start.map(|start| array.start + start)).collect();
            let (passes, ideal) = shared_passes(&words, width);
            counts.shared_requests += 1;
            counts.shared_passes += passes;
            counts.shared_ideal += ideal;
            counts.shared_bytes += 4 * lanes * width.count() as u64;
        }
    }
}
