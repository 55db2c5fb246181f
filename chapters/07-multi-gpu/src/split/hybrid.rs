//! Data × pipeline × tensor: a rank of any split is one of these, with settings.

pub use super::grid::{Cell, Grid};
use super::{
    data_parallel::{self, LOSS},
    group::{ALL, lock, size},
    job::{Batch, Shared},
    overlap::{self, CommThread},
    pipeline::{Clock, Pace, Stage, portion, tied},
    ranks::{Peers, original},
    schedule::{Schedule, Slot, order},
    stage::{Extents, Of, moved, stage},
    tensor::places,
    zero::{Level, Memory, Shard},
};
use crate::{Communicator, Error, Rank, Result};
use engine::{
    backend::{Backend, Form},
    cpu::{Cpu, Loaded},
    model::Model,
    params::{Params, WHOLE},
    program::{Numbers, Program, What},
    record::{Pass, Recorder},
    rule::Rule,
    step::{self, Step},
    sums::dot,
    tensor::{Place, Tensor},
};
use std::{
    ops::Range,
    sync::{Arc, Mutex, MutexGuard},
    time::Instant,
};

/// How the gradients of replicas are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// All at once, behind the backward pass.
    AtEnd,
    /// In buckets of at least so many bytes, each but the last as soon as it is there.
    Early(usize),
    /// Each rank gets the sums of its part.
    Cut(Level),
}

/// How a training is split.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Which ranks do what.
    pub grid: Grid,
    /// In which order, and in how many micro-batches.
    pub order: (Schedule, usize),
    /// What becomes of the gradients.
    pub sums: Sums,
    /// How slow the devices are.
    pub pace: Pace,
    /// When time began, for all ranks.
    pub since: Instant,
    /// Threads of a rank.
    pub threads: usize,
    /// What its products read.
    pub numbers: Numbers,
}

impl Settings {
    /// A grid, with whole batches and one sum.
    pub fn of(grid: Grid) -> Self {
        let order = (Schedule::Gpipe, 1);
        let (sums, pace, since) = (Sums::AtEnd, Pace::default(), Instant::now());
        Self { grid, order, sums, pace, since, threads: 1, numbers: Numbers::F32 }
    }

    /// With something else done to gradients.
    #[must_use]
    pub fn with(self, sums: Sums) -> Self {
        Self { sums, ..self }
    }

    /// With micro-batches.
    #[must_use]
    pub fn in_order(self, schedule: Schedule, micros: usize) -> Self {
        Self { order: (schedule, micros), ..self }
    }

    /// Whether so many ranks can train like this.
    ///
    /// # Errors
    /// [`Error::Config`] if not.
    fn check(&self, ranks: usize) -> Result<()> {
        self.grid.check(ranks)?;
        if self.order.1 == 0 {
            return Err(Error::Config(
                "a batch can't be cut into no micro-batches; take one at least".into(),
            ));
        }
        if self.sums != Sums::AtEnd && self.grid.data != ranks {
            return Err(Error::Config(format!(
                "buckets and parts of gradients are for replicas of a whole network alone; take a grid of {ranks}×1×1"
            )));
        }
        // A rank with fewer images may have fewer micro-batches, and each gathers parameters.
        if self.sums == Sums::Cut(Level::Parameters) && self.order.1 > 1 {
            return Err(Error::Config(
                "replicas that keep a part of the parameters take whole batches; leave out the micro-batches".into(),
            ));
        }
        Ok(())
    }
}

/// What becomes of the gradients, for a network.
enum Ends {
    /// Ranges of the buffer: those that are summed early, and the last one.
    Summed(Vec<Range<usize>>, Range<usize>),
    Cut(Shard),
}

