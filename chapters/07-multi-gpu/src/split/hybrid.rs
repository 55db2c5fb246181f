//! Data × pipeline × tensor: every rank is in a group for each of the three, as a cell is in a row, a column and a
//! layer of a cube. A rank of any split is one of these, with settings.

use super::{
    data_parallel,
    group::lock,
    job::{Batch, Shared},
    overlap::{self, CommThread},
    pipeline::{Clock, Pace, Seat, Stage, portion, tied},
    ranks::{Peers, original},
    schedule::{Schedule, Slot, order},
    stage::{Extents, Of, moved, stage},
    tensor::places,
    zero::{Level, Memory, Shard},
};
use crate::{Communicator, Error, Rank, Result};
use engine::{
    backend::Form,
    cpu::{Cpu, Loaded},
    model::Model,
    params::{Params, WHOLE},
    program::{Numbers, Program},
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

/// How many ranks for each way of splitting: their product is the number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Replicas of the network, each with a part of the batch.
    pub data: usize,
    /// Parts of the network, one after the other.
    pub stages: usize,
    /// Parts of each product.
    pub tensor: usize,
}

/// A rank's coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Which replica.
    pub data: usize,
    /// Which stage.
    pub stage: usize,
    /// Which part of the products.
    pub tensor: usize,
}

impl Grid {
    /// So many replicas of all.
    pub fn replicas_of(data: usize) -> Self {
        Self { data, stages: 1, tensor: 1 }
    }

    /// How many ranks it takes.
    pub fn ranks(self) -> usize {
        self.data * self.stages * self.tensor
    }

    // ANCHOR: cells
    /// The cell of a rank. Ranks that split a product are next to each other:
    /// they speak most, and next to each other are the fastest wires.
    pub fn cell(self, rank: Rank) -> Cell {
        let (tensor, rest) = (rank.0 % self.tensor, rank.0 / self.tensor);
        Cell { data: rest / self.stages, stage: rest % self.stages, tensor }
    }

    /// The rank in a cell.
    pub fn rank(self, Cell { data, stage, tensor }: Cell) -> Rank {
        Rank((data * self.stages + stage) * self.tensor + tensor)
    }
    // ANCHOR_END: cells

    /// The ranks that have the same parameters as the one in `cell`, and other images.
    pub fn replicas(self, cell: Cell) -> Vec<Rank> {
        (0..self.data).map(|data| self.rank(Cell { data, ..cell })).collect()
    }

    /// Where a rank sits in its pipeline.
    pub fn seat(self, cell: Cell) -> Seat {
        let at = |stage| self.rank(Cell { stage, ..cell });
        Seat {
            before: cell.stage.checked_sub(1).map(at),
            after: (cell.stage + 1 < self.stages).then(|| at(cell.stage + 1)),
            tensor: (0..self.tensor).map(|tensor| self.rank(Cell { tensor, ..cell })).collect(),
        }
    }

    /// Whether it takes all of `ranks`.
    ///
    /// # Errors
    /// [`Error::Config`] if it does not.
    pub fn check(self, ranks: usize) -> Result<()> {
        if self.ranks() == ranks && ranks > 0 {
            return Ok(());
        }
        let Self { data, stages, tensor } = self;
        Err(Error::Config(format!(
            "a grid of {data}×{stages}×{tensor} takes {} ranks, and there are {ranks}; choose three numbers whose product is {ranks}",
            self.ranks()
        )))
    }
}

/// How the gradients of replicas are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// All at once, behind the backward pass.
    AtEnd,
    /// In buckets of so many bytes, each as soon as it is there.
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
    AtEnd(usize),
    Early(Vec<Range<usize>>),
    Cut(Shard),
}

/// What a rank records.
struct Part {
    stage: Stage,
    /// Where its numbers begin in the buffers of all stages.
    first: [usize; 2],
    ends: Ends,
    /// What the other end of the pipeline has, too.
    tied: Vec<(Rank, Tensor)>,
    replicas: usize,
    /// Whether its losses count: the parts of a product have the same.
    counts: bool,
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
        let sums = self.stage.record(&mut cx, model);
        moved(&mut cx.program, self.first);
        match &self.ends {
            Ends::AtEnd(words) => {
                let gradient = Tensor::new(Place::Gradient, 0, 1, *words);
                data_parallel::sum(&mut cx, gradient);
            }
            Ends::Early(buckets) => overlap::sums(&mut cx, buckets),
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
        let loss = cx.of(data_parallel::LOSS, |cx| data_parallel::loss(cx, sums));
        cx.program.outputs.push(loss);
        cx.finish()
    }
    // ANCHOR_END: pass

