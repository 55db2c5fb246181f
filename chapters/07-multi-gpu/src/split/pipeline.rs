//! A pipeline: the batch is cut into micro-batches, and while one of them is on the second rank, the first rank works
//! on the next. All micro-batches are one program, recorded in the order of the schedule.

use super::{
    group::ALL,
    schedule::{Direction, Slot, Work},
};
use crate::{Communicator, Rank, Result, part_of};
use engine::{
    model::Model,
    ops::{Backward, chain, loss},
    program::{Call, What},
    record::Recorder,
    tensor::{Place, Tensor},
};
use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// A rank's position among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The rank with the layers before, if any.
    pub before: Option<Rank>,
    /// The rank with the layers after, if any.
    pub after: Option<Rank>,
    /// The ranks with the other parts of the same layers: this rank alone, if they are whole.
    pub tensor: Vec<Rank>,
}

/// A device that is slower than this CPU: the least time that forward and backward take. While a GPU computes, the CPU
/// sleeps; so it does here, so that more stages than cores can compute side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pace {
    /// Seconds of a micro-batch forward.
    pub forward: f64,
    /// Seconds of a micro-batch backward.
    pub backward: f64,
}

impl Pace {
    /// Waits until the work that began at `start` has taken its time.
    fn keep(self, direction: Direction, start: Instant) {
        let least = match direction {
            Direction::Forward => self.forward,
            Direction::Backward => self.backward,
        };
        let left = Duration::from_secs_f64(least).saturating_sub(start.elapsed());
        if !left.is_zero() {
            thread::sleep(left);
        }
    }
}

/// When a rank did what in its last step.
pub struct Clock {
    /// The rank's stage.
    pub stage: usize,
    /// How slow its device is.
    pub pace: Pace,
    /// When time began, for all ranks.
    pub since: Instant,
    /// When the work that it does began, and what it has done.
    pub done: Mutex<(Instant, Vec<Slot>)>,
}

impl Clock {
    /// What was done so far.
    pub fn done(&self) -> MutexGuard<'_, (Instant, Vec<Slot>)> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the work has ended.
    fn ends(&self, work: Work) {
        let start = self.done().0;
        self.pace.keep(work.direction, start);
        let at = |time: Instant| time.duration_since(self.since).as_secs_f64();
        let (start, end) = (at(start), at(Instant::now()));
        self.done().1.push(Slot { stage: self.stage, work, start, end });
    }
}

/// What goes from one stage to the next, or back, and to whom.
pub type Out = Option<(Rank, Vec<f32>)>;

/// A stage of a pipeline, to be recorded.
pub struct Stage {
    /// Its position.
    pub seat: Seat,
    /// Its work.
    pub order: Vec<Work>,
    /// How many micro-batches a batch is cut into.
    pub micros: usize,
    /// Rows and columns of what it takes for an image.
    pub input: [usize; 2],
    /// Images that stay together.
    pub rows: usize,
    /// Looks on.
    pub clock: Arc<Clock>,
}

/// Micro-batches that have gone forward: what records their way back, and where it begins.
type Waiting = BTreeMap<usize, (Backward, Tensor)>;

impl Stage {
    /// Records the work, in its order. Returns the sums of the losses.
    pub fn record(&self, cx: &mut Recorder, model: &Model) -> Vec<Tensor> {
        let (rows, mut sums) = (cx.pass.rows, Vec::new());
        let (mut waiting, mut out) = (Waiting::new(), None);
        let clock = Arc::clone(&self.clock);
        cx.rows("start", 1, [], [], move |_, [], []| clock.done().1.clear());
        // ANCHOR: record
        for work in &self.order {
            let part = portion(rows, self.rows, work.micro, self.micros);
            if part.is_empty() {
                continue; // more micro-batches than images
            }
            (cx.first, cx.pass.rows) = (part.start, part.len());
            if work.direction == Direction::Forward {
                let x = self.input(cx, &mut out);
                let (y, backward) = chain(&model.ops, cx, x);
                let dy = self.output(cx, y, (&mut out, &mut sums));
                waiting.insert(work.micro, (backward, dy));
            } else if let Some(kept) = waiting.remove(&work.micro) {
                let (backward, dy) = kept;
                let dy = self.upstream(cx, dy, &mut out);
                out = self.seat.before.zip(backward(cx, dy));
            }
            self.ends(cx, *work);
        }
        messages(cx, &mut out, None, None);
        // ANCHOR_END: record
        (cx.first, cx.pass.rows) = (0, rows);
        sums
    }

    /// What a micro-batch begins with: its images, or what the stage before makes of them.
    fn input(&self, cx: &mut Recorder, out: &mut Option<(Rank, Tensor)>) -> Tensor {
        let ([rows, cols], images) = (self.input, cx.pass.rows);
        let got = self.seat.before.map(|_| cx.tensor(images * rows, cols));
        messages(cx, out, self.seat.before, got);
        self.begins(cx);
        got.unwrap_or_else(|| {
            let start = cx.first * rows * cols;
            let images = Tensor::new(Place::Input, start, images * rows, cols);
            Tensor { constant: true, ..images }
        })
    }

