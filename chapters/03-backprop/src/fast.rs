//! The article's network at full speed: one hidden layer, cut into columns. Each core owns some of the hidden units: their
//! weights, their gradients, their moments. Nothing of that ever moves to another core.
//!
//! A step in each core: its own hidden units from the whole batch; then it waits for the others, once; then all
//! scores (a small product, which each core does for itself), the gradient of its own units, and the update. Two cores
//! exchange 128 values per image, and no gradients. The result has the same bits for any number of threads.

use crate::{
    Error, Result,
    adam::{self, Factors, Moments},
    dropout::Dropout,
    flat::{column_sums, through_relu},
    mlp::Mlp,
    random::key,
    softmax::loss_in_place,
    train::{Examples, Learner, Settings, exploded, step_key},
};
use matmul::{Epilogue, MatMut, MatRef, Options, sgemm};
use std::{
    cell::UnsafeCell,
    ops::Range,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

/// Columns of the hidden layer are dealt out in groups of this many: two vectors of AVX2.
const GROUP: usize = 16;

/// Fewer columns than this are not worth a thread.
const COLUMNS: usize = 32;

/// Values of the gradient that are computed before they are used: 32 KiB, as much as a first-level cache.
const BLOCK: usize = 8192;

/// How the fast network works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    /// Threads; 0 for as many as pay.
    pub threads: usize,
    /// Whether Adam uses each block of the gradient while it is in the core's own cache, so that no place is
    /// needed for the whole gradient.
    pub update_in_cache: bool,
}

impl Default for Ways {
    fn default() -> Self {
        Self { threads: 0, update_in_cache: true }
    }
}

/// A network with one hidden layer that all cores train together.
pub struct Fast {
    settings: Settings,
    dropout: Dropout,
    ways: Ways,
    parts: Vec<Part>,
    /// Scores of an image, rounded up to whole vectors.
    width: usize,
    shared: Shared,
    /// Steps taken.
    t: i32,
}

/// Parameters and what Adam knows about them.
struct Tensor {
    p: Vec<f32>,
    moments: Moments<f32>,
}

impl Tensor {
    fn new(p: Vec<f32>) -> Self {
        Self { moments: Moments::zeros(p.len()), p }
    }

    fn update(&mut self, factors: Factors, range: Range<usize>, gradient: &[f32]) {
        let (p, m) = (&mut self.p[range.clone()], &mut self.moments.m[range.clone()]);
        adam::fused(factors, p, m, &mut self.moments.v[range], gradient);
    }
}

/// What one thread owns.
struct Part {
    /// Its hidden units.
    columns: Range<usize>,
    /// Inputs × columns.
    w1: Tensor,
    b1: Tensor,
    /// Columns × scores: the rows of the second layer's weights that belong to its units.
    w2: Tensor,
    /// Every thread has the whole second bias, and moves it alike.
    b2: Tensor,
    /// Batch × columns: its units' outputs, and the derivatives of these.
    h: Vec<f32>,
    dh: Vec<f32>,
    /// Batch × scores.
    scores: Vec<f32>,
    gradient: Vec<f32>,
    labels: Vec<u8>,
}

/// What the threads exchange. Two steps use different buffers, so that a thread that is ahead writes into none that
/// another still reads: with one barrier a step, no thread is more than one barrier ahead.
struct Shared {
    /// The batches of three steps: the next one is gathered during the forward pass of this one, while a slower
    /// thread may still need the last one.
    x: [Cells; 3],
    /// Batch × hidden units, of two steps.
    h: [Cells; 2],
    /// The second layer's weights, hidden units × scores, of two steps.
    w2: [Cells; 2],
    barrier: Barrier,
}

/// Values that several threads write at different offsets.
struct Cells(Box<[UnsafeCell<f32>]>);

// SAFETY: `Cells::write` and `Cells::read` ask their callers to keep writers and readers apart.
unsafe impl Sync for Cells {}

impl Cells {
    fn new(len: usize) -> Self {
        Self((0..len).map(|_| UnsafeCell::new(0.0)).collect())
    }

    /// # Safety
    /// No one writes to these values while the slice lives.
    unsafe fn read(&self, range: Range<usize>) -> &[f32] {
        let cells = &self.0[range];
        // SAFETY: an `UnsafeCell<f32>` is laid out as an f32, and the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), cells.len()) }
    }

    /// # Safety
    /// No one else reads or writes these values while the slice lives.
    #[allow(clippy::mut_from_ref, reason = "that is what the cells are for")]
    unsafe fn write(&self, range: Range<usize>) -> &mut [f32] {
        let cells = &self.0[range];
        // SAFETY: the values are in cells, and the caller vouches for the rest.
        unsafe { std::slice::from_raw_parts_mut(cells.as_ptr().cast_mut().cast(), cells.len()) }
    }
}

