//! Two layers on several ranks.

use multi_gpu::{Communicator, Result, communicator::part_of};

/// A matrix, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Numbers in a row.
    pub width: usize,
    /// All numbers.
    pub values: Vec<f32>,
}

impl Matrix {
    /// The columns `part`.
    #[allow(dead_code, reason = "a solution need not use every cut")]
    pub fn columns(&self, part: std::ops::Range<usize>) -> Self {
        let rows = self.values.chunks_exact(self.width);
        let values = rows.flat_map(|row| &row[part.clone()]).copied().collect();
        Self { width: part.len(), values }
    }

    /// The rows `part`.
    #[allow(dead_code, reason = "a solution need not use every cut")]
    pub fn rows(&self, part: std::ops::Range<usize>) -> Self {
        let values = self.values[part.start * self.width..part.end * self.width].to_vec();
        Self { width: self.width, values }
    }

    /// The product with another one, of as many rows as this one has columns.
    pub fn times(&self, b: &Self) -> Self {
        let row = |x: &[f32]| -> Vec<f32> {
            (0..b.width)
                .map(|j| x.iter().enumerate().map(|(k, x)| x * b.values[k * b.width + j]).sum())
                .collect()
        };
        let values = self.values.chunks_exact(self.width).flat_map(row).collect();
        Self { width: b.width, values }
    }

    /// What is below zero becomes zero.
    pub fn relu(mut self) -> Self {
        self.values.iter_mut().for_each(|x| *x = x.max(0.0));
        self
    }

    /// The matrix of all ranks, whose columns these are some of: by one all-reduce of zeros and this part.
    #[allow(dead_code, reason = "a solution need not gather columns")]
    pub fn gathered(&self, width: usize, comm: &mut dyn Communicator) -> Result<Self> {
        let part = part_of(width, comm.rank(), comm.size());
        let height = self.values.len() / self.width;
        let mut values = vec![0.0; height * width];
        for (to, from) in values.chunks_exact_mut(width).zip(self.values.chunks_exact(self.width)) {
            to[part.clone()].copy_from_slice(from);
        }
        comm.all_reduce(&mut values)?;
        Ok(Self { width, values })
    }
}

/// relu(X·A)·B on every rank. Each rank may look at its own part of A and of B alone.
///
/// # Errors
/// The communicator's.
pub fn two_layers(
    x: &Matrix,
    a: &Matrix,
    b: &Matrix,
    comm: &mut dyn Communicator,
) -> Result<Matrix> {
    // EXERCISE: begin
    let part = part_of(a.width, comm.rank(), comm.size());
    let hidden = x.times(&a.columns(part.clone())).relu();
    let mut y = hidden.times(&b.rows(part));
    comm.all_reduce(&mut y.values)?;
    Ok(y)
    // EXERCISE: instead
    // // Both by columns: a message after each.
    // let mine = a.columns(part_of(a.width, comm.rank(), comm.size()));
    // let hidden = x.times(&mine).relu().gathered(a.width, comm)?;
    // let mine = b.columns(part_of(b.width, comm.rank(), comm.size()));
    // hidden.times(&mine).gathered(b.width, comm)
    // EXERCISE: end
}
