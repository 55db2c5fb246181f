//! Tensor parallel: each rank has some heads and some hidden units of every layer, and sees the whole batch. Four sums over
//! the ranks for each layer put the parts together: two forward, two backward.
//!
//! The table of tokens and the normalisations are whole on every rank, which computes the same with them.

use super::{course::Course, cut::Cut, piece::Piece, split::Split};
use crate::{
    Model, Result,
    count::Bytes,
    train::{Settings, Step},
};
use multi_gpu::{Communicator, Rank};

/// A rank's heads and hidden units.
pub struct Tensor {
    piece: Piece,
    course: Course,
    kept: u64,
}

impl Tensor {
    /// Rank `rank` of `ranks`; every rank begins with the same model.
    ///
    /// # Errors
    /// As [`Cut::tensor`] and [`crate::train::Trainer::new`].
    pub fn new(
        model: &Model,
        settings: Settings,
        stream: &[u32],
        (rank, ranks): (Rank, usize),
    ) -> Result<Self> {
        let course = Course::new(&model.config, settings, stream, 0)?;
        let cut = Cut::tensor(model.config, rank, ranks)?;
        Ok(Self { piece: Piece::of(model, cut, settings.length), course, kept: 0 })
    }
}

impl Split for Tensor {
    fn step(&mut self, stream: &[u32], comm: &mut dyn Communicator) -> Result<Step> {
        let (piece, rows) = (&mut self.piece, self.course.rows());
        self.course.draw(stream)?;
        let (tokens, targets) = self.course.sequences(&(0..self.course.settings.batch));
        piece.gradient.fill(0.0);
        let (last, kept) = piece.forward(piece.embed(tokens), comm)?;
        self.kept = kept.bytes();
        let (sum, mut d) = piece.head(&last, targets, rows)?;
        piece.backward(kept, &mut d, comm)?;
        piece.embed_backward(tokens, &d);
        // All ranks have the same loss; one of them tells it.
        let loss = if comm.rank().0 == 0 { sum / rows as f64 } else { 0.0 };
        piece.update(&mut self.course, loss, comm)
    }

    fn parameters(&self, comm: &mut dyn Communicator) -> Result<Vec<f32>> {
        self.piece.gathered(comm)
    }

    fn bytes(&self) -> Bytes {
        self.piece.bytes(self.kept)
    }
}