/// Where threads wait for each other. They do not go to sleep: a step takes about as long as waking a thread.
pub struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// Set by a thread that will never arrive.
    broken: AtomicBool,
}

impl Barrier {
    /// For so many threads.
    pub fn new(threads: usize) -> Self {
        let (arrived, round) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { threads, arrived, round, broken: AtomicBool::new(false) }
    }

    /// Returns when all threads are here; false if one will never come.
    // ANCHOR: barrier
    pub fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
        }
        let mut turns = 0_u32;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Relaxed) {
                return false;
            }
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(1024) {
                thread::yield_now(); // perhaps the other one has no core
            }
            std::hint::spin_loop();
        }
        true
    }
    // ANCHOR_END: barrier
}

/// Breaks the barrier if its thread ends before its work.
pub struct Guard<'a> {
    /// The one that is broken.
    pub barrier: &'a Barrier,
    /// Whether the work is done.
    pub done: bool,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.barrier.broken.store(true, Ordering::Relaxed);
        }
    }
}

/// What all threads of an epoch know.
struct Epoch<'a> {
    data: &'a Examples,
    order: &'a [usize],
    number: usize,
    settings: &'a Settings,
    dropout: Dropout,
    ways: Ways,
    width: usize,
    shared: &'a Shared,
    /// Steps taken before this epoch.
    t: i32,
    threads: usize,
}

impl Fast {
    /// A network with its first weights, the same as the readable one's.
    ///
    /// # Errors
    /// As [`Settings::check`]; [`Error::Config`] unless there is exactly one hidden layer.
    pub fn new(settings: Settings, ways: Ways) -> Result<Self> {
        settings.check()?;
        let &[inputs, hidden, classes] = &settings.sizes[..] else {
            return Err(Error::Config(format!(
                "{:?} has not one hidden layer; the fast network has, such as 784-128-10",
                settings.sizes
            )));
        };
        let model = Mlp::<f32>::new(&settings.sizes, settings.seed)?;
        let width = classes.next_multiple_of(GROUP);
        let threads = if ways.threads == 0 { worthwhile(hidden) } else { ways.threads };
        let (one, two) = (&model.layers[0], &model.layers[1]);
        let padded = |row: &[f32]| {
            row.iter().copied().chain(std::iter::repeat(0.0)).take(width).collect::<Vec<f32>>()
        };
        let parts: Vec<Part> = cut(hidden, threads)
            .into_iter()
            .map(|columns| {
                let mine = |row: &[f32]| row[columns.clone()].to_vec();
                let rows = two.weights.chunks_exact(classes).skip(columns.start);
                let all = inputs * columns.len();
                let block =
                    if ways.update_in_cache { all.min(BLOCK.max(columns.len())) } else { all };
                Part {
                    w1: Tensor::new(one.weights.chunks_exact(hidden).flat_map(mine).collect()),
                    b1: Tensor::new(mine(&one.bias)),
                    w2: Tensor::new(rows.take(columns.len()).flat_map(padded).collect()),
                    b2: Tensor::new(padded(&two.bias)),
                    h: vec![0.0; settings.batch * columns.len()],
                    dh: vec![0.0; settings.batch * columns.len()],
                    scores: vec![0.0; settings.batch * width],
                    gradient: vec![0.0; block.max(columns.len() * width)],
                    labels: vec![0; settings.batch],
                    columns,
                }
            })
            .collect();
        let cells = |len: usize| Cells::new(len);
        let shared = Shared {
            x: std::array::from_fn(|_| cells(settings.batch * inputs)),
            h: std::array::from_fn(|_| cells(settings.batch * hidden)),
            w2: std::array::from_fn(|_| cells(hidden * width)),
            barrier: Barrier::new(parts.len()),
        };
        let dropout = Dropout::new(settings.dropout)?;
        Ok(Self { settings, dropout, ways, parts, width, shared, t: 0 })
    }

    /// How many threads it works with.
    pub fn threads(&self) -> usize {
        self.parts.len()
    }
}

/// As many threads as this machine runs at once, if each gets enough columns.
pub fn worthwhile(hidden: usize) -> usize {
    matmul::parallel::available().min(hidden / COLUMNS).max(1)
}

/// The columns of each thread, in whole groups.
pub fn cut(hidden: usize, threads: usize) -> Vec<Range<usize>> {
    let groups = hidden.div_ceil(GROUP);
    let threads = threads.clamp(1, groups);
    let edge = |i: usize| (i * groups / threads * GROUP).min(hidden);
    (0..threads).map(|i| edge(i)..edge(i + 1)).collect()
}

