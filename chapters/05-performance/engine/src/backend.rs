//! What a device does for a program. Nothing above this trait knows which device it is.

use crate::{
    program::{BLOCKS, Program},
    ranks::Failed,
    tensor::{Place, Tensor},
};
use std::borrow::Cow;

/// A device with memory of its own.
///
/// What fails on a device that can fail (memory, a compiler, a kernel that an operation has not) is kept, as CUDA's own errors
/// are: nothing is done from then on, and who looks at the numbers asks the device first.
// ANCHOR: backend
pub trait Backend {
    /// A program with its plan, memory, compiled kernels, recorded graph.
    type Loaded;
    /// An output that is on its way.
    type Fetching;

    /// What its programs are recorded for.
    fn form(&self) -> Form;

    /// Memory that outlives programs; what it holds stays.
    fn allocate(&mut self, place: Place, words: usize);

    /// Copies numbers to a tensor that outlives its program.
    fn write(&mut self, to: Tensor, words: &[f32]);

    /// The numbers of such a tensor, when all that was started is done.
    fn read(&self, from: Tensor) -> Cow<'_, [f32]>;

    /// Makes a program ready.
    fn load(&mut self, program: Program) -> Self::Loaded;

    /// Runs a program, or starts it.
    fn run(&mut self, loaded: &Self::Loaded);
    // ANCHOR_END: backend

    /// Starts to fetch a program's output as it is now: what runs later
    /// may change it.
    fn fetch(&mut self, loaded: &Self::Loaded, number: usize) -> Self::Fetching;

    /// What was fetched, when it is there.
    fn fetched(&mut self, fetching: Self::Fetching) -> Vec<f32>;

    /// Whether all has gone well, with other ranks too. After a failure no program does anything: this rank's next message would
    /// meet another step's.
    ///
    /// # Errors
    /// What failed first; from the second time on, its sentence.
    fn told(&mut self) -> Result<(), Failed>;
}

/// What suits a device in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Blocks into which rows are cut, whatever the number of threads: sums over rows are added block by block.
    pub blocks: usize,
    /// Whether a block goes through several calls while it is in a cache, so that what a call reads is laid out for it; or each
    /// call is a kernel of a GPU, which lays out what it reads by itself.
    pub cached: bool,
    /// Whether the gradient of the data, which nobody reads, is left out.
    pub unused: bool,
}

impl Form {
    /// For the CPU.
    pub const CPU: Self = Self { blocks: BLOCKS, cached: true, unused: true };
}