/// What a rank records.
pub struct Part {
    stage: Stage,
    /// Where its numbers begin in the buffers of all stages.
    first: [usize; 2],
    ends: Ends,
    /// Whether somebody wants to know that this rank's gradient is broken.
    pub watched: bool,
    /// What the other end of the pipeline has, too.
    tied: Vec<(Rank, Tensor)>,
    replicas: usize,
    /// Whether its losses count: the parts of a product have the same.
    counts: bool,
    /// What counts of its gradient among all ranks, each number once; none where each rank has all of it.
    own: Option<Vec<Tensor>>,
}

impl step::Split for Part {
    fn words(&self, model: &Model, place: Place) -> usize {
        let all = model.params.words();
        if let Ends::Cut(shard) = &self.ends { shard.words(place, all) } else { all }
    }

    // ANCHOR: pass
    fn pass(&self, model: &Model, pass: Pass, form: Form) -> Program {
        let mut cx = Recorder::new(pass, form);
        cx.at_once = true;
        let watch = self.watched.then(|| cx.of(LOSS, data_parallel::watch));
        let sums = self.stage.record(&mut cx, model);
        moved(&mut cx.program, self.first);
        match &self.ends {
            Ends::Summed(early, last) => {
                cx.of("replicas", |cx| overlap::sums(cx, early, last, watch));
            }
            Ends::Cut(shard) => shard.pass(&mut cx),
        }
        for (other, tensor) in &self.tied {
            tied(&mut cx, *other, tensor.gradient());
        }
        if self.replicas > 1 && !model.params.kept.is_empty() {
            let kept = model.params.all(Place::Kept);
            data_parallel::mean(&mut cx, kept, pass.rows);
        }
        let sums = if self.counts { &sums[..] } else { &[] };
        let loss = cx.of(LOSS, |cx| data_parallel::loss(cx, sums, watch));
        cx.program.outputs.push(loss);
        cx.finish()
    }
    // ANCHOR_END: pass

    fn update(&self, model: &Model, rule: Rule, form: Form) -> Program {
        match &self.ends {
            Ends::Cut(shard) => shard.update(&rule, form),
            Ends::Summed(..) => step::Whole.update(model, rule, form),
        }
    }

    fn squares(&self, model: &Model, cx: &mut Recorder) -> Tensor {
        let Some(own) = &self.own else { return step::Whole.squares(model, cx) };
        let [mine, all] = [(); 2].map(|()| cx.tensor(1, 1));
        cx.of("norm", |cx| {
            cx.rows("zero", 1, [], [mine.by_rows()], |_, [], [sum]| sum.fill(0.0));
            for gradient in own {
                let (reads, writes) = ([gradient.by_rows()], [mine.by_rows()]);
                cx.rows("squares", 1, reads, writes, |_, [gradient], [sum]| {
                    let rows = gradient.chunks(WHOLE);
                    let squares = rows.map(|row| f64::from(lab::wide!(|| dot(row, row))));
                    sum[0] += squares.sum::<f64>() as f32;
                });
            }
            cx.collective(What::Sum, ALL, Some(mine), Some(all));
        });
        all
    }
}

/// A tensor of a rank.
#[derive(Clone, Copy)]
struct Piece {
    mine: Tensor,
    whole: Tensor,
    /// What its cut side consists of.
    pieces: [usize; 2],
    /// Whether it is this rank's in a sum over all ranks: what several have is one's.
    counts: bool,
    /// Whether the other end of the pipeline has it, too.
    tied: bool,
}

/// What a rank records of some of the operations, and its way to the others.
///
/// # Errors
/// [`Error::Config`] if the settings do not fit the ranks.
pub fn part<C: Communicator + ?Sized + 'static>(
    settings: &Settings,
    extents: &Extents,
    ops: Range<usize>,
    comm: Arc<Mutex<C>>,
) -> Result<(Part, Peers<C>)> {
    let (rank, ranks) = size(&comm);
    settings.check(ranks)?;
    let (part, groups) = recorded(settings, extents, ops, rank);
    let early = matches!(&part.ends, Ends::Summed(early, _) if !early.is_empty());
    let thread = early.then(|| CommThread::open(Arc::clone(&comm))).transpose()?;
    Ok((part, Peers { comm, groups, thread }))
}

