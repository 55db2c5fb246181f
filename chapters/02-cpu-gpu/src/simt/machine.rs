//! The machine: arrays in global memory, and launches that run block after block.

use super::{
    block::BlockState,
    counts::{Counts, Event},
    fault::KernelFault,
    memory::{Global, WARP, Word},
    thread::Thread,
    warp::{Lane, Warp},
};
use lab::random::SplitMix64;
use std::{future::Future, rc::Rc};

/// Threads that a block may have.
pub const BLOCK_LIMIT: usize = 1024;

/// A GPU with its global memory.
pub struct Machine {
    arrays: Vec<Vec<Word>>,
    seed: u64,
    check: bool,
    watched: Option<([usize; 2], usize)>,
    events: Vec<Event>,
}

impl Machine {
    /// A machine that takes the warps of a block in an order drawn from `seed`, as a real one takes them in an
    /// order that you do not know.
    pub fn new(seed: u64) -> Self {
        Self { arrays: Vec::new(), seed, check: true, watched: None, events: Vec::new() }
    }

    /// A machine that does not look for races or for unwritten words, like a real one.
    pub fn unchecked(seed: u64) -> Self {
        Self { check: false, ..Self::new(seed) }
    }

    /// An array with these numbers.
    pub fn array(&mut self, values: &[f32]) -> Global {
        self.keep(values.iter().map(|value| Word::new(*value)).collect())
    }

    /// An array of `len` values, not yet written.
    pub fn unwritten(&mut self, len: usize) -> Global {
        self.keep(vec![Word::unwritten(); len])
    }

    fn keep(&mut self, words: Vec<Word>) -> Global {
        self.arrays.push(words);
        Global { id: self.arrays.len() - 1, len: self.arrays[self.arrays.len() - 1].len() }
    }

    /// The values of an array; NaN where it was never written.
    pub fn read(&self, array: Global) -> Vec<f32> {
        self.arrays[array.id].iter().map(|word| word.value).collect()
    }

    /// Keeps what one warp of one block does in the launches that follow, for [`Machine::events`].
    pub fn watch(&mut self, block: [usize; 2], warp: usize) {
        self.watched = Some((block, warp));
    }

    /// What the watched warp has done.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Runs `kernel` once for each thread of `grid` blocks with `block` threads
    /// each, both (x, y), and tells what it cost.
    ///
    /// # Errors
    /// A [`KernelFault`] of the kernel.
    pub fn launch<K, F>(
        &mut self,
        name: &str,
        grid: [usize; 2],
        block: [usize; 2],
        kernel: K,
    ) -> Result<Counts, KernelFault>
    where
        K: Fn(Thread) -> F,
        F: Future<Output = ()>,
    {
        let threads = block[0] * block[1];
        if threads == 0 || threads > BLOCK_LIMIT {
            return Err(KernelFault::Launch {
                kernel: name.to_owned(),
                why: format!(
                    "a block of {}×{} threads can't be launched; take from 1 to {BLOCK_LIMIT} of them",
                    block[0], block[1]
                ),
            });
        }
        let mut counts = Counts::default();
        let mut random = SplitMix64::new(self.seed);
        for y in 0..grid[1] {
            for x in 0..grid[0] {
                let watched = self.watched.filter(|(watched, _)| *watched == [x, y]);
                let state = BlockState {
                    kernel: name,
                    arrays: &mut self.arrays,
                    shared: Vec::new(),
                    epoch: 0,
                    counts: Counts::default(),
                    check: self.check,
                    watched: watched.map(|(_, warp)| warp),
                    events: &mut self.events,
                };
                counts += run_block(state, grid, block, [x, y], &kernel, &mut random)?;
            }
        }
        // The next launch begins when this one is over.
        self.arrays.iter_mut().flatten().for_each(Word::settle);
        Ok(counts)
    }
}

/// Runs all threads of a block to their end.
fn run_block<K, F>(
    mut state: BlockState,
    grid: [usize; 2],
    block: [usize; 2],
    block_index: [usize; 2],
    kernel: &K,
    random: &mut SplitMix64,
) -> Result<Counts, KernelFault>
where
    K: Fn(Thread) -> F,
    F: Future<Output = ()>,
{
    let mut warps: Vec<Warp<F>> = Vec::new();
    for number in 0..block[0] * block[1] {
        let thread = Thread {
            grid,
            block,
            block_index,
            index: [number % block[0], number / block[0]],
            mailbox: Rc::default(),
        };
        if number % WARP == 0 {
            warps.push(Warp { lanes: Vec::with_capacity(WARP) });
        }
        let lane = Lane { kernel: Some(Box::pin(kernel(thread.clone()))), thread };
        warps.last_mut().expect("one was pushed for the first lane").lanes.push(lane);
    }
    loop {
        for warp in random.order(warps.len()) {
            warps[warp].run(&mut state)?;
        }
        // Now every thread has ended or waits at a barrier.
        if !all_wait(state.kernel, &warps)? {
            break;
        }
        state.epoch += 1;
        state.counts.barriers += 1;
        for warp in &mut warps {
            warp.release(&mut state);
        }
    }
    let lanes = warps.iter().flat_map(|warp| &warp.lanes);
    state.counts.flops += lanes.map(|lane| lane.thread.mailbox.flops.get()).sum::<u64>();
    Ok(state.counts)
}

/// Whether all threads wait at the same barrier; if not, all must have ended.
fn all_wait<F>(kernel: &str, warps: &[Warp<F>]) -> Result<bool, KernelFault> {
    let lanes = || warps.iter().flat_map(|warp| &warp.lanes);
    let place = |lane: &Lane<F>| lane.request().map(|(_, place)| place);
    let Some((waiting, at)) = lanes().find_map(|lane| Some((lane, place(lane)?))) else {
        return Ok(false);
    };
    match lanes().find(|lane| place(lane) != Some(at)) {
        None => Ok(true),
        Some(other) => Err(KernelFault::BarrierDivergence {
            kernel: kernel.to_owned(),
            waiting: waiting.who(),
            at,
            other: other.who(),
            elsewhere: place(other),
        }),
    }
}
