//! Pipeline: each rank has some layers, and the batch goes through them in micro-batches, in the order of chapter 7's
//! schedules.
//!
//! The table of tokens is needed at both ends, because input and output share it. The first and the last stage both have
//! it, and add up what they found of its gradient before the update, so the two copies stay equal.

use super::{
    course::Course,
    cut::Cut,
    piece::{Kept, Piece},
    split::Split,
};
use crate::{
    Model, Result,
    count::Bytes,
    train::{Settings, Step},
};
use multi_gpu::{
    Communicator, Rank,
    rank::part_of,
    split::{
        group::Group,
        pipeline::{Out, meet, send},
        schedule::{Direction, Schedule, order},
    },
};
use std::collections::BTreeMap;

/// A rank's layers.
pub struct Pipeline {
    piece: Piece,
    course: Course,
    rank: Rank,
    stages: usize,
    schedule: Schedule,
    micros: usize,
    /// The most bytes that have waited for the backward pass.
    peak: u64,
}

impl Pipeline {
    /// Stage `rank` of `stages`, with batches in up to `micros` micro-batches of whole sequences; every rank begins with the
    /// same model.
    ///
    /// # Errors
    /// As [`Cut::stage`] and [`crate::train::Trainer::new`].
    pub fn new(
        model: &Model,
        settings: Settings,
        stream: &[u32],
        (rank, stages): (Rank, usize),
        (schedule, micros): (Schedule, usize),
    ) -> Result<Self> {
        let course = Course::new(&model.config, settings, stream, 0)?;
        let piece = Piece::of(model, Cut::stage(model.config, rank, stages)?, settings.length);
        let micros = micros.clamp(1, settings.batch);
        Ok(Self { piece, course, rank, stages, schedule, micros, peak: 0 })
    }

    /// All micro-batches, forward and backward. Returns what the losses add up to, where the scores are.
    fn run(&mut self, comm: &mut dyn Communicator) -> Result<f64> {
        let (piece, rank, whole) = (&mut self.piece, self.rank, self.course.rows());
        let before = rank.0.checked_sub(1).map(Rank);
        let after = (rank.0 + 1 < self.stages).then(|| Rank(rank.0 + 1));
        let (mut waiting, mut out): (BTreeMap<usize, (Kept, Vec<f32>)>, Out) = Default::default();
        let mut sum = 0.0;
        for work in order(self.schedule, rank.0, self.stages, self.micros) {
            let part = part_of(self.course.settings.batch, Rank(work.micro), self.micros);
            let (tokens, targets) = self.course.sequences(&part);
            let numbers = tokens.len() * piece.cut.config.width;
            let from = if work.direction == Direction::Forward { before } else { after };
            let got = meet(from, numbers, out.take(), comm)?;
            let alone = &mut Group::of(comm, &[rank])?;
            if work.direction == Direction::Forward {
                let x = got.unwrap_or_else(|| piece.embed(tokens));
                let (y, kept) = piece.forward(x, alone)?;
                let mut d = Vec::new();
                if let Some(after) = after {
                    out = Some((after, y));
                } else {
                    let (losses, dlast) = piece.head(&y, targets, whole)?;
                    sum += losses;
                    d = dlast;
                }
                waiting.insert(work.micro, (kept, d));
                let bytes = waiting.values().map(|(kept, _)| kept.bytes()).sum();
                self.peak = self.peak.max(bytes);
            } else if let Some((kept, d)) = waiting.remove(&work.micro) {
                let mut d = got.unwrap_or(d);
                piece.backward(kept, &mut d, alone)?;
                match before {
                    Some(before) => out = Some((before, d)),
                    None => piece.embed_backward(tokens, &d),
                }
            }
        }
        send(out, comm)?;
        Ok(sum / whole as f64)
    }
}

impl Split for Pipeline {
    fn step(&mut self, stream: &[u32], comm: &mut dyn Communicator) -> Result<Step> {
        self.course.draw(stream)?;
        self.piece.gradient.fill(0.0);
        // ANCHOR: step
        let loss = self.run(comm)?;
        let (first, last) = (Rank(0), Rank(self.stages - 1));
        if first != last && [first, last].contains(&self.rank) {
            // Both ends have found a part of the table's gradient.
            if let Some(table) = self.piece.places.embedding.clone() {
                let ends = &mut Group::of(comm, &[first, last])?;
                ends.all_reduce(&mut self.piece.gradient[table])?;
            }
        }
        self.piece.update(&mut self.course, loss, comm)
        // ANCHOR_END: step
    }

    fn parameters(&self, comm: &mut dyn Communicator) -> Result<Vec<f32>> {
        self.piece.gathered(comm)
    }

    fn bytes(&self) -> Bytes {
        self.piece.bytes(self.peak)
    }
}