/// What a rank records of some of the operations, and its groups of ranks.
pub fn recorded(
    settings: &Settings,
    extents: &Extents,
    ops: Range<usize>,
    rank: Rank,
) -> (Part, [Vec<Rank>; 3]) {
    let Settings { grid, order: (schedule, micros), pace, since, .. } = *settings;
    let (ranks, cell) = (grid.ranks(), grid.cell(rank));
    let seat = grid.seat(cell);
    let ends = match settings.sums {
        Sums::Cut(level) => Ends::Cut(Shard::new(level, extents, rank, ranks)),
        Sums::Early(bytes) if ranks > 1 => {
            let mut early = overlap::buckets(&extents.layers(), bytes);
            let last = early.pop().unwrap_or_default();
            Ends::Summed(early, last)
        }
        Sums::AtEnd | Sums::Early(_) => {
            let words = extents.learned[ops.end] - extents.learned[ops.start];
            Ends::Summed(Vec::new(), 0..words)
        }
    };
    let groups = [grid.replicas(cell), seat.tensor.clone(), (0..ranks).map(Rank).collect()];
    let done = Mutex::new((since, Vec::new()));
    let stage = Stage {
        seat,
        order: order(schedule, cell.stage, grid.stages, micros),
        micros,
        input: extents.shapes[ops.start],
        rows: extents.rows,
        clock: Arc::new(Clock { stage: cell.stage, pace, since, done }),
    };
    let first = [extents.learned[ops.start], extents.kept[ops.start]];
    let (replicas, counts) = (grid.data, cell.tensor == 0);
    let own = match &ends {
        Ends::Cut(shard) => Some(shard.parts(Place::Gradient).collect()),
        Ends::Summed(..) => None,
    };
    (Part { stage, first, ends, watched: false, tied: Vec::new(), replicas, counts, own }, groups)
}

/// A rank in training, on a device of the engine.
pub struct Member<C: ?Sized, B: Backend = Cpu> {
    settings: Settings,
    /// Numbers of an image, and classes.
    ends: [usize; 2],
    /// Images that stay together.
    rows: usize,
    cell: Cell,
    /// The network that is cut, and this rank's tensors.
    whole: Params,
    pieces: Vec<Piece>,
    shard: Option<Shard>,
    clock: Arc<Clock>,
    comm: Arc<Mutex<C>>,
    /// This rank's part of it.
    pub step: Step<B>,
}

