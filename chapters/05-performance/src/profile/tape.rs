//! A tape that reads the clock. dfdx asks the tape to note each operation right after it has computed it; this one
//! also notes the time, and wraps the operation's backward so that it is timed when it runs.

use dfdx::prelude::*;
use std::{cell::RefCell, time::Instant};
use training::{
    engine::Engine,
    norm::{BatchNorm, Mode, Norm, Rows, Traced},
};

lab::named! {
    /// What was going on in an event.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Phase("phase") {
        /// The images of the batch are copied together.
        Gather = "gather",
        /// From the images to the scores.
        Forward = "forward",
        /// The scores are copied to the host, and the correct predictions counted.
        Host = "host",
        /// From the scores to one number.
        Loss = "loss",
        /// The way back, through the loss and the model.
        Backward = "backward",
        /// The weights move.
        Update = "update",
        /// The gradients become zero.
        Zero = "zero",
    }
}

/// A stretch of time between two looks at the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// What was going on.
    pub phase: Phase,
    /// What it is, if it is no operation of the tape.
    pub what: &'static str,
    /// Which operation of the step it was, from 0: the backward operation has the number of the forward one. `None` for
    /// what is no operation of the tape.
    pub op: Option<usize>,
    /// Seconds from the start of the step to the beginning.
    pub start: f64,
    /// Seconds from the start of the step to the end, where the next event begins.
    pub end: f64,
}

impl Event {
    /// Seconds that it took.
    pub fn seconds(&self) -> f64 {
        self.end - self.start
    }
}

/// An operation of the tape: a number tells it from the others.
const OPERATION: &str = "operation";

/// The events of a step, as they come.
struct Log {
    began: Instant,
    last: f64,
    phase: Phase,
    ops: usize,
    /// Whether an operation is under way that consists of others, of which nothing is noted.
    inside: bool,
    events: Vec<Event>,
}

thread_local! {
    // Each use of a parameter makes a tape out of nothing (`Default`), so a tape has no room for a handle.
    static LOG: RefCell<Option<Log>> = const { RefCell::new(None) };
}

/// Starts a recording on this thread; one that is under way is forgotten.
pub fn start() {
    let events = Vec::with_capacity(1024); // room enough that growing is not measured
    let log = Log {
        began: Instant::now(),
        last: 0.0,
        phase: Phase::Gather,
        ops: 0,
        inside: false,
        events,
    };
    LOG.set(Some(log));
}

/// Operations on the tape belong to this phase from here.
pub fn enter(phase: Phase) {
    LOG.with_borrow_mut(|log| {
        if let Some(log) = log {
            log.phase = phase;
        }
    });
}

/// Ends the stretch of time since the last event and gives it a name. Without a recording it does nothing.
pub fn mark(phase: Phase, what: &'static str) {
    note(phase, what, None);
}

/// Ends the recording: its events, without gaps.
pub fn finish() -> Vec<Event> {
    LOG.take().map(|log| log.events).unwrap_or_default()
}

// ANCHOR: note
fn note(phase: Phase, what: &'static str, op: Option<usize>) {
    LOG.with_borrow_mut(|log| {
        let Some(log) = log else { return };
        // One look at the clock ends an event and begins the next one.
        let (start, end) = (log.last, log.began.elapsed().as_secs_f64());
        log.events.push(Event { phase, what, op, start, end });
        log.last = end;
    });
}
// ANCHOR_END: note

/// Notes that an operation has been computed, and gives its number.
fn forward() -> usize {
    let (phase, op) = LOG.with_borrow_mut(|log| match log {
        Some(log) => {
            log.ops += 1;
            (log.phase, log.ops - 1)
        }
        None => (Phase::Forward, 0),
    });
    note(phase, OPERATION, Some(op));
    op
}

// ANCHOR: tape
/// dfdx's tape, and a look at the clock whenever it is written or read.
pub struct Timed<D: Engine>(OwnedTape<f32, D>);

impl<D: Engine> Tape<f32, D> for Timed<D> {
    const OWNS_TAPE: bool = true;

    fn add_backward_op<F>(&mut self, operation: F)
    where
        F: 'static + FnOnce(&mut Gradients<f32, D>) -> Result<(), D::Err>,
    {
        if is_inside() {
            return self.0.add_backward_op(operation); // part of another
        }
        let op = forward();
        self.0.add_backward_op(move |grads| {
            let result = operation(grads);
            note(Phase::Backward, OPERATION, Some(op));
            result
        });
    }
}
// ANCHOR_END: tape

impl<D: Engine> Default for Timed<D> {
    fn default() -> Self {
        Self(OwnedTape::default())
    }
}

impl<D: Engine> Merge<NoneTape> for Timed<D> {
    fn merge(self, _: NoneTape) -> Self {
        self
    }
}

impl<D: Engine> Merge<Self> for Timed<D> {
    fn merge(self, other: Self) -> Self {
        Self(self.0.merge(other.0))
    }
}

/// Whether nothing is noted: an operation that consists of others is under way.
fn is_inside() -> bool {
    LOG.with_borrow(|log| log.as_ref().is_some_and(|log| log.inside))
}

fn set_inside(inside: bool) {
    LOG.with_borrow_mut(|log| {
        if let Some(log) = log {
            log.inside = inside;
        }
    });
}

impl<D: Engine> Mode<D> for Timed<D> {
    /// dfdx's normalisation wants dfdx's own tape, and gets it.
    fn normalise<const C: usize>(
        rows: Rows<C, D, Self>,
        norm: &mut Norm<C, f32, D>,
    ) -> Result<Rows<C, D, Self>, D::Err>
    where
        D: BatchNorm,
    {
        Self::whole(rows, |rows| {
            let (rows, Self(tape)) = rows.split_tape();
            let (rows, tape) = Traced::normalise(rows.put_tape(tape), norm)?.split_tape();
            Ok(rows.put_tape(Self(tape)))
        })
    }

    fn whole<A: Shape, B: Shape, F>(
        x: Tensor<A, f32, D, Self>,
        work: F,
    ) -> Result<Tensor<B, f32, D, Self>, D::Err>
    where
        F: FnOnce(Tensor<A, f32, D, Self>) -> Result<Tensor<B, f32, D, Self>, D::Err>,
    {
        if is_inside() {
            return work(x);
        }
        let (x, Self(mut tape)) = x.split_tape();
        let op = LOG.with_borrow(|log| log.as_ref().map_or(0, |log| log.ops));
        // Tapes run backwards: what is written before the operation runs after it.
        tape.add_backward_op(move |_| {
            note(Phase::Backward, OPERATION, Some(op));
            Ok(())
        });
        set_inside(true);
        let found = work(x.put_tape(Self(tape)));
        set_inside(false);
        forward();
        found
    }
}

/// Puts a timed tape on images. `grads` are borrowed, as [`Trace::traced`] does.
pub fn timed<S: Shape, D: Engine>(
    tensor: Tensor<S, f32, D>,
    grads: Gradients<f32, D>,
) -> Tensor<S, f32, D, Timed<D>> {
    let (tensor, tape) = tensor.traced(grads).split_tape();
    tensor.put_tape(Timed(tape))
}

/// Takes the watch off: dfdx's own tape is left, with the operations that note their times when they run.
pub fn untimed<S: Shape, D: Engine>(
    tensor: Tensor<S, f32, D, Timed<D>>,
) -> Tensor<S, f32, D, OwnedTape<f32, D>> {
    let (tensor, Timed(tape)) = tensor.split_tape();
    tensor.put_tape(tape)
}
