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

impl Default for Machine {
    fn default() -> Self {
        Self::new(0)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simt::block::SHARED_LIMIT;

    #[test]
    fn what_is_wrong_is_told_in_a_sentence() {
        let mut gpu = Machine::new(0);
        let (x, y) = (gpu.array(&[1.0; 32]), gpu.unwritten(32));
        let outside = gpu.launch("outside", [1, 1], [32, 1], |t| async move {
            t.load(x, t.index[0] + 1).await;
        });
        assert!(matches!(outside, Err(KernelFault::OutOfBounds { index: 32, len: 32, .. })));
        let unwritten = gpu.launch("unwritten", [1, 1], [1, 1], |t| async move {
            t.load(y, 3).await;
        });
        assert!(matches!(unwritten, Err(KernelFault::Unwritten { index: 3, .. })));
        let misaligned = gpu.launch("misaligned", [1, 1], [1, 1], |t| async move {
            t.load4(x, 2).await;
        });
        assert!(matches!(misaligned, Err(KernelFault::Misaligned { index: 2, .. })));
        let large = gpu.launch("large", [1, 1], [1025, 1], |_| async {});
        assert!(matches!(large, Err(KernelFault::Launch { .. })));
        let shared = gpu.launch("shared", [1, 1], [1, 1], |t| async move {
            let [tile] = t.shared([SHARED_LIMIT / 4 + 4]);
            t.store(tile, 0, 1.0).await;
        });
        assert!(matches!(shared, Err(KernelFault::Launch { .. })));
        for fault in [outside, unwritten, misaligned, large, shared].map(Result::unwrap_err) {
            let text = fault.to_string();
            assert!(!text.contains('\n') && text.contains(": "), "{text}");
        }
    }

    #[test]
    fn two_blocks_that_write_one_word_race_and_two_launches_do_not() {
        let mut gpu = Machine::new(0);
        let x = gpu.unwritten(1);
        let kernel = |t: Thread| async move { t.store(x, 0, 1.0).await };
        let race = gpu.launch("write", [2, 1], [1, 1], kernel).unwrap_err();
        assert!(
            matches!(race, KernelFault::Race { memory: "global", both_write: true, .. }),
            "{race}"
        );
        let mut gpu = Machine::new(0);
        let x = gpu.unwritten(1);
        let kernel = |t: Thread| async move { t.store(x, 0, 1.0).await };
        gpu.launch("write", [1, 1], [1, 1], kernel).unwrap();
        gpu.launch("write", [1, 1], [1, 1], kernel).unwrap();
        assert!((gpu.read(x)[0] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn threads_of_one_warp_race_too() {
        let mut gpu = Machine::new(0);
        let x = gpu.unwritten(1);
        let race = gpu.launch("all", [1, 1], [32, 1], |t| async move { t.store(x, 0, 1.0).await });
        assert!(matches!(race, Err(KernelFault::Race { both_write: true, .. })));
        // A thread may read what it has written; a neighbour may not, until a barrier.
        let run = |shift: usize, barrier: bool| {
            let mut gpu = Machine::new(0);
            let y = gpu.unwritten(32);
            gpu.launch("neighbour", [1, 1], [32, 1], |t| async move {
                let [tile] = t.shared([32]);
                t.store(tile, t.index[0], t.index[0] as f32).await;
                if barrier {
                    t.barrier().await;
                }
                let value = t.load(tile, (t.index[0] + shift) % 32).await;
                t.store(y, t.index[0], value).await;
            })
            .map(|_| gpu.read(y))
        };
        assert!(run(0, false).is_ok());
        assert!(matches!(run(1, false), Err(KernelFault::Race { both_write: false, .. })));
        let rotated: Vec<f32> = (0..32).map(|i| ((i + 1) % 32) as f32).collect();
        assert_eq!(run(1, true).unwrap(), rotated);
    }

    #[test]
    fn a_write_after_a_read_races_without_a_barrier() {
        for (barrier, ok) in [(false, false), (true, true)] {
            let mut gpu = Machine::new(3);
            let x = gpu.array(&[1.0; 64]);
            let result = gpu.launch("shift", [1, 1], [64, 1], |t| async move {
                let value = t.load(x, (t.index[0] + 1) % 64).await;
                if barrier {
                    t.barrier().await;
                }
                t.store(x, t.index[0], value).await;
            });
            assert_eq!(result.is_ok(), ok, "{result:?}");
        }
    }

    #[test]
    fn nothing_runs_where_there_are_no_blocks() {
        let counts = Machine::new(0).launch("none", [0, 3], [32, 1], |_| async {}).unwrap();
        assert_eq!(counts, Counts::default());
    }

    #[test]
    fn the_order_of_warps_follows_the_seed_alone() {
        // Each warp notes how many were there before it: the order in which they came.
        let order = |seed| {
            let mut gpu = Machine::unchecked(seed);
            let (came, at) = (gpu.array(&[0.0]), gpu.unwritten(8));
            gpu.launch("order", [1, 1], [8 * WARP, 1], |t| async move {
                if t.index[0].is_multiple_of(WARP) {
                    let before = t.load(came, 0).await;
                    t.store(came, 0, before + 1.0).await;
                    t.store(at, t.index[0] / WARP, before).await;
                }
            })
            .unwrap();
            gpu.read(at)
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(7);
        sorted.sort_by(f32::total_cmp);
        assert_eq!(sorted, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    }
}
