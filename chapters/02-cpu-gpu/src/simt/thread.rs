//! What a kernel sees: its own indices, memory, and the barrier.
//!
//! A kernel is written for one thread, as in CUDA and OpenCL. It is an `async` function, and each `.await` hands
//! an instruction to the machine, which goes on with the other threads of the warp first. Arithmetic needs no
//! `.await`: it concerns no other thread.

use super::{
    fault::Place,
    memory::{Global, Shared, Space, Width},
};
use std::{
    cell::{Cell, RefCell},
    future::Future,
    panic::Location,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

/// What a thread asks the machine to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Request {
    /// Read one or four numbers.
    Load(Space, usize, Width),
    /// Write one or four numbers.
    Store(Space, usize, Width, [f32; 4]),
    /// Wait for the block.
    Barrier,
}

/// Where a thread and the machine meet: the request, and then the reply.
#[derive(Default)]
pub(super) struct Mailbox {
    pub(super) request: RefCell<Option<(Request, Place)>>,
    pub(super) reply: Cell<[f32; 4]>,
    pub(super) flops: Cell<u64>,
    pub(super) shared: Cell<usize>,
}

/// A thread of a launch.
#[derive(Clone)]
pub struct Thread {
    /// Blocks of the grid along x and y.
    pub grid: [usize; 2],
    /// Threads of a block along x and y.
    pub block: [usize; 2],
    /// This thread's block, (x, y).
    pub block_index: [usize; 2],
    /// This thread in its block, (x, y).
    pub index: [usize; 2],
    pub(super) mailbox: Rc<Mailbox>,
}

impl Thread {
    /// The thread's number in its block, in which x counts fastest. Its warp is this number over 32.
    pub fn number(&self) -> usize {
        self.index[1] * self.block[0] + self.index[0]
    }

    /// One number from global or shared memory.
    #[track_caller]
    pub fn load(&self, array: impl Into<Space>, index: usize) -> Instruction<f32> {
        self.instruct(Request::Load(array.into(), index, Width::One), |reply| reply[0])
    }

    /// Four neighbouring numbers, in one instruction. `index` must be a multiple of four.
    #[track_caller]
    pub fn load4(&self, array: impl Into<Space>, index: usize) -> Instruction<[f32; 4]> {
        self.instruct(Request::Load(array.into(), index, Width::Four), |reply| reply)
    }

    /// Writes one number.
    #[track_caller]
    pub fn store(&self, array: impl Into<Space>, index: usize, value: f32) -> Instruction<()> {
        let request = Request::Store(array.into(), index, Width::One, [value; 4]);
        self.instruct(request, |_| ())
    }

    /// Writes four neighbouring numbers, in one instruction. `index` must be a multiple of four.
    #[track_caller]
    pub fn store4(
        &self,
        array: impl Into<Space>,
        index: usize,
        values: [f32; 4],
    ) -> Instruction<()> {
        self.instruct(Request::Store(array.into(), index, Width::Four, values), |_| ())
    }

    /// Waits until every thread of the block is here.
    #[track_caller]
    pub fn barrier(&self) -> Instruction<()> {
        self.instruct(Request::Barrier, |_| ())
    }

    /// x · y + z, and two operations on the count.
    pub fn fma(&self, x: f32, y: f32, z: f32) -> f32 {
        self.mailbox.flops.set(self.mailbox.flops.get() + 2);
        x * y + z
    }

    /// x + y, and one operation on the count.
    pub fn add(&self, x: f32, y: f32) -> f32 {
        self.mailbox.flops.set(self.mailbox.flops.get() + 1);
        x + y
    }

    /// Declares arrays of shared memory with so many numbers each. Every thread must declare the same, once.
    pub fn shared<const N: usize>(&self, lens: [usize; N]) -> [Shared; N] {
        let mut start = 0;
        let arrays = lens.map(|len| {
            let array = Shared { start, len };
            start += len.next_multiple_of(4); // so that each can be read four at a time
            array
        });
        self.mailbox.shared.set(start);
        arrays
    }

    #[track_caller]
    fn instruct<T>(&self, request: Request, take: fn([f32; 4]) -> T) -> Instruction<T> {
        // The caller's line is the program counter of this thread.
        Instruction {
            mailbox: Rc::clone(&self.mailbox),
            ask: Some((request, Location::caller())),
            take,
        }
    }
}

/// An instruction for the machine, done when it has been awaited.
pub struct Instruction<T> {
    mailbox: Rc<Mailbox>,
    ask: Option<(Request, Place)>,
    take: fn([f32; 4]) -> T,
}

// ANCHOR: future
impl<T> Future for Instruction<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context) -> Poll<T> {
        match self.ask.take() {
            // First: leave the request on the desk, and let others run.
            Some(ask) => {
                *self.mailbox.request.borrow_mut() = Some(ask);
                Poll::Pending
            }
            // The machine has replied and wakes this thread.
            None => Poll::Ready((self.take)(self.mailbox.reply.get())),
        }
    }
}
// ANCHOR_END: future

impl From<Global> for Space {
    fn from(array: Global) -> Self {
        Self::Global(array)
    }
}

impl From<Shared> for Space {
    fn from(array: Shared) -> Self {
        Self::Shared(array)
    }
}
