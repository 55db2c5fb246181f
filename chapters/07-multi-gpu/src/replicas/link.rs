//! A replica's link to the others: one message for each step.

use crate::{
    Communicator, Error, Rank, Result,
    communicator::InPlace,
    part_of,
    replicas::watch::{Slow, Watch},
};
use std::{cell::RefCell, fmt, ops::Range, rc::Rc, time::Instant};
use training::{
    checkpoint::Checkpoint,
    loss::Tally,
    ready::{Listener, Place},
    team::Team,
};

/// What a rank found in its part of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// How many images its part has, their losses and correct predictions.
    pub tally: Tally,
    /// Seconds of its forward and backward passes.
    pub seconds: f64,
    /// Whether its gradients had a factor, which may be too large in a step: then all skip it.
    pub scaled: bool,
}

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

/// Gradients that stay on the GPUs are summed when so many bytes of them are ready. A sum costs each GPU some microseconds to
/// begin, in which PCI Express carries about as many bytes.
pub const BUCKET: usize = 1 << 16;

/// Numbers that follow the gradients, in addition to two for each rank: images, loss, correct predictions, stop.
const REPORT: usize = 4;

/// A replica's link to the others.
pub struct Link {
    rank: Rank,
    size: usize,
    inner: Rc<RefCell<Inner>>,
}

struct Inner {
    comm: Box<dyn Communicator>,
    /// Whether this rank was asked to stop, and whether one of them was in the last step.
    asked: bool,
    stop: bool,
    /// What all counted in the last step.
    counted: Tally,
    /// Whether gradients left the range of their format in the last step.
    overflowed: bool,
    /// How many images all ranks have together in this step, and this rank.
    batch: [usize; 2],
    /// Gradients on the GPU that are ready, and what became of those before.
    ready: Vec<Place>,
    begun: Result<()>,
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
    pub fn new(comm: Box<dyn Communicator>) -> Self {
        let (rank, size) = (comm.rank(), comm.size());
        let inner = Inner {
            comm,
            asked: false,
            stop: false,
            counted: Tally::default(),
            overflowed: false,
            batch: [0; 2],
            ready: Vec::new(),
            begun: Ok(()),
            watch: Watch::new(size),
            slow: None,
            told: None,
            spent: Spent::default(),
        };
        Self { rank, size, inner: Rc::new(RefCell::new(inner)) }
    }

    /// This rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// How many are we?
    pub fn size(&self) -> usize {
        self.size
    }

    /// Does something with the communicator, for what is no step.
    ///
    /// # Errors
    /// Whatever `work` fails with.
    pub fn talk<T>(&self, work: impl FnOnce(&mut dyn Communicator) -> Result<T>) -> Result<T> {
        work(&mut *self.inner.borrow_mut().comm)
    }

    /// Tells the user something with the first step.
    pub fn tell(&self, words: Option<String>) {
        self.inner.borrow_mut().told = words;
    }

    /// Where the time of the steps went.
    pub fn spent(&self) -> Spent {
        self.inner.borrow().spent
    }

    /// Whether gradients left the range of their format in the last step, here or elsewhere. The row's sums of gradients mean
    /// nothing then.
    pub fn overflowed(&self) -> bool {
        self.inner.borrow().overflowed
    }

    /// Replaces a row of numbers, means over a rank's own images, by the means over the whole batch.
    ///
    /// # Errors
    /// The communicator's, and one that names ranks with broken numbers.
    pub fn average(&self, row: &mut Vec<f32>, mine: Report) -> Result<()> {
        let (begun, inner) = (Instant::now(), &mut *self.inner.borrow_mut());
        // NaN plus anything is NaN: one bad rank would spoil all of them.
        let finite = row.iter().all(|value| value.is_finite());
        self.means(inner, row, mine, finite)?;
        inner.spent.add(mine.seconds, begun.elapsed().as_secs_f64());
        Ok(())
    }

