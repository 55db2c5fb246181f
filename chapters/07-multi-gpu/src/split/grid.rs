//! Where each rank stands: every rank is in a group for each way of splitting, as a cell is in a row, a column and a layer of a
//! cube.

use super::pipeline::Seat;
use crate::{Error, Rank, Result};

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
