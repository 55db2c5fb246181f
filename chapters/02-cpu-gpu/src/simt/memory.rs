//! The two memories: global memory is moved in sectors of 32 bytes, shared memory is served by 32 banks.
//!
//! Sources: NVIDIA, CUDA C++ Programming Guide, sections on device memory accesses and on shared memory of
//! compute capability 5.0 and later; CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory".

use super::fault::{Place, Who};

/// Threads of a warp.
pub const WARP: usize = 32;
/// Bytes of a sector, the smallest piece of global memory that is moved.
pub const SECTOR: usize = 32;
/// Banks of shared memory, each 4 bytes wide.
pub const BANKS: usize = 32;

/// An array in global memory. It begins at a multiple of 256 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    pub(super) id: usize,
    pub(super) len: usize,
}

/// An array in the shared memory of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    pub(super) start: usize,
    pub(super) len: usize,
}

/// Where an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Memory of the whole device.
    Global(Global),
    /// Memory of a block.
    Shared(Shared),
}

impl Space {
    /// Numbers of the array.
    pub fn len(self) -> usize {
        match self {
            Self::Global(array) => array.len,
            Self::Shared(array) => array.len,
        }
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Global(_) => "global",
            Self::Shared(_) => "shared",
        }
    }
}

/// How many numbers an instruction moves for each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One number, 4 bytes.
    One,
    /// Four neighbouring numbers, 16 bytes.
    Four,
}

impl Width {
    /// The number of numbers.
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Four => 4,
        }
    }
}

// ANCHOR: sectors
/// How many sectors the words of one instruction lie in: what has to be moved.
pub fn sectors(words: impl IntoIterator<Item = usize>) -> u64 {
    let sector = |word| word * 4 / SECTOR;
    let mut sectors: Vec<usize> = words.into_iter().map(sector).collect();
    sectors.sort_unstable();
    sectors.dedup();
    sectors.len() as u64
}
// ANCHOR_END: sectors

// ANCHOR: passes
/// How many wavefronts shared memory takes for the words of one instruction. A
/// bank gives one word per wavefront; lanes that want the same word share it.
pub fn passes(words: impl IntoIterator<Item = usize>) -> u64 {
    let mut words: Vec<usize> = words.into_iter().collect();
    words.sort_unstable();
    words.dedup();
    let mut wanted = [0; BANKS];
    for word in words {
        wanted[word % BANKS] += 1;
    }
    wanted.into_iter().max().unwrap_or(0)
}
// ANCHOR_END: passes

/// Passes of an instruction whose lanes start at the words `starts` (`None` for a lane that takes no part), and
/// the passes that it would take without conflicts.
///
/// Sixteen bytes a lane are served in four groups of eight lanes; in two groups of sixteen if every lane wants
/// the same as its neighbour, or every lane the same as the next but one (NVIDIA's developer forum, topic 77228:
/// measured, not documented).
pub fn shared_passes(starts: &[Option<usize>], width: Width) -> (u64, u64) {
    let equal = |distance: usize| {
        (0..starts.len()).all(|lane| match starts.get(lane ^ distance) {
            Some(other) => other.is_none() || starts[lane].is_none() || *other == starts[lane],
            None => true,
        })
    };
    let group = match width {
        Width::One => WARP,
        Width::Four if equal(1) || equal(2) => WARP / 2,
        Width::Four => WARP / 4,
    };
    let mut sum = (0, 0);
    for lanes in starts.chunks(group) {
        let words = lanes.iter().flatten().flat_map(|start| *start..start + width.count());
        let passes = passes(words);
        sum.0 += passes;
        sum.1 += passes.min(1);
    }
    sum
}

/// One access to a word.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) who: Who,
    /// The thread's number in its block.
    pub(super) number: usize,
    /// Barriers that its block has passed.
    pub(super) epoch: u64,
    pub(super) at: Place,
}

impl Access {
    // ANCHOR: race
    /// Whether nothing orders this access and a later one: another thread,
    /// and no barrier between them. No barrier orders two blocks.
    fn races(&self, later: &Self) -> bool {
        let same_block = self.who.block == later.who.block;
        let same_thread = same_block && self.number == later.number;
        let ordered = same_block && self.epoch < later.epoch;
        !(same_thread || ordered)
    }
    // ANCHOR_END: race
}

/// A word and who touched it.
#[derive(Clone, Copy)]
pub(super) struct Word {
    pub(super) value: f32,
    pub(super) written: bool,
    writer: Option<Access>,
    /// The last reader, and the last that was another thread.
    readers: [Option<Access>; 2],
}

impl Word {
    /// A word that holds a number.
    pub(super) fn new(value: f32) -> Self {
        Self { value, written: true, writer: None, readers: [None; 2] }
    }

    /// A word that holds nothing.
    pub(super) fn unwritten() -> Self {
        Self { written: false, ..Self::new(f32::NAN) }
    }

    /// Forgets who touched it: a launch is over.
    pub(super) fn settle(&mut self) {
        (self.writer, self.readers) = (None, [None; 2]);
    }

    /// Notes that a thread reads it. Returns a writer that nothing orders with it.
    pub(super) fn read(&mut self, access: Access) -> Option<Access> {
        if self.readers[0].is_some_and(|last| last.races(&Access { epoch: last.epoch, ..access })) {
            self.readers[1] = self.readers[0];
        }
        self.readers[0] = Some(access);
        self.writer.filter(|writer| writer.races(&access))
    }

    /// Notes that a thread writes it. Returns an access that nothing orders with it, and whether that one also
    /// writes.
    pub(super) fn write(&mut self, access: Access, value: f32) -> Option<(Access, bool)> {
        let writer = self.writer.filter(|writer| writer.races(&access)).map(|other| (other, true));
        let reader = self.readers.iter().flatten().find(|reader| reader.races(&access));
        (self.writer, self.value, self.written) = (Some(access), value, true);
        writer.or(reader.map(|reader| (*reader, false)))
    }
}