    /// What becomes of a micro-batch's result: it goes to the next stage, or has a loss. Returns its gradient, or what has the
    /// gradient's shape.
    fn output(
        &self,
        cx: &mut Recorder,
        y: Tensor,
        (out, sums): (&mut Option<(Rank, Tensor)>, &mut Vec<Tensor>),
    ) -> Tensor {
        *out = self.seat.after.map(|after| (after, y));
        if out.is_some() {
            return y;
        }
        let labels = Tensor::new(Place::Labels, cx.first, cx.pass.rows, 1);
        let [dy, sum] = cx.of("loss", |cx| loss::record(cx, y, labels));
        sums.push(sum);
        dy
    }

    /// The gradient of a micro-batch's result, if need be from the next stage.
    fn upstream(&self, cx: &mut Recorder, dy: Tensor, out: &mut Option<(Rank, Tensor)>) -> Tensor {
        let got = self.seat.after.map(|_| cx.like(dy));
        messages(cx, out, self.seat.after, got);
        self.begins(cx);
        got.unwrap_or(dy)
    }

    fn begins(&self, cx: &mut Recorder) {
        let clock = Arc::clone(&self.clock);
        cx.rows("begin", 1, [], [], move |_, [], []| clock.done().0 = Instant::now());
    }

    fn ends(&self, cx: &mut Recorder, work: Work) {
        let clock = Arc::clone(&self.clock);
        cx.rows(END, 1, [], [], move |_, [], []| clock.ends(work));
    }
}

/// Part number `at` of so many of a batch's images, of which so many stay together.
pub fn portion(images: usize, rows: usize, at: usize, parts: usize) -> Range<usize> {
    let part = part_of(images / rows, Rank(at), parts);
    part.start * rows..part.end * rows
}

/// The first and the last stage have the same parameters: each adds what
/// the other has found of their gradient.
// ANCHOR: tied
pub fn tied(cx: &mut Recorder, other: Rank, gradient: Tensor) {
    let (other, got) = (Some(other.0), cx.like(gradient));
    cx.of("neighbours", |cx| {
        let what = What::Message { to: other, from: other };
        cx.collective(what, ALL, Some(gradient), Some(got));
        let (reads, writes) = ([got.by_rows()], [gradient.by_rows()]);
        cx.rows("add", gradient.rows, reads, writes, |_, [got], [sum]| {
            sum.iter_mut().zip(got).for_each(|(sum, got)| *sum += got);
        });
    });
}
// ANCHOR_END: tied

/// The call with which a piece of work ends.
const END: &str = "end";

/// Sends what is ready, and receives what is waited for.
fn messages(
    cx: &mut Recorder,
    out: &mut Option<(Rank, Tensor)>,
    from: Option<Rank>,
    got: Option<Tensor>,
) {
    let (to, given) = out.take().unzip();
    if to.is_some() || from.is_some() {
        let what = What::Message { to: to.map(|rank| rank.0), from: from.map(|rank| rank.0) };
        cx.of("neighbours", |cx| cx.collective(what, ALL, given, got));
    }
}

/// The most words that wait between two pieces of a program's work: what was made in one and is needed in another.
pub fn kept(calls: &[Call]) -> usize {
    let mut lives: BTreeMap<u32, [usize; 3]> = BTreeMap::new();
    for (at, call) in calls.iter().enumerate() {
        for operand in call.reads().into_iter().chain(call.writes()) {
            if let Place::Temporary(id) = operand.tensor.place {
                let [_, last, words] = lives.entry(id).or_insert([at, at, 0]);
                (*last, *words) = (at, operand.tensor.words().max(*words));
            }
        }
    }
    let ends = calls.iter().enumerate().filter(|(_, call)| call.name == END);
    let waiting = |(end, _): (usize, &Call)| {
        let across = lives.values().filter(|[first, last, _]| *first < end && end < *last);
        across.map(|[.., words]| words).sum()
    };
    ends.map(waiting).max().unwrap_or(0)
}

/// Sends what is ready and receives so many numbers, if there is a rank to receive them from: at the same time, if both
/// are with one neighbour, so that two ranks that send to each other never wait for each other.
///
/// # Errors
/// The communicator's.
// ANCHOR: meet
pub fn meet(
    from: Option<Rank>,
    numbers: usize,
    out: Out,
    comm: &mut (impl Communicator + ?Sized),
) -> Result<Option<Vec<f32>>> {
    let Some(from) = from else { return send(out, comm).map(|()| None) };
    let mut got = vec![0.0; numbers];
    match out {
        Some((to, data)) if to == from => {
            comm.exchange(to, &data, from, &mut got)?;
        }
        out => {
            send(out, comm)?;
            comm.receive(from, &mut got)?;
        }
    }
    Ok(Some(got))
}
// ANCHOR_END: meet

/// Sends what is ready, if anything is.
///
/// # Errors
/// The communicator's.
pub fn send(out: Out, comm: &mut (impl Communicator + ?Sized)) -> Result<()> {
    out.map_or(Ok(()), |(to, data)| comm.send(to, &data))
}