    // ANCHOR: average
    /// The means of a row over the whole batch, and the ranks' reports with it.
    fn means(
        &self,
        inner: &mut Inner,
        row: &mut Vec<f32>,
        mine: Report,
        finite: bool, // all that this rank has to give
    ) -> Result<()> {
        let images = self.weight(mine.tally.seen as f32);
        // A record of what was seen is good where gradients overflowed.
        let keep = |v: f32| finite || mine.scaled && v.is_finite();
        let weigh = |v: &mut f32| *v = if keep(*v) { images * *v } else { 0.0 };
        row.iter_mut().for_each(weigh);
        let numbers = row.len();
        row.extend(self.report(mine, !finite, inner.asked));
        inner.comm.all_reduce(row)?;
        let report = row.split_off(numbers);
        inner.read(self.size, &report, mine.scaled)?;
        let divide = |sum: &mut f32| *sum /= self.weight(report[0]);
        row.iter_mut().for_each(divide);
        Ok(())
    }
    // ANCHOR_END: average

    /// Whether gradients can be averaged where they lie on the GPU.
    pub fn is_in_place(&self) -> bool {
        self.inner.borrow_mut().comm.in_place().is_some()
    }

    /// Whether no rank is without images in this step.
    pub fn all_have_images(&self) -> bool {
        self.inner.borrow().batch[0] >= self.size
    }

    /// Who hears of gradients on the GPU, and begins to average them there: in
    /// buckets, each as soon as it is full.
    ///
    /// # Safety
    /// It is told of numbers on this rank's GPU that nothing else uses from
    /// their event until [`Link::average_begun`] has returned.
    pub unsafe fn listener(&self) -> Listener {
        let inner = Rc::clone(&self.inner);
        inner.borrow_mut().ready.clear();
        Box::new(move |places, event| {
            let inner = &mut *inner.borrow_mut();
            inner.ready.extend(places);
            if 4 * inner.ready.iter().map(|(_, count)| count).sum::<usize>() >= BUCKET {
                inner.begin(event);
            }
        })
    }

    /// [`Link::average`] where the gradients are the listener's, all computed:
    /// only the row, what the model keeps besides, and the reports pass through
    /// the host.
    ///
    /// # Errors
    /// As [`Link::average`].
    pub fn average_begun(&self, finite: bool, row: &mut Vec<f32>, mine: Report) -> Result<()> {
        let (began, inner) = (Instant::now(), &mut *self.inner.borrow_mut());
        inner.begin(None); // the rest, smaller than a bucket
        inner.wait()?;
        let finite = finite && row.iter().all(|value| value.is_finite());
        self.means(inner, row, mine, finite)?;
        if inner.counted.seen != inner.batch[0] as u64 {
            return Err(other_batches(&inner.counted, inner.batch[0]));
        }
        inner.spent.add(mine.seconds, began.elapsed().as_secs_f64());
        Ok(())
    }

    /// Ends all sums that were begun: the step has failed, and its gradients go.
    pub fn give_up(&self) {
        if let Some(gpus) = self.inner.borrow_mut().comm.in_place() {
            gpus.give_up();
        }
    }

    /// What so many images weigh. One rank is the whole, and weighing would only round.
    fn weight(&self, images: f32) -> f32 {
        if self.size > 1 { images } else { 1.0 }
    }

    /// A report as numbers. Counts are exact in f32 up to 2²⁴.
    fn report(&self, mine: Report, broken: bool, asked: bool) -> Vec<f32> {
        let Tally { loss, right, seen } = mine.tally;
        let mut report = vec![0.0; REPORT + 2 * self.size];
        let counts = [seen as f32, loss as f32, right as f32, f32::from(u8::from(asked))];
        report[..REPORT].copy_from_slice(&counts);
        // Each rank has two slots of its own: a sum with zeros is a list.
        report[REPORT + self.rank.0] = mine.seconds as f32;
        report[REPORT + self.size + self.rank.0] = f32::from(u8::from(broken));
        report
    }
}

