//! An epoch from disk in a shuffled order, with room for a few blocks alone. Nothing is lost, and nothing comes twice.

use super::store::Store;
use crate::{Error, Result};
use backprop::random::{SplitMix64, key};

/// How an epoch is shuffled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    /// As the records lie in the file.
    None,
    /// Blocks in a random order; this many at a time are read and their records mixed. 1 mixes within a block alone. With
    /// blocks of one record, the order of the blocks is a whole shuffle.
    Window(usize),
    /// Blocks in a random order, and a buffer of this many records: each that leaves is drawn at random, and the next from
    /// the file takes its place.
    Buffer(usize),
}

/// The records of one epoch.
pub struct Epoch {
    store: Store,
    shuffle: Shuffle,
    random: SplitMix64,
    /// Blocks that are not read yet, the next one last.
    blocks: Vec<usize>,
    /// Records in memory: those before `next` have been given away.
    bytes: Vec<u8>,
    /// The order in which records of `bytes` leave, for a window.
    order: Vec<usize>,
    next: usize,
    /// The buffer of records that are drawn from.
    buffer: Vec<u8>,
}

impl Epoch {
    /// An epoch; its order is a function of `seed` and `epoch`.
    ///
    /// # Errors
    /// [`Error::Config`] for a window or a buffer of nothing.
    pub fn new(store: Store, shuffle: Shuffle, seed: u64, epoch: usize) -> Result<Self> {
        if matches!(shuffle, Shuffle::Window(0) | Shuffle::Buffer(0)) {
            return Err(Error::Config(
                "a shuffle needs room for at least one record; give 1 or more".to_owned(),
            ));
        }
        let mut random = SplitMix64::new(key(&[seed, epoch as u64]));
        let mut blocks: Vec<usize> = (0..store.blocks()).rev().collect();
        if shuffle != Shuffle::None {
            mix(&mut blocks, &mut random);
        }
        let (bytes, order, buffer) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { store, shuffle, random, blocks, bytes, order, next: 0, buffer })
    }

    /// Bytes of an epoch in memory, at most: its blocks, its buffer, and one block as it lies in the file.
    /// The table of blocks is small next to them.
    pub fn needs(store: &Store, shuffle: Shuffle) -> usize {
        let layout = store.layout();
        let block = layout.record * layout.block;
        let stored = if layout.packed { block + block / 1000 + 64 } else { block };
        let table = store.blocks() * 32;
        stored
            + table
            + match shuffle {
                Shuffle::None => block,
                Shuffle::Window(window) => window * (block + 8 * layout.block),
                Shuffle::Buffer(records) => block + records * layout.record,
            }
    }

    /// Appends the next record to `to`; false if the epoch is over.
    ///
    /// # Errors
    /// As [`Store::read`].
    pub fn next_into(&mut self, to: &mut Vec<u8>) -> Result<bool> {
        let Shuffle::Buffer(room) = self.shuffle else { return self.forward(to) };
        self.drawn(room, to)
    }

    /// The next record of the blocks in memory, which are read when the last ones are used up.
    fn forward(&mut self, to: &mut Vec<u8>) -> Result<bool> {
        let record = self.store.layout().record;
        if self.next == self.order.len() {
            let window = if let Shuffle::Window(window) = self.shuffle { window } else { 1 };
            self.bytes.clear();
            let block = record * self.store.layout().block;
            self.bytes.reserve_exact(window.min(self.blocks.len()) * block);
            for _ in 0..window {
                let Some(block) = self.blocks.pop() else { break };
                self.store.read(block, &mut self.bytes)?;
            }
            self.order.clear();
            self.order.extend(0..self.bytes.len() / record);
            self.next = 0;
            if matches!(self.shuffle, Shuffle::Window(_)) {
                mix(&mut self.order, &mut self.random);
            }
            if self.order.is_empty() {
                return Ok(false);
            }
        }
        let at = self.order[self.next] * record;
        self.next += 1;
        to.extend_from_slice(&self.bytes[at..at + record]);
        Ok(true)
    }

    // ANCHOR: buffer
    /// The next record from a buffer with room for `room` of them.
    fn drawn(&mut self, room: usize, to: &mut Vec<u8>) -> Result<bool> {
        let record = self.store.layout().record;
        let mut buffer = std::mem::take(&mut self.buffer);
        let most = room.min(self.store.len()) * record;
        buffer.reserve_exact(most.saturating_sub(buffer.len()));
        while buffer.len() < most && self.forward(&mut buffer)? {}
        let there = buffer.len() / record;
        if there > 0 {
            // One at random leaves, and the last one takes its place.
            let at = self.random.below(there) * record;
            to.extend_from_slice(&buffer[at..at + record]);
            buffer.copy_within((there - 1) * record.., at);
            buffer.truncate((there - 1) * record);
        }
        self.buffer = buffer;
        Ok(there > 0)
    }
    // ANCHOR_END: buffer
}

/// Fisher and Yates' shuffle.
fn mix(values: &mut [usize], random: &mut SplitMix64) {
    for last in (1..values.len()).rev() {
        values.swap(last, random.below(last + 1));
    }
}

/// Records in batches of `batch`; the last one may be smaller. After an error comes nothing more.
pub struct Batches {
    epoch: Epoch,
    batch: usize,
    over: bool,
}

impl Batches {
    /// The batches of an epoch.
    ///
    /// # Errors
    /// [`Error::Config`] for batches of nothing.
    pub fn new(epoch: Epoch, batch: usize) -> Result<Self> {
        if batch == 0 {
            return Err(Error::Config("a batch needs at least one record".to_owned()));
        }
        Ok(Self { epoch, batch, over: false })
    }

    fn read(&mut self) -> Result<Vec<u8>> {
        let record = self.epoch.store.layout().record;
        let mut batch = Vec::with_capacity(self.batch.min(self.epoch.store.len()) * record);
        for _ in 0..self.batch {
            if !self.epoch.next_into(&mut batch)? {
                break;
            }
        }
        Ok(batch)
    }
}

impl Iterator for Batches {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        if self.over {
            return None;
        }
        let batch = self.read();
        self.over = !matches!(&batch, Ok(bytes) if !bytes.is_empty());
        match batch {
            Ok(bytes) if bytes.is_empty() => None,
            batch => Some(batch),
        }
    }
}

/// The mean number of different values of `label` among `batch` records in a row, over whole batches. In a whole shuffle of
/// c classes of equal size it is c·(1 − (1 − 1/c)^batch).
pub fn variety(labels: &[u8], batch: usize) -> f64 {
    let batches = labels.chunks_exact(batch.max(1));
    let count = batches.len().max(1) as f64;
    let different = |labels: &[u8]| {
        let mut seen = [false; 256];
        for label in labels {
            seen[usize::from(*label)] = true;
        }
        seen.iter().filter(|seen| **seen).count() as f64
    };
    batches.map(different).sum::<f64>() / count
}
