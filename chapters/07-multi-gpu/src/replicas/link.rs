//! A replica's link to the others: what the loop asks all of them, and one small message in each step.

use crate::{
    Communicator, Error, Rank, Result,
    communicator::Shared,
    part_of,
    replicas::watch::{Slow, Watch},
    split::{
        group::{ALL, lock, size},
        hybrid::{Part, Settings, part},
        ranks::Peers,
        stage::Extents,
    },
};
use engine::{
    model::Model,
    program::What,
    ranks::{Failed, Ranks},
};
use std::{
    fmt,
    ops::Range,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use training::{checkpoint::Checkpoint, loss::Tally, team::Team};

/// Where the time of the steps went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Steps.
    pub steps: usize,
    /// Forward and backward passes.
    pub compute: f64,
    /// All-reduce: the messages, and waiting for ranks that are not there yet.
    pub sum: f64,
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let each = |seconds: f64| 1e3 * seconds / self.steps.max(1) as f64;
        write!(
            f,
            "in rank 0 a step took {:.2} ms forward and backward, {:.2} ms for adding up and waiting",
            each(self.compute),
            each(self.sum)
        )
    }
}

/// A replica's link to the others.
pub struct Link {
    /// This rank.
    pub rank: Rank,
    /// How many are we?
    pub size: usize,
    comm: Shared,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    rank: Rank,
    /// Whether this rank was asked to stop, and whether one of them was in the last step.
    asked: bool,
    stop: bool,
    /// What all counted in the last step.
    counted: Tally,
    /// How many images all ranks have together in this step, and which of them this rank has.
    batch: (usize, Range<usize>),
    /// Whether gradients have a factor, which may be too large in a step: then all skip it.
    scaled: bool,
    /// Whether all have skipped the step.
    overflowed: bool,
    /// When the step began, and how long it has waited for sums.
    begun: Instant,
    waited: Duration,
    watch: Watch,
    slow: Option<Slow>,
    /// What the user is told with the first step.
    told: Option<String>,
    spent: Spent,
}

/// An error for chapter 4's loop, which hands it on; [`original`] takes it out again.
pub fn carried(error: Error) -> training::Error {
    training::Error::Team(Box::new(error))
}

/// The error that a link has put into one of the loop's.
pub fn original(error: training::Error) -> Error {
    match error {
        training::Error::Team(carried) => match carried.downcast::<Error>() {
            Ok(error) => *error,
            Err(other) => training::Error::Team(other).into(),
        },
        other => other.into(),
    }
}

impl Link {
    /// A link by a communicator.
    pub fn new(comm: Shared) -> Self {
        let (rank, size) = size(&comm);
        let inner = Inner {
            rank,
            asked: false,
            stop: false,
            counted: Tally::default(),
            batch: (0, 0..0),
            scaled: false,
            overflowed: false,
            begun: Instant::now(),
            waited: Duration::ZERO,
            watch: Watch::new(size),
            slow: None,
            told: None,
            spent: Spent::default(),
        };
        Self { rank, size, comm, inner: Arc::new(Mutex::new(inner)) }
    }

    /// What this rank records of a model that is split like this, and its way to the others.
    ///
    /// # Errors
    /// [`Error::Config`] if the settings do not fit the ranks.
    pub fn join(&self, model: &Model, settings: &Settings) -> Result<(Part, Joint)> {
        let (extents, ops) = (Extents::of(model, 1), 0..model.ops.len());
        let (mut part, peers) = part(settings, &extents, ops, Arc::clone(&self.comm))?;
        part.watched = true;
        Ok((part, Joint { peers, inner: Arc::clone(&self.inner) }))
    }

    /// Does something with the communicator, for what is no step.
    ///
    /// # Errors
    /// Whatever `work` fails with.
    pub fn talk<T>(&self, work: impl FnOnce(&mut dyn Communicator) -> Result<T>) -> Result<T> {
        work(&mut *lock(&self.comm))
    }

    /// Tells the user something with the first step.
    pub fn tell(&self, words: Option<String>) {
        lock(&self.inner).told = words;
    }

    /// Where the time of the steps went.
    pub fn spent(&self) -> Spent {
        lock(&self.inner).spent
    }

    /// A step begins. Returns where this rank's images begin in the batch, and how many the batch has.
    pub fn begin(&self, scaled: bool) -> (usize, usize) {
        let inner = &mut *lock(&self.inner);
        (inner.begun, inner.waited) = (Instant::now(), Duration::ZERO);
        inner.scaled = scaled;
        (inner.batch.1.start, inner.batch.0)
    }

    /// Whether gradients left the range of their format in the last step, here or elsewhere: their sums mean nothing then.
    pub fn overflowed(&self) -> bool {
        lock(&self.inner).overflowed
    }
}

/// A rank's way to the others in a step: what its program asks for, and in the message of the losses its report.
pub struct Joint {
    peers: Peers<dyn Communicator>,
    inner: Arc<Mutex<Inner>>,
}

impl Ranks for Joint {
    // ANCHOR: meet
    fn meet(
        &mut self,
        what: What,
        group: usize,
        given: &[f32],
        numbers: &mut [f32],
    ) -> Result<(), Failed> {
        let (came, inner) = (Instant::now(), &mut *lock(&self.inner));
        if group == ALL {
            // The step's last message: losses, and whether this rank's
            // gradient was broken. It has room for a report.
            let (losses, broken) = numbers.split_at_mut(2);
            let mut message = losses.to_vec();
            message.extend(inner.report(came, broken[0]));
            self.peers.meet(what, ALL, given, &mut message)?;
            losses.copy_from_slice(&message[..2]);
            inner.read(&message, came)?;
        } else {
            self.peers.meet(what, group, given, numbers)?;
            inner.waited += came.elapsed();
        }
        Ok(())
    }
    // ANCHOR_END: meet