impl Inner {
    /// Begins to sum what is ready: each rank's gradients are means over its own
    /// images, so they count by its share of the batch.
    fn begin(&mut self, event: Option<u64>) {
        let bucket = std::mem::take(&mut self.ready);
        let [whole, mine] = self.batch.map(|images| images as f32);
        let Some(gpus) = self.comm.in_place().filter(|_| !bucket.is_empty()) else { return };
        if self.begun.is_ok() {
            // SAFETY: what the listener was promised.
            self.begun = unsafe { gpus.begin_sum(&bucket, mine / whole, event) };
        }
    }

    /// Waits for all that was begun.
    fn wait(&mut self) -> Result<()> {
        std::mem::replace(&mut self.begun, Ok(()))?;
        self.comm.in_place().map_or(Ok(()), InPlace::wait)
    }

    /// Reads the sum of all reports.
    fn read(&mut self, size: usize, report: &[f32], scaled: bool) -> Result<()> {
        let [images, loss, right, stop] = [0, 1, 2, 3].map(|at| report[at]);
        let (seconds, broken) = report[REPORT..].split_at(size);
        let bad: Vec<usize> = (0..size).filter(|rank| broken[*rank] > 0.0).collect();
        // With a learning rate that is too large all ranks break at once: the loop sees it by the loss, and ends.
        self.overflowed = scaled && !bad.is_empty();
        let all = bad.len() == size && !scaled;
        if !bad.is_empty() && !all && !scaled {
            return Err(broken_gradients(&bad));
        }
        let loss = if all { f64::NAN } else { f64::from(loss) };
        self.counted = Tally { loss, right: right as u64, seen: images as u64 };
        self.stop = stop > 0.0;
        self.slow = self.watch.step(seconds);
        Ok(())
    }
}

/// The sentence for ranks that share a batch otherwise than this one.
fn other_batches(counted: &Tally, batch: usize) -> Error {
    Error::Config(format!(
        "the ranks had {} images together where this one counted on {batch}; all must run the same program with the same \
         settings and data",
        counted.seen
    ))
}

/// The sentence for ranks whose gradients are no numbers any more, while the others' are.
fn broken_gradients(bad: &[usize]) -> Error {
    let ranks: Vec<String> = bad.iter().map(ToString::to_string).collect();
    Error::Config(format!(
        "the gradients of rank {} are infinite or not numbers, and the others' are good; no weight was changed. Look at \
         that rank's images, memory and device, then go on from the last checkpoint with --resume",
        ranks.join(" and rank ")
    ))
}

impl Spent {
    fn add(&mut self, compute: f64, sum: f64) {
        self.steps += 1;
        self.compute += compute;
        self.sum += sum;
    }
}

impl Team for Link {
    fn part(&self, images: usize) -> Range<usize> {
        let part = part_of(images, self.rank, self.size);
        self.inner.borrow_mut().batch = [images, part.len()];
        part
    }

    fn counted(&self, _: Tally) -> Tally {
        self.inner.borrow().counted
    }

    fn sum(&self, mine: Tally) -> training::Result<Tally> {
        let mut report = self.report(Report { tally: mine, ..Report::default() }, false, false);
        self.inner.borrow_mut().comm.all_reduce(&mut report).map_err(carried)?;
        let loss = f64::from(report[1]);
        Ok(Tally { loss, right: report[2] as u64, seen: report[0] as u64 })
    }

    /// That a rank was asked to stop travels with its next step; all stop after that one.
    fn stops(&self, asked: bool) -> bool {
        let mut inner = self.inner.borrow_mut();
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
        let inner = &mut *self.inner.borrow_mut();
        inner.told.take().or_else(|| inner.slow.take().map(|slow| slow.to_string()))
    }
}
