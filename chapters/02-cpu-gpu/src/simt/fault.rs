//! What a kernel can do wrong, each as a message that names the kernel, the threads and the lines.

use std::panic::Location;

/// A position in a kernel's source.
pub type Place = &'static Location<'static>;

/// A thread: its block and its index in it, (x, y) each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// The block.
    pub block: [usize; 2],
    /// The thread in the block.
    pub thread: [usize; 2],
}

impl std::fmt::Display for Who {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self { block: [bx, by], thread: [x, y] } = self;
        write!(f, "thread ({x}, {y}) of block ({bx}, {by})")
    }
}

/// A bug of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelFault {
    /// Two threads touch a word, at least one writes, and nothing says who comes first.
    #[error(
        "{kernel}: {one} (line {}) and {two} (line {}) touch word {word} of {memory} memory with no barrier \
         between them, and {}; put a barrier between the two lines, or give each thread words of its own",
        .at[0].line(),
        .at[1].line(),
        if *.both_write { "both write" } else { "one of them writes" }
    )]
    Race {
        /// The kernel.
        kernel: String,
        /// `shared` or `global`.
        memory: &'static str,
        /// The word's number in its array.
        word: usize,
        /// The thread that came first.
        one: Who,
        /// The thread that came second.
        two: Who,
        /// Where each of them is.
        at: [Place; 2],
        /// Whether both write.
        both_write: bool,
    },
    /// Some threads of a block wait at a barrier that others never reach.
    #[error(
        "{kernel}: {waiting} waits at the barrier in line {}, and {other} {}; every thread of a block must \
         reach the same barrier",
        .at.line(),
        match .elsewhere {
            Some(place) => format!("at another one, in line {}", place.line()),
            None => "has ended without it".to_owned(),
        }
    )]
    BarrierDivergence {
        /// The kernel.
        kernel: String,
        /// A thread that waits.
        waiting: Who,
        /// Where.
        at: Place,
        /// A thread that does not.
        other: Who,
        /// The barrier at which that one waits, if it has not ended.
        elsewhere: Option<Place>,
    },
    /// A thread reads or writes outside of an array.
    #[error(
        "{kernel}: {who} touches number {index} of a {memory} array of {len} in line {}; guard it with an `if`",
        .at.line()
    )]
    OutOfBounds {
        /// The kernel.
        kernel: String,
        /// `shared` or `global`.
        memory: &'static str,
        /// The thread.
        who: Who,
        /// Where.
        at: Place,
        /// The first element that is outside.
        index: usize,
        /// Numbers of the array.
        len: usize,
    },
    /// A thread reads a word that was never written.
    #[error(
        "{kernel}: {who} reads number {index} of a {memory} array in line {}, which was never written",
        .at.line()
    )]
    Unwritten {
        /// The kernel.
        kernel: String,
        /// `shared` or `global`.
        memory: &'static str,
        /// The thread.
        who: Who,
        /// Where.
        at: Place,
        /// The number.
        index: usize,
    },
    /// Four numbers at a time that do not begin at a multiple of four.
    #[error(
        "{kernel}: {who} accesses four values beginning with {index} in line {}; sixteen bytes at a time must \
         begin at a multiple of sixteen",
        .at.line()
    )]
    Misaligned {
        /// The kernel.
        kernel: String,
        /// The thread.
        who: Who,
        /// Where.
        at: Place,
        /// The first number.
        index: usize,
    },
    /// A launch that no GPU takes.
    #[error("{kernel}: {why}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// What is wrong with it, and the way out.
        why: String,
    },
}