    unsafe fn meet_in_place(
        &mut self,
        what: What,
        group: usize,
        numbers: (u64, usize),
        event: u64,
    ) -> Result<Option<()>, Failed> {
        if group == ALL {
            return Ok(None); // a report goes with it
        }
        let came = Instant::now();
        // SAFETY: as the caller promises.
        let met = unsafe { self.peers.meet_in_place(what, group, numbers, event) };
        lock(&self.inner).waited += came.elapsed();
        met
    }
}

impl Inner {
    /// A rank's report behind its losses: images, stop, and two slots for each rank, of which it fills its own; a sum with zeros
    /// is a list. Counts are exact in f32 up to 2²⁴.
    fn report(&self, now: Instant, broken: f32) -> Vec<f32> {
        let size = self.watch.size();
        let mut report = vec![0.0; 2 + 2 * size];
        report[0] = self.batch.1.len() as f32;
        report[1] = f32::from(u8::from(self.asked));
        report[2 + self.rank.0] = self.computed(now) as f32;
        report[2 + size + self.rank.0] = broken;
        report
    }

    /// Seconds of this step's passes until now, without waiting for others.
    fn computed(&self, now: Instant) -> f64 {
        (now - self.begun).saturating_sub(self.waited).as_secs_f64()
    }

    /// Reads the sum of all losses and reports.
    fn read(&mut self, message: &[f32], came: Instant) -> Result<()> {
        let [loss, right, images, stop] = [0, 1, 2, 3].map(|at| message[at]);
        let (seconds, broken) = message[4..].split_at(self.watch.size());
        let bad: Vec<usize> = (0..broken.len()).filter(|rank| broken[*rank] > 0.0).collect();
        // With a learning rate that is too large all ranks break at once: the loop sees it by the loss, and ends.
        let all = bad.len() == broken.len();
        if !bad.is_empty() && !all && !self.scaled {
            return Err(broken_gradients(&bad));
        }
        let (batch, seen) = (self.batch.0, images as u64);
        if seen != batch as u64 {
            return Err(other_batches(seen, batch));
        }
        self.overflowed = !bad.is_empty();
        let loss = if all && !self.scaled { f64::NAN } else { f64::from(loss) * batch as f64 };
        self.counted = Tally { loss, right: (right * images).round() as u64, seen };
        self.stop = stop > 0.0;
        let part = |rank| part_of(batch, Rank(rank), seconds.len()).len();
        // Who has twice as many images takes twice as long.
        if part(0) < 2 * part(seconds.len() - 1) {
            self.slow = self.watch.step(seconds);
        }
        self.spent.steps += 1;
        self.spent.compute += self.computed(came);
        self.spent.sum += (self.waited + came.elapsed()).as_secs_f64();
        Ok(())
    }
}

/// The sentence for ranks that share a batch otherwise than this one.
fn other_batches(seen: u64, batch: usize) -> Error {
    Error::Config(format!(
        "the ranks had {seen} images together where this one counted on {batch}; all must run the same program with the same \
         settings and data"
    ))
}

/// The sentence for ranks whose gradients are no numbers any more, while the others' are.
pub fn broken_gradients(bad: &[usize]) -> Error {
    let ranks: Vec<String> = bad.iter().map(ToString::to_string).collect();
    Error::Config(format!(
        "the gradients of rank {} are infinite or not numbers, and the others' are good; no weight was changed. Look at \
         that rank's images, memory and device, then go on from the last checkpoint with --resume",
        ranks.join(" and rank ")
    ))
}

impl Team for Link {
    fn part(&self, images: usize) -> Range<usize> {
        let part = part_of(images, self.rank, self.size);
        lock(&self.inner).batch = (images, part.clone());
        part
    }

    fn counted(&self, _: Tally) -> Tally {
        lock(&self.inner).counted
    }

    fn sum(&self, mine: Tally) -> training::Result<Tally> {
        let mut all = [mine.loss as f32, mine.right as f32, mine.seen as f32];
        self.talk(|comm| comm.all_reduce(&mut all)).map_err(carried)?;
        let [loss, right, seen] = all;
        Ok(Tally { loss: f64::from(loss), right: right as u64, seen: seen as u64 })
    }

    /// That a rank was asked to stop travels with its next step; all stop after that one.
    fn stops(&self, asked: bool) -> bool {
        let inner = &mut *lock(&self.inner);
        inner.asked = asked;
        inner.stop
    }

    fn leads(&self) -> bool {
        self.rank == Rank(0)
    }

    fn saved(&self, read: Option<Checkpoint>) -> training::Result<Option<Checkpoint>> {
        let mut bytes = match read {
            Some(checkpoint) => checkpoint.to_bytes()?,
            None => Vec::new(),
        };
        let told = self.talk(|comm| comm.broadcast_bytes(Rank(0), &mut bytes));
        told.map_err(carried)?;
        let checkpoint = Checkpoint::from_bytes(&bytes).map_err(|why| {
            carried(Error::Config(format!("the checkpoint of rank 0 did not arrive whole: {why}")))
        })?;
        Ok(Some(checkpoint))
    }

    fn warning(&self) -> Option<String> {
        let inner = &mut *lock(&self.inner);
        inner.told.take().or_else(|| inner.slow.take().map(|slow| slow.to_string()))
    }
}