    fn update(&self, model: &Model, rule: Rule, form: Form) -> Program {
        match &self.ends {
            Ends::Cut(shard) => shard.update(&rule, form),
            _ => step::Whole.update(model, rule, form),
        }
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

/// A rank in training.
pub struct Member<C> {
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
    pub step: Step,
}

impl<C: Communicator + 'static> Member<C> {
    /// This rank before the first step.
    ///
    /// # Errors
    /// [`Error::Config`] if the grid does not fit the ranks or the network, or there is no micro-batch.
    pub fn new(job: &impl Shared, settings: Settings, comm: C) -> Result<Self> {
        let (rank, ranks, grid) = (comm.rank(), comm.size(), settings.grid);
        settings.check(ranks)?;
        let (cell, seat) = (grid.cell(rank), grid.seat(grid.cell(rank)));
        let of = Of::new(cell.tensor, grid.tensor);
        let mut whole = job.cut(1, Of::new(0, 1))?.0.params;
        let (mut model, counts) = job.cut(grid.stages, of)?;
        let mut pieces = pieces(job, [&model.params, &whole], of);
        fill(&mut model.params, &whole, &pieces, of);
        drop(whole.first_values()); // other parts are other ranks'
        let extents = Extents::of(&model, job.rows());
        let at: usize = counts[..cell.stage].iter().sum();
        let next = at + counts[cell.stage];
        let mut model = stage(model, at..next, &extents);
        let learned = extents.learned[at]..extents.learned[next];
        pieces.retain(|piece| learned.contains(&piece.mine.start));
        pieces.iter_mut().for_each(|piece| piece.mine.start -= learned.start);
        let other = Cell { stage: grid.stages - 1 - cell.stage, ..cell };
        let tied = pieces.iter().filter(|piece| piece.tied);
        let tied = tied.map(|piece| (grid.rank(other), piece.mine)).collect();

        let comm = Arc::new(Mutex::new(comm));
        let (mut thread, mut shard) = (None, None);
        let ends = match settings.sums {
            Sums::AtEnd => Ends::AtEnd(learned.len()),
            Sums::Early(bytes) => {
                thread = Some(CommThread::open(Arc::clone(&comm))?);
                Ends::Early(overlap::buckets(&extents.layers(), bytes))
            }
            Sums::Cut(level) => {
                let cut = Shard::new(level, &extents, rank, ranks);
                if cut.is_cut(Place::Params) {
                    model.params.values = cut.values(&model.params.values);
                }
                shard = Some(cut.clone());
                Ends::Cut(cut)
            }
        };
        let groups = [grid.replicas(cell), seat.tensor.clone(), (0..ranks).map(Rank).collect()];
        let peers = Peers { comm: Arc::clone(&comm), groups, thread };
        let Settings { order: (schedule, micros), pace, since, threads, .. } = settings;
        let done = Mutex::new((since, Vec::new()));
        let clock = Arc::new(Clock { stage: cell.stage, pace, since, done });
        let part = Part {
            first: [learned.start, extents.kept[at]],
            ends,
            tied,
            replicas: grid.data,
            counts: cell.tensor == 0,
            stage: Stage {
                seat,
                order: order(schedule, cell.stage, grid.stages, micros),
                micros,
                input: extents.shapes[at],
                rows: job.rows(),
                clock: Arc::clone(&clock),
            },
        };
        let (cpu, rule) = (Cpu::new(threads).with_ranks(peers), job.rule(&model.params));
        let step = Step::split(cpu, model, job.seed(), rule, Box::new(part));
        let (ends, rows) = (extents.ends(), job.rows());
        Ok(Self { settings, ends, rows, cell, whole, pieces, shard, clock, comm, step })
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

    /// The gradient of a batch, of which this rank computes its part: of so many images and a label for each. Returns the mean
    /// loss of all.
    ///
    /// # Errors
    /// The communicator's.
    pub fn gradient(&mut self, images: &[f32], labels: &[u32]) -> Result<f64> {
        // ANCHOR: step
        let (data, replicas) = (self.cell.data, self.settings.grid.data);
        let all = labels.len();
        let mut mine = portion(all, self.rows, data, replicas);
        let (first, mut share) = (mine.start, 1.0 / all as f32);
        if mine.is_empty() {
            // More ranks than images: the others wait for this one, too.
            (mine, share) = (0..self.rows, 0.0);
        }
        // The images are the first stage's.
        let numbers = if self.cell.stage > 0 { 0 } else { images.len() / all };
        let images = &images[mine.start * numbers..mine.end * numbers];
        self.step.fill(mine.len(), images, &labels[mine.clone()]);
        self.clock.done().1.clear();
        let (rows, numbers) = (mine.len(), self.settings.numbers);
        let pass = Pass { rows, training: true, numbers, adds: false };
        self.step.part(pass, first, share);
        // ANCHOR_END: step
        self.step.skip(1); // the batch has one mask, whoever has its parts
        self.check()?;
        Ok(f64::from(self.step.fetch(pass)[0]))
    }

    /// The length of the whole network's gradient.
    ///
    /// # Errors
    /// The communicator's.
    pub fn norm(&mut self) -> Result<f64> {
        let of_all = match &self.shard {
            Some(shard) => self.squares(shard.parts(Place::Gradient)),
            None if self.settings.grid.data == self.settings.grid.ranks() => {
                return Ok(self.step.norm()); // each has all of it
            }
            None if self.cell.data > 0 => 0.0,
            None => {
                let own = self.pieces.iter().filter(|piece| piece.counts);
                self.squares(own.map(|piece| piece.mine.gradient()))
            }
        };
        let mut sum = [of_all as f32];
        lock(&self.comm).all_reduce(&mut sum)?;
        Ok(f64::from(sum[0]).sqrt())
    }

    /// The sum of the squares of some tensors.
    fn squares(&self, tensors: impl Iterator<Item = Tensor>) -> f64 {
        let rows = tensors.flat_map(|tensor| self.step.device.slice(tensor).chunks(WHOLE));
        rows.map(|row| f64::from(lab::wide!(|| dot(row, row)))).sum()
    }

    /// Moves the parameters, at this rate if the rule has none of its own.
    ///
    /// # Errors
    /// The communicator's.
    pub fn update(&mut self, rate: f32) -> Result<()> {
        self.step.update(rate);
        self.check()
    }

    /// What other ranks have done to the last program.
    fn check(&mut self) -> Result<()> {
        self.step.device.check().map_err(original)
    }

    /// The whole network's parameters, on every rank.
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
        Ok(super::job::values(&self.whole, &all))
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
        twin.iter_mut().for_each(|piece| piece.tied = true);
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
