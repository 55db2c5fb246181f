//! Where the operands of calls lie while a program runs.

use crate::{
    plan::{Plan, Slot},
    program::{Block, Rows, block_of},
    tensor::{Cut, Operand, Place, Tensor},
};

/// The most operands of a kernel.
const OPERANDS: usize = 10;

/// Where each buffer begins while a program runs.
pub struct Bases<'a> {
    /// Where temporaries lie.
    pub plan: &'a Plan,
    /// The buffers of [`Place::LASTING`].
    pub lasting: [*mut f32; Place::LASTING.len()],
    /// What all threads share.
    pub arena: *mut f32,
    /// Each thread's own, one behind the other.
    pub scratch: *mut f32,
}

// SAFETY: blocks share what they read and write to rows of their own; scratch memory is a thread's. Both are what
// `Recorder::rows`, `Call::follows` and `Plan` see to.
unsafe impl Sync for Bases<'_> {}

impl Bases<'_> {
    /// Where a thread finds what a block sees of an operand.
    pub fn span(
        &self,
        operand: Operand,
        units: usize,
        block: usize,
        thread: usize,
    ) -> (*mut f32, usize) {
        let (tensor, plan) = (operand.tensor, self.plan);
        let (base, scratch) = match tensor.place {
            Place::Temporary(id) => match plan.slots[id as usize] {
                Slot::Arena(at) => (self.arena.wrapping_add(at), false),
                Slot::Scratch(at) => (self.scratch.wrapping_add(thread * plan.scratch + at), true),
            },
            place => (self.lasting[place.lasting()], false),
        };
        let at = base.wrapping_add(tensor.start);
        match operand.cut {
            Cut::Whole => (at, tensor.words()),
            Cut::Part => (at.wrapping_add(block * tensor.cols), tensor.cols),
            Cut::Rows => {
                let (row, first) = (tensor.words() / units, block * block_of(units));
                let rows = block_of(units).min(units - first);
                (if scratch { at } else { at.wrapping_add(first * row) }, rows * row)
            }
        }
    }

    /// Runs a kernel on a block.
    pub fn kernel(&self, rows: &Rows, block: usize, thread: usize) {
        let mut spans = [(std::ptr::null_mut(), 0); OPERANDS];
        for (span, operand) in spans.iter_mut().zip(&rows.operands) {
            *span = self.span(*operand, rows.units, block, thread);
        }
        let first = block * block_of(rows.units);
        (rows.kernel)(&Block { first, spans: &spans[..rows.operands.len()] });
    }

    /// All of a tensor, to be read.
    pub fn whole(&self, tensor: Tensor) -> &[f32] {
        let (at, words) = self.span(tensor.whole(), 1, 0, 0);
        // SAFETY: the plan found so many words for it; calls that write to it are not running.
        unsafe { std::slice::from_raw_parts(at, words) }
    }

    /// What a span holds, to be written.
    pub fn written<'m>((at, words): (*mut f32, usize)) -> &'m mut [f32] {
        // SAFETY: only for the result of a product, which is the group's only call; blocks of it do not overlap.
        unsafe { std::slice::from_raw_parts_mut(at, words) }
    }
}