impl<C: Communicator + ?Sized + 'static, B: Backend> Member<C, B> {
    /// [`Member::new`] on a device with a way to the others.
    ///
    /// # Errors
    /// As [`Member::new`].
    pub fn on(
        job: &impl Shared,
        settings: Settings,
        comm: Arc<Mutex<C>>,
        device: impl FnOnce(Peers<C>) -> B,
    ) -> Result<Self> {
        let (rank, ranks) = size(&comm);
        settings.check(ranks)?;
        let (cell, grid) = (settings.grid.cell(rank), settings.grid);
        let of = Of::new(cell.tensor, grid.tensor);
        let mut whole = job.cut(1, Of::new(0, 1))?.0.params;
        let (mut model, counts) = job.cut(grid.stages, of)?;
        let mut pieces = pieces(job, [&model.params, &whole], of);
        fill(&mut model.params, &whole, &pieces, of);
        drop(whole.first_values()); // other parts are other ranks'
        let extents = Extents::of(&model, job.rows());
        let at: usize = counts[..cell.stage].iter().sum();
        let ops = at..at + counts[cell.stage];
        let mut model = stage(model, ops.clone(), &extents);
        let learned = extents.learned[ops.start]..extents.learned[ops.end];
        pieces.retain(|piece| learned.contains(&piece.mine.start));
        for piece in &mut pieces {
            piece.mine.start -= learned.start;
        }
        let (mut part, peers) = part(&settings, &extents, ops, Arc::clone(&comm))?;
        let other = Cell { stage: grid.stages - 1 - cell.stage, ..cell };
        let tied = pieces.iter().filter(|piece| piece.tied);
        part.tied = tied.map(|piece| (grid.rank(other), piece.mine)).collect();
        if grid.data < grid.ranks() {
            let own = pieces.iter().filter(|piece| piece.counts && cell.data == 0);
            part.own = Some(own.map(|piece| piece.mine.gradient()).collect());
        }
        let clock = Arc::clone(&part.stage.clock);
        let shard = if let Ends::Cut(shard) = &part.ends { Some(shard.clone()) } else { None };
        if let Some(shard) = shard.as_ref().filter(|shard| shard.is_cut(Place::Params)) {
            model.params.values = shard.values(&model.params.values);
        }
        let rule = job.rule(&model.params);
        let step = Step::split(device(peers), model, job.seed(), rule, Box::new(part));
        let (ends, rows) = (extents.ends(), job.rows());
        Ok(Self { settings, ends, rows, cell, whole, pieces, shard, clock, comm, step })
    }

    /// The gradient of a batch, of which this rank computes its part: of so many images and a label for each. Returns the mean
    /// loss of all.
    ///
    /// # Errors
    /// The communicator's.
    pub fn gradient(&mut self, images: &[f32], labels: &[u32]) -> Result<f64> {
        let Self { cell, settings, rows, .. } = *self;
        let all = labels.len();
        let mine = portion(all, rows, cell.data, settings.grid.data);
        // The images are the first stage's.
        let each = if cell.stage > 0 { 0 } else { images.len() / all };
        let images = &images[mine.start * each..mine.end * each];
        let (first, mine) = (mine.start, (images, &labels[mine]));
        let pass = self.step.shared((first, all), mine, rows, settings.numbers);
        self.check()?;
        let loss = self.step.fetch(pass);
        let loss = self.step.device.fetched(loss);
        self.check()?;
        Ok(f64::from(loss[0]))
    }

    /// The length of the whole network's gradient, which the next update shortens to this one; as [`step::Step::clip`].
    ///
    /// # Errors
    /// The communicator's.
    pub fn clip(&mut self, limit: f64) -> Result<f64> {
        let norm = self.step.clip(limit as f32);
        let norm = self.step.device.fetched(norm);
        self.check()?;
        Ok(f64::from(norm[0]))
    }

    /// Moves the parameters, at this rate if the rule has none of its own.
    ///
    /// # Errors
    /// The communicator's.
    pub fn update(&mut self, rate: f32) -> Result<()> {
        self.step.update(rate);
        self.check()
    }

    /// Whether all went well on the device and with the other ranks.
    ///
    /// # Errors
    /// What did not.
    pub fn check(&mut self) -> Result<()> {
        self.step.device.told().map_err(original)
    }
}

