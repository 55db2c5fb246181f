//! A block while it runs: its shared memory, its way to global memory, and what both see of its threads.

use super::{
    counts::{Counts, Event},
    fault::KernelFault,
    memory::{Access, Space, Width, Word},
};

/// Bytes of shared memory that a block may declare, as on NVIDIA's GPUs without asking for more.
pub const SHARED_LIMIT: usize = 48 * 1024;

/// A block while it runs.
pub(super) struct BlockState<'m> {
    pub(super) kernel: &'m str,
    /// Global memory, array by array.
    pub(super) arrays: &'m mut [Vec<Word>],
    pub(super) shared: Vec<Word>,
    /// Barriers that it has passed.
    pub(super) epoch: u64,
    pub(super) counts: Counts,
    /// Whether races and unwritten words are looked for.
    pub(super) check: bool,
    /// The warp whose events are kept.
    pub(super) watched: Option<usize>,
    pub(super) events: &'m mut Vec<Event>,
}

impl BlockState<'_> {
    /// Keeps an event if its warp is watched.
    pub(super) fn watch(&mut self, warp: usize, event: impl FnOnce() -> Event) {
        if self.watched == Some(warp) {
            self.events.push(event());
        }
    }

    /// The words that an access touches, or what is wrong with it.
    fn words(
        &mut self,
        space: Space,
        index: usize,
        width: Width,
        access: &Access,
    ) -> Result<&mut [Word], KernelFault> {
        let kernel = || self.kernel.to_owned();
        let (who, at, len) = (access.who, access.at, space.len());
        if width == Width::Four && !index.is_multiple_of(4) {
            return Err(KernelFault::Misaligned { kernel: kernel(), who, at, index });
        }
        let end = index.saturating_add(width.count());
        if end > len {
            let memory = space.name();
            let index = index.max(len);
            return Err(KernelFault::OutOfBounds { kernel: kernel(), memory, who, at, index, len });
        }
        match space {
            Space::Global(array) => Ok(&mut self.arrays[array.id][index..end]),
            Space::Shared(array) => {
                let wanted = array.start + array.len;
                if 4 * wanted > SHARED_LIMIT {
                    let why = format!(
                        "a block wants {} bytes of shared memory, and {SHARED_LIMIT} is all it can have; take \
                         smaller tiles",
                        4 * wanted
                    );
                    return Err(KernelFault::Launch { kernel: kernel(), why });
                }
                if self.shared.len() < wanted {
                    self.shared.resize(wanted, Word::unwritten());
                }
                Ok(&mut self.shared[array.start + index..array.start + end])
            }
        }
    }

    /// One or four numbers.
    pub(super) fn load(
        &mut self,
        space: Space,
        index: usize,
        width: Width,
        access: Access,
    ) -> Result<[f32; 4], KernelFault> {
        let check = self.check;
        let mut values = [0.0; 4];
        let mut found = None;
        let words = self.words(space, index, width, &access)?;
        for (at, (word, value)) in words.iter_mut().zip(&mut values).enumerate() {
            *value = word.value;
            if let Some(other) = word.read(access) {
                found = found.or(Some((index + at, Some(other))));
            } else if !word.written {
                found = found.or(Some((index + at, None)));
            }
        }
        match found {
            Some((word, Some(other))) if check => Err(self.race(space, word, other, access, false)),
            Some((index, None)) if check => Err(KernelFault::Unwritten {
                kernel: self.kernel.to_owned(),
                memory: space.name(),
                who: access.who,
                at: access.at,
                index,
            }),
            _ => Ok(values),
        }
    }

    /// Writes one or four numbers.
    pub(super) fn store(
        &mut self,
        space: Space,
        index: usize,
        values: &[f32],
        access: Access,
    ) -> Result<(), KernelFault> {
        let check = self.check;
        let width = if values.len() == 1 { Width::One } else { Width::Four };
        let mut found = None;
        let words = self.words(space, index, width, &access)?;
        for (at, (word, value)) in words.iter_mut().zip(values).enumerate() {
            if let Some((other, writes)) = word.write(access, *value) {
                found = found.or(Some((index + at, other, writes)));
            }
        }
        match found {
            Some((word, other, writes)) if check => {
                Err(self.race(space, word, other, access, writes))
            }
            _ => Ok(()),
        }
    }

    fn race(&self, space: Space, word: usize, one: Access, two: Access, both: bool) -> KernelFault {
        KernelFault::Race {
            kernel: self.kernel.to_owned(),
            memory: space.name(),
            word,
            one: one.who,
            two: two.who,
            at: [one.at, two.at],
            both_write: both,
        }
    }
}
