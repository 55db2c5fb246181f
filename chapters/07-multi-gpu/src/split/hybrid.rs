//! Data × pipeline × tensor: every rank is in a group for each of the three, as a cell is in a row, a column and a
//! layer of a cube. A rank of any split is one of these, with settings.

use super::{
    data_parallel,
    group::lock,
    job::{Batch, Job},
    overlap::{self, CommThread},
    pipeline::{Clock, Pace, Seat, Stage},
    ranks::{Peers, original},
    schedule::{Schedule, Slot, order},
    stage::{Extents, Of, moved, stage},
    tensor::places,
    zero::{Level, Memory, Shard},
};
use crate::{Communicator, Error, Rank, Result, part_of};
use engine::{
    backend::Form,
    cpu::{Cpu, Loaded},
    model::Model,
    params::Params,
    program::{Numbers, Program},
    record::{Pass, Recorder},
    rule::Rule,
    step::{self, Step},
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
}

impl Settings {
    /// A grid, with whole batches and one sum.
    pub fn of(grid: Grid) -> Self {
        let order = (Schedule::Gpipe, 1);
        let (sums, pace, since) = (Sums::AtEnd, Pace::default(), Instant::now());
        Self { grid, order, sums, pace, since }
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
        let replicas = self.grid.data == ranks && self.order.1 == 1;
        if self.sums != Sums::AtEnd && !replicas {
            return Err(Error::Config(format!(
                "buckets and parts of gradients are for replicas of a whole network alone; take a grid of {ranks}×1×1 and \
                 whole batches"
            )));
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

/// A rank in training.
pub struct Member<C> {
    job: Job,
    settings: Settings,
    cell: Cell,
    /// The network that is cut.
    whole: Params,
    shard: Option<Shard>,
    clock: Arc<Clock>,
    comm: Arc<Mutex<C>>,
    /// This rank's part of it.
    pub step: Step,
}

impl<C: Communicator + 'static> Member<C> {
    /// This rank before the first step, with one thread to compute.
    ///
    /// # Errors
    /// [`Error::Config`] if the grid does not fit the ranks or the network, or there is no micro-batch.
    pub fn new(job: &Job, settings: Settings, comm: C) -> Result<Self> {
        let (rank, ranks, grid) = (comm.rank(), comm.size(), settings.grid);
        settings.check(ranks)?;
        let (cell, seat) = (grid.cell(rank), grid.seat(grid.cell(rank)));
        let (mut whole, of) = (job.model()?.params, Of::new(cell.tensor, grid.tensor));
        let (mut model, counts) = job.cut(grid.stages, of)?;
        fill(&mut model.params, &whole, of);
        drop(whole.first_values()); // other parts are other ranks'
        let extents = Extents::of(&model);
        let at: usize = counts[..cell.stage].iter().sum();
        let next = at + counts[cell.stage];
        let mut model = stage(model, at..next, &extents);

        let comm = Arc::new(Mutex::new(comm));
        let (mut thread, mut shard) = (None, None);
        let ends = match settings.sums {
            Sums::AtEnd => Ends::AtEnd(extents.learned[next] - extents.learned[at]),
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
        let cpu = Cpu::new(1).with_ranks(Peers { comm: Arc::clone(&comm), groups, thread });
        let Settings { order: (schedule, micros), pace, since, .. } = settings;
        let done = Mutex::new((since, Vec::new()));
        let clock = Arc::new(Clock { stage: cell.stage, pace, since, done });
        let part = Part {
            first: [extents.learned[at], extents.kept[at]],
            ends,
            replicas: grid.data,
            counts: cell.tensor == 0,
            stage: Stage {
                seat,
                order: order(schedule, cell.stage, grid.stages, micros),
                micros,
                input: extents.shapes[at],
                clock: Arc::clone(&clock),
            },
        };
        let (seed, rule) = (job.seed as u32, job.rule.of_engine());
        let step = Step::split(cpu, model, seed, rule, Box::new(part));
        Ok(Self { job: job.clone(), settings, cell, whole, shard, clock, comm, step })
    }

    /// One step on the batch of all ranks. Returns its mean loss.
    ///
    /// # Errors
    /// [`Error::Backprop`] and [`Error::Config`] if network and batch do not fit, and the communicator's.
    pub fn step(&mut self, batch: &Batch) -> Result<f64> {
        let pass = self.gradient(batch)?;
        let loss = self.step.fetch(pass); // what runs later may change it
        self.step.update(0.0); // the rule knows its rate
        self.check()?;
        Ok(f64::from(loss[0]))
    }

    /// The gradient of a batch, of which this rank computes its part.
    fn gradient(&mut self, batch: &Batch) -> Result<Pass> {
        self.job.fits(batch)?;
        // ANCHOR: step
        let (data, replicas) = (Rank(self.cell.data), self.settings.grid.data);
        let part = part_of(batch.len(), data, replicas);
        let mut mine = batch.part(part.clone())?;
        let mut share = 1.0 / batch.len() as f32;
        if mine.is_empty() {
            // More ranks than images: the others wait for this one, too.
            (mine, share) = (batch.part(0..1)?, 0.0);
        }
        if self.cell.stage > 0 {
            mine.x.clear(); // they are the first stage's
        }
        let rows = mine.len();
        self.step.fill(rows, &mine.x, &mine.words());
        self.clock.done().1.clear();
        let numbers = Numbers::F32;
        let pass = Pass { rows, training: true, numbers, adds: false };
        self.step.part(pass, part.start, share);
        // ANCHOR_END: step
        self.step.skip(1); // the batch has one mask, whoever has its parts
        self.check()?;
        Ok(pass)
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
        for (mine, whole) in pairs(params, &self.whole) {
            if self.cell.tensor == 0 || mine.words() < whole.words() {
                places(mine, whole, of).for_each(|(from, to)| all[to] = own[from]);
            }
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
fn pairs<'a>(part: &'a Params, whole: &'a Params) -> impl Iterator<Item = (Tensor, Tensor)> + 'a {
    part.tensors.iter().filter(|named| named.tensor.place == Place::Params).filter_map(|mine| {
        let whole = whole.tensors.iter().find(|named| named.name == mine.name)?;
        Some((mine.tensor, whole.tensor))
    })
}

/// Gives a part the first values of the whole.
fn fill(part: &mut Params, whole: &Params, of: Of) {
    let mut values = std::mem::take(&mut part.values);
    for (mine, own) in pairs(part, whole) {
        places(mine, own, of).for_each(|(to, from)| values[to] = whole.values[from]);
    }
    part.values = values;
}