impl<C: Communicator + 'static> Member<C> {
    /// This rank before the first step.
    ///
    /// # Errors
    /// [`Error::Config`] if the grid does not fit the ranks or the network, or there is no micro-batch.
    pub fn new(job: &impl Shared, settings: Settings, comm: C) -> Result<Self> {
        let cores = |peers| Cpu::new(settings.threads).with_ranks(peers);
        Self::on(job, settings, Arc::new(Mutex::new(comm)), cores)
    }

    /// One step on the batch of all ranks. Returns its mean loss.
    ///
    /// # Errors
    /// [`Error::Backprop`] and [`Error::Config`] if network and batch do not fit, and the communicator's.
    pub fn step(&mut self, batch: &Batch) -> Result<f64> {
        batch.fits(self.ends)?;
        let loss = self.gradient(&batch.x, &batch.words())?;
        self.update(0.0)?; // the rule knows its rate
        Ok(loss)
    }

    /// The whole network's parameters, with what it keeps, as a file has them, on every rank.
    ///
    /// # Errors
    /// The communicator's.
    pub fn parameters(&self) -> Result<Vec<f32>> {
        let params = &self.step.model.params;
        let words = self.step.device.bytes(Place::Params) / 4;
        let mut own = self.step.device.slice(Tensor::new(Place::Params, 0, 1, words)).to_vec();
        // What several ranks have is the first one's, so that the sum over all ranks is the network.
        match &self.shard {
            Some(shard) if shard.is_cut(Place::Params) => own = shard.spread(&own, params.words()),
            _ if self.cell.data > 0 => own.fill(0.0),
            _ => {}
        }
        let of = Of::new(self.cell.tensor, self.settings.grid.tensor);
        let mut all = vec![0.0; self.whole.words()];
        for Piece { mine, whole, pieces, .. } in self.pieces.iter().filter(|piece| piece.counts) {
            places(*mine, *whole, *pieces, of).for_each(|(from, to)| all[to] = own[from]);
        }
        lock(&self.comm).all_reduce(&mut all)?;
        let mut kept = vec![0.0; self.whole.kept.len()];
        if self.cell.data + self.cell.tensor == 0 {
            let own = self.step.device.slice(params.all(Place::Kept));
            for mine in params.tensors.iter().filter(|named| named.tensor.place == Place::Kept) {
                let whole = self.whole.tensors.iter().find(|whole| whole.name == mine.name);
                let (from, to) = (mine.tensor, whole.map_or(mine.tensor, |whole| whole.tensor));
                kept[to.start..][..to.words()].copy_from_slice(&own[from.start..][..to.words()]);
            }
        }
        lock(&self.comm).all_reduce(&mut kept)?;
        let mut file = Vec::new();
        for named in &self.whole.tensors {
            let place = if named.tensor.place == Place::Kept { &kept } else { &all };
            named.to_file(place, &mut file);
        }
        Ok(file)
    }

    /// The bytes on this rank: counted, not computed.
    pub fn memory(&self) -> Memory {
        let of = |place| self.step.device.bytes(place);
        Memory {
            parameters: of(Place::Params),
            gradients: of(Place::Gradient),
            optimizer: of(Place::Mean) + of(Place::Square),
        }
    }

    /// When it did what in its last step.
    pub fn slots(&self) -> Vec<Slot> {
        self.clock.done().1.clone()
    }

    /// What it has recorded for its part of a batch.
    pub fn recorded(&self) -> Option<&Loaded> {
        self.step.passes.values().next()
    }

    /// Its communicator, between two steps.
    pub fn comm(&self) -> MutexGuard<'_, C> {
        lock(&self.comm)
    }
}

/// The tensors of a rank's part, each with the whole one.
fn pieces(job: &impl Shared, [part, whole]: [&Params; 2], of: Of) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::new();
    for mine in part.tensors.iter().filter(|named| named.tensor.place == Place::Params) {
        let Some(whole) = whole.tensors.iter().find(|named| named.name == mine.name) else {
            continue;
        };
        let (name, mine, whole) = (&mine.name, mine.tensor, whole.tensor);
        let side = if mine.cols < whole.cols { whole.cols } else { whole.rows };
        let mut twin = all.iter_mut().find(|piece| piece.whole == whole);
        if let Some(piece) = &mut twin {
            piece.tied = true;
        }
        let (tied, is_cut) = (twin.is_some(), mine.words() < whole.words());
        let counts = !tied && (is_cut || of.at == 0);
        all.push(Piece { mine, whole, pieces: job.pieces(name, side), counts, tied });
    }
    all
}

/// Gives a part the first values of the whole.
fn fill(part: &mut Params, whole: &Params, all: &[Piece], of: Of) {
    for Piece { mine, whole: own, pieces, .. } in all {
        let places = places(*mine, *own, *pieces, of);
        places.for_each(|(to, from)| part.values[to] = whole.values[from]);
    }
}
