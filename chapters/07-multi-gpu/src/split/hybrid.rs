//! Data × pipeline × tensor: every rank is in a group for each of the three, as a cell is in a row, a column and a
//! layer of a cube.

use super::{
    group::Group,
    job::{Batch, Job, Trained, Update, not_empty},
    pipeline::{Pace, Ran, Run, Seat},
    schedule::{Schedule, order},
    stage::{Of, Stage},
};
use crate::{Communicator, Error, Rank, Result, part_of};
use backprop::mlp::Mlp;
use std::time::Instant;

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

/// One rank of a grid, with its part of the network.
#[derive(Debug)]
pub struct Member {
    cell: Cell,
    grid: Grid,
    seat: Seat,
    stage: Stage,
    update: Update,
    order: (Schedule, usize),
    /// How slow its device is.
    pub pace: Pace,
}

impl Member {
    /// The member of `rank`, before the first step.
    ///
    /// # Errors
    /// [`Error::Config`] if the grid does not fit the ranks or the layers, or there is no micro-batch.
    pub fn new(
        job: &Job,
        grid: Grid,
        (schedule, micros): (Schedule, usize),
        (rank, ranks): (Rank, usize),
    ) -> Result<Self> {
        grid.check(ranks)?;
        if micros == 0 {
            return Err(Error::Config(
                "a batch can't be cut into no micro-batches; take one at least".into(),
            ));
        }
        let cell = grid.cell(rank);
        let tensor = Of::new(cell.tensor, grid.tensor);
        let stage = Stage::of(&job.model()?, Of::new(cell.stage, grid.stages), tensor)?;
        let update = Update::new(job.rule, stage.parameters());
        let (seat, order, pace) = (grid.seat(cell), (schedule, micros), Pace::default());
        Ok(Self { cell, grid, seat, stage, update, order, pace })
    }

    /// One step on the batch of all ranks. `since` is when time began. Returns the loss of the whole batch, and what
    /// this rank did when.
    ///
    /// # Errors
    /// [`Error::Backprop`] if network and batch do not fit, and the communicator's.
    pub fn step(
        &mut self,
        batch: &Batch,
        since: Instant,
        comm: &mut dyn Communicator,
    ) -> Result<(f64, Ran)> {
        not_empty(batch)?;
        // ANCHOR: step
        let Cell { data, stage, .. } = self.cell;
        let (schedule, micros) = self.order;
        let mine = batch.part(part_of(batch.len(), Rank(data), self.grid.data))?;
        let mut ran = Run {
            stage: &self.stage,
            seat: &self.seat,
            order: &order(schedule, stage, self.grid.stages, micros),
            batch: &mine,
            micros,
            whole: batch.len(),
            pace: self.pace,
            since,
        }
        .run(comm)?;
        let replicas = self.grid.replicas(self.cell);
        Group::of(comm, &replicas)?.all_reduce(&mut ran.gradient)?;
        self.stage.update(&mut self.update, &ran.gradient);
        // ANCHOR_END: step
        Ok((self.total(ran.loss, comm)?, ran))
    }

    /// The sum of what the last stages know of the loss.
    fn total(&self, loss: f64, comm: &mut dyn Communicator) -> Result<f64> {
        let counts = self.cell.tensor == 0; // the parts of a product have the same scores
        let mut sum = [if counts { loss as f32 } else { 0.0 }];
        comm.all_reduce(&mut sum)?;
        Ok(f64::from(sum[0]))
    }

    /// The whole network's parameters, on every rank.
    ///
    /// # Errors
    /// The communicator's.
    pub fn parameters(&self, job: &Job, comm: &mut dyn Communicator) -> Result<Vec<f32>> {
        let mut model = Mlp::zeros(&job.sizes)?;
        if self.cell.data == 0 {
            self.stage.write(&mut model, Of::new(self.cell.tensor, self.grid.tensor));
        }
        let mut parameters = model.parameters();
        comm.all_reduce(&mut parameters)?; // each number is on one rank, and zero on the others
        Ok(parameters)
    }
}

/// Trains this rank's part. All ranks return the whole network.
///
/// # Errors
/// As [`Member::new`] and [`Member::step`].
pub fn train(
    job: &Job,
    batches: &[Batch],
    grid: Grid,
    order: (Schedule, usize),
    comm: &mut dyn Communicator,
) -> Result<Trained> {
    let mut member = Member::new(job, grid, order, (comm.rank(), comm.size()))?;
    let since = Instant::now();
    let steps = batches.iter().map(|batch| Ok(member.step(batch, since, comm)?.0));
    let losses = steps.collect::<Result<_>>()?;
    Ok(Trained { parameters: member.parameters(job, comm)?, losses })
}