impl Learner for Fast {
    fn epoch(&mut self, data: &Examples, order: &[usize], epoch: usize) -> Result<f64> {
        let (inputs, classes) = (self.settings.sizes[0], self.settings.sizes[2]);
        data.check(inputs, classes)?;
        data.check_order(order)?;
        for part in &self.parts {
            let at = part.columns.start * self.width;
            // SAFETY: no thread runs yet.
            unsafe { self.shared.w2[0].write(at..at + part.w2.p.len()) }
                .copy_from_slice(&part.w2.p);
        }
        let epoch = Epoch {
            data,
            order,
            number: epoch,
            settings: &self.settings,
            dropout: self.dropout,
            ways: self.ways,
            width: self.width,
            shared: &self.shared,
            t: self.t,
            threads: self.parts.len(),
        };
        let epoch = &epoch;
        let outcome = thread::scope(|scope| {
            let mut parts = self.parts.iter_mut().enumerate();
            let first = parts.next();
            for (index, part) in parts {
                scope.spawn(move || part.epoch(epoch, index));
            }
            first.map_or(Ok(0.0), |(index, part)| part.epoch(epoch, index))
        });
        self.t += order.len().div_ceil(self.settings.batch) as i32;
        Ok(outcome? / order.len() as f64)
    }

    fn model(&self) -> Result<Mlp<f32>> {
        let mut model = Mlp::zeros(&self.settings.sizes)?;
        let (hidden, classes) = (self.settings.sizes[1], self.settings.sizes[2]);
        let [one, two] = &mut model.layers[..] else { return Ok(model) };
        for Part { columns, w1, b1, w2, b2, .. } in &self.parts {
            let rows = one.weights.chunks_exact_mut(hidden);
            for (to, from) in rows.zip(w1.p.chunks_exact(columns.len())) {
                to[columns.clone()].copy_from_slice(from);
            }
            one.bias[columns.clone()].copy_from_slice(&b1.p);
            let rows = two.weights.chunks_exact_mut(classes).skip(columns.start);
            for (to, from) in rows.zip(w2.p.chunks_exact(self.width)) {
                to.copy_from_slice(&from[..classes]);
            }
            two.bias.copy_from_slice(&b2.p[..classes]);
        }
        Ok(model)
    }
}

impl Part {
    /// One epoch in one thread. Returns the sum of the images' losses.
    fn epoch(&mut self, epoch: &Epoch, thread: usize) -> Result<f64> {
        let mut guard = Guard { barrier: &epoch.shared.barrier, done: false };
        let mut batches = epoch.order.chunks(epoch.settings.batch).peekable();
        epoch.gather(0, batches.peek().copied().unwrap_or_default(), thread);
        epoch.shared.barrier.wait();
        let (mut sum, mut at) = (0.0, 0);
        while let Some(batch) = batches.next() {
            self.hidden_units(epoch, at, batch.len())?;
            let next = batches.peek().copied().unwrap_or_default();
            epoch.gather(at + 1, next, thread);
            if !epoch.shared.barrier.wait() {
                break; // another thread has failed, and reports why
            }
            let loss = self.scores(epoch, at, batch)?;
            if exploded(loss) {
                // All threads have the same loss, and leave.
                let (epoch, lr) = (epoch.number, epoch.settings.rule.lr);
                return Err(Error::Diverged { epoch, step: at + 1, lr, loss });
            }
            sum += loss * batch.len() as f64;
            self.learn(epoch, at, batch.len())?;
            at += 1;
        }
        guard.done = true;
        Ok(sum)
    }

    /// The thread's own units for the whole batch, and a copy of them for the others.
    fn hidden_units(&mut self, epoch: &Epoch, at: usize, batch: usize) -> Result<()> {
        let (inputs, hidden, own) =
            (epoch.settings.sizes[0], epoch.settings.sizes[1], self.columns.len());
        // SAFETY: the batch was gathered before the last barrier, and is next written to two barriers from now.
        let x = unsafe { epoch.shared.x[at % 3].read(0..batch * inputs) };
        let h = &mut self.h[..batch * own];
        let options = Options { epilogue: Epilogue::BiasRelu(&self.b1.p), ..Options::default() };
        let (x, w) = (MatRef::new(x, batch, inputs)?, MatRef::new(&self.w1.p, inputs, own)?);
        sgemm(MatMut::new(h, batch, own)?, x, w, options)?;
        let scale = epoch.dropout.scale() as f32;
        let step = key(&[step_key(epoch.settings.seed, epoch.number, at + 1), 0]);
        for (row, h) in h.chunks_exact_mut(own).enumerate() {
            let first = row * hidden + self.columns.start;
            // SAFETY: these are this thread's columns; the others read them after the next barrier, and those of
            // the step before lie in the other buffer.
            let all = unsafe { epoch.shared.h[at % 2].write(first..first + own) };
            for ((h, all), index) in h.iter_mut().zip(all).zip(first..) {
                *h *= if epoch.dropout.keeps(step, index) { scale } else { 0.0 };
                *all = *h;
            }
        }
        Ok(())
    }

