//! A pipeline: the batch is cut into micro-batches, and while one of them is on the second rank, the first rank works
//! on the next.

use super::{
    group::Group,
    job::{Batch, weighed_loss},
    schedule::{Direction, Slot, Work},
    stage::{Kept, Stage},
};
use crate::{Communicator, Error, Rank, Result, part_of};
use std::{
    collections::BTreeMap,
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

/// What a rank came to in one step.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The sum of the micro-batches' gradients.
    pub gradient: Vec<f32>,
    /// What this rank's images add to the loss; zero where the scores are not.
    pub loss: f64,
    /// When it did what, in seconds since `since`.
    pub slots: Vec<Slot>,
    /// The most numbers that waited for the backward pass at any time.
    pub peak: usize,
    /// How many wait now.
    keeps: usize,
}

/// One step of one rank: its work, in order, on `batch`, the images of this pipeline out of `whole`.
#[derive(Debug)]
pub struct Run<'a> {
    /// The rank's layers.
    pub stage: &'a Stage,
    /// Its position.
    pub seat: &'a Seat,
    /// Its work.
    pub order: &'a [Work],
    /// The images that go through this pipeline.
    pub batch: &'a Batch,
    /// How many micro-batches they are cut into.
    pub micros: usize,
    /// How many images the batch of all ranks has.
    pub whole: usize,
    /// How slow the device is.
    pub pace: Pace,
    /// When time began, for all ranks.
    pub since: Instant,
}

/// What goes from one stage to the next, or back, and to whom.
pub type Out = Option<(Rank, Vec<f32>)>;

/// What waits for the backward pass: what the stage has kept, and at the last stage the derivatives of the scores.
type Waiting = BTreeMap<usize, (Kept, Vec<f32>)>;

impl Run<'_> {
    /// Works through the order.
    ///
    /// # Errors
    /// [`crate::Error::Backprop`] if something does not fit, and the communicator's.
    pub fn run(&self, comm: &mut dyn Communicator) -> Result<Ran> {
        let mut ran = Ran::nothing(self.stage.parameters());
        // ANCHOR: run
        let (mut waiting, mut out) = (Waiting::new(), None);
        for &work in self.order {
            let part = part_of(self.batch.len(), Rank(work.micro), self.micros);
            let micro = self.batch.part(part)?;
            if micro.is_empty() {
                continue; // more micro-batches than images
            }
            let got = self.meet(work.direction, micro.len(), out.take(), comm)?;
            let start = Instant::now();
            let tensor = &mut Group::of(comm, &self.seat.tensor)?;
            let (at, held) = (work.micro, (&mut waiting, &mut ran));
            out = match work.direction {
                Direction::Forward => self.forward(at, got, micro, held, tensor)?,
                Direction::Backward => self.backward(at, got, held, tensor)?,
            };
            self.pace.keep(work.direction, start);
            ran.slots.push(self.slot(work, start));
        }
        send(out, comm)?;
        // ANCHOR_END: run
        Ok(ran)
    }

    /// What the work needs, while what is ready goes out.
    fn meet(
        &self,
        direction: Direction,
        images: usize,
        out: Out,
        comm: &mut dyn Communicator,
    ) -> Result<Option<Vec<f32>>> {
        let (from, width) = match direction {
            Direction::Forward => (self.seat.before, self.stage.inputs()),
            Direction::Backward => (self.seat.after, self.stage.outputs()),
        };
        meet(from, images * width, out, comm)
    }

    /// A micro-batch forward. The first stage begins with the images; the last one knows the loss.
    fn forward(
        &self,
        at: usize,
        got: Option<Vec<f32>>,
        micro: Batch,
        (waiting, ran): (&mut Waiting, &mut Ran),
        tensor: &mut dyn Communicator,
    ) -> Result<Out> {
        let (y, kept) = self.stage.forward(got.unwrap_or(micro.x), tensor)?;
        ran.keeps += kept.numbers();
        ran.peak = ran.peak.max(ran.keeps);
        let Some(after) = self.seat.after else {
            let (loss, dy) = weighed_loss(&y, &micro.labels, self.stage.outputs(), self.whole)?;
            ran.loss += loss;
            waiting.insert(at, (kept, dy));
            return Ok(None);
        };
        waiting.insert(at, (kept, Vec::new()));
        Ok(Some((after, y)))
    }

    /// A micro-batch backward.
    fn backward(
        &self,
        at: usize,
        got: Option<Vec<f32>>,
        (waiting, ran): (&mut Waiting, &mut Ran),
        tensor: &mut dyn Communicator,
    ) -> Result<Out> {
        let Some((kept, dscores)) = waiting.remove(&at) else {
            return Err(Error::Config(format!(
                "micro-batch {at} is to go back and has not gone forward; put its forward work first"
            )));
        };
        ran.keeps -= kept.numbers();
        let dy = got.unwrap_or(dscores);
        let dx = self.stage.backward(kept, dy, &mut ran.gradient, tensor)?;
        Ok(self.seat.before.map(|before| (before, dx)))
    }

    /// What was done between `start` and now.
    fn slot(&self, work: Work, start: Instant) -> Slot {
        let at = |time: Instant| time.duration_since(self.since).as_secs_f64();
        Slot { stage: self.stage.number(), work, start: at(start), end: at(Instant::now()) }
    }
}

/// Sends what is ready and receives so many numbers, if there is a rank to receive them from: at the same time, if both
/// are with one neighbour, so that two ranks that send to each other never wait for each other.
///
/// # Errors
/// The communicator's.
pub fn meet(
    from: Option<Rank>,
    numbers: usize,
    out: Out,
    comm: &mut dyn Communicator,
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

/// Sends what is ready, if anything is.
///
/// # Errors
/// The communicator's.
pub fn send(out: Out, comm: &mut dyn Communicator) -> Result<()> {
    out.map_or(Ok(()), |(to, data)| comm.send(to, &data))
}

impl Ran {
    fn nothing(parameters: usize) -> Self {
        let gradient = vec![0.0; parameters];
        Self { gradient, loss: 0.0, slots: Vec::new(), peak: 0, keeps: 0 }
    }
}