    /// All scores, in each thread; they become their own derivatives. Returns the mean loss.
    fn scores(&mut self, epoch: &Epoch, at: usize, batch: &[usize]) -> Result<f64> {
        let (hidden, classes, width) =
            (epoch.settings.sizes[1], epoch.settings.sizes[2], epoch.width);
        let rows = batch.len();
        // SAFETY: both were written before the last barrier, and are next written to after the next one.
        let (h, w2) = unsafe {
            (
                epoch.shared.h[at % 2].read(0..rows * hidden),
                epoch.shared.w2[at % 2].read(0..hidden * width),
            )
        };
        let scores = &mut self.scores[..rows * width];
        let options = Options { epilogue: Epilogue::Bias(&self.b2.p), ..Options::default() };
        let (h, w2) = (MatRef::new(h, rows, hidden)?, MatRef::new(w2, hidden, width)?);
        sgemm(MatMut::new(scores, rows, width)?, h, w2, options)?;
        for (label, i) in self.labels.iter_mut().zip(batch) {
            *label = epoch.data.labels[*i];
        }
        Ok(loss_in_place(scores, &self.labels[..rows], classes, width))
    }

    /// The gradient of the thread's own parameters, and the update.
    fn learn(&mut self, epoch: &Epoch, at: usize, batch: usize) -> Result<()> {
        let (inputs, own, width) = (epoch.settings.sizes[0], self.columns.len(), epoch.width);
        let factors = Factors::new(&epoch.settings.rule, epoch.t + at as i32 + 1);
        let (h, ds) = (&self.h[..batch * own], &self.scores[..batch * width]);
        let (dh, ds_view) = (&mut self.dh[..batch * own], MatRef::new(ds, batch, width)?);

        let w2 = MatRef::new(&self.w2.p, own, width)?;
        sgemm(MatMut::new(dh, batch, own)?, ds_view, w2.t(), Options::default())?;
        through_relu(dh, h, epoch.dropout.scale() as f32);

        let gradient = &mut self.gradient[..own * width];
        let h = MatRef::new(h, batch, own)?;
        sgemm(MatMut::new(gradient, own, width)?, h.t(), ds_view, Options::default())?;
        self.w2.update(factors, 0..own * width, gradient);
        let first = self.columns.start * width;
        // SAFETY: these rows are this thread's; the others read them after the next barrier, and those of this
        // step lie in the other buffer.
        unsafe { epoch.shared.w2[(at + 1) % 2].write(first..first + own * width) }
            .copy_from_slice(&self.w2.p);
        column_sums(&mut self.gradient[..width], ds);
        self.b2.update(factors, 0..width, &self.gradient[..width]);
        column_sums(&mut self.gradient[..own], dh);
        self.b1.update(factors, 0..own, &self.gradient[..own]);

        // SAFETY: as in `hidden_units`.
        let x = unsafe { epoch.shared.x[at % 3].read(0..batch * inputs) };
        let x = MatRef::new(x, batch, inputs)?.t();
        let dh = MatRef::new(dh, batch, own)?;
        // ANCHOR: blocks
        let blocks = epoch.ways.update_in_cache;
        let rows = if blocks { (BLOCK / own).max(1) } else { inputs };
        for first in (0..inputs).step_by(rows) {
            let rows = rows.min(inputs - first);
            let gradient = &mut self.gradient[..rows * own];
            let c = MatMut::new(gradient, rows, own)?;
            sgemm(c, x.block(first, 0, rows, batch)?, dh, Options::default())?;
            let mine = first * own..(first + rows) * own;
            self.w1.update(factors, mine, gradient);
        }
        // ANCHOR_END: blocks
        Ok(())
    }
}

impl Epoch<'_> {
    /// Copies this thread's part of a batch's images into one matrix.
    fn gather(&self, at: usize, batch: &[usize], thread: usize) {
        let inputs = self.settings.sizes[0];
        let share = batch.len().div_ceil(self.threads);
        let first = (thread * share).min(batch.len());
        let mine = &batch[first..(first + share).min(batch.len())];
        // SAFETY: these rows are this thread's. The others read them after the next barrier; what they may still read
        // are the batches of this step and the last, in the other two buffers.
        let rows =
            unsafe { self.shared.x[at % 3].write(first * inputs..(first + mine.len()) * inputs) };
        for (row, i) in rows.chunks_exact_mut(inputs).zip(mine) {
            row.copy_from_slice(self.data.image(*i));
        }
    }
}
