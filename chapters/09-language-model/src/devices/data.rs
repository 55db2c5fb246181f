//! Data parallel: each rank has the whole model and a part of the batch, and one all-reduce adds up the gradients. All take
//! the same step, so the replicas stay equal bit for bit.

use super::{course::Course, split::Split};
use crate::{
    Model, Result,
    count::Bytes,
    train::{Settings, Step, adamw::Moments},
    transformer::Transformer,
};
use engine::tensor::Place;
use multi_gpu::{Communicator, Rank, rank::part_of};
use std::ops::Range;

/// A model, and a rank's sequences of each batch.
pub struct Portion {
    /// The model: the same on all ranks.
    pub transformer: Transformer,
    sequences: Range<usize>,
}

impl Portion {
    /// Rank `rank`'s of `ranks`, on so many threads.
    ///
    /// # Errors
    /// As [`Transformer::new`].
    pub fn new(
        model: &Model,
        settings: &Settings,
        (rank, ranks): (Rank, usize),
        threads: usize,
    ) -> Result<Self> {
        let (most, how) = ((settings.batch, settings.length), (settings.rule, settings.numbers));
        let transformer = Transformer::new(model, most, how, threads)?;
        Ok(Self { transformer, sequences: part_of(settings.batch, rank, ranks) })
    }

    /// What these sequences add to the loss of the whole batch, and to its gradient.
    ///
    /// # Errors
    /// As [`Transformer::gradient`].
    // ANCHOR: portion
    pub fn gradient(&mut self, course: &Course) -> Result<f64> {
        if self.sequences.is_empty() {
            // more ranks than sequences
            self.transformer.step.all_mut(Place::Gradient).fill(0.0);
        }
        let (tokens, targets) = course.sequences(&self.sequences);
        // A mean over all ranks' tokens, of which these are some.
        self.transformer.gradient(tokens, targets, course.rows())
    }
    // ANCHOR_END: portion
}

/// A replica of the model.
pub struct Data {
    /// What all ranks know alike.
    pub course: Course,
    portion: Portion,
}

impl Data {
    /// A replica that begins with this model; every rank has the same one.
    ///
    /// # Errors
    /// As [`crate::train::Trainer::new`].
    pub fn new(
        model: &Model,
        settings: Settings,
        stream: &[u32],
        of: (Rank, usize),
        threads: usize,
    ) -> Result<Self> {
        let course = Course::new(&model.config, settings, stream, 0)?;
        Ok(Self { course, portion: Portion::new(model, &settings, of, threads)? })
    }

    /// Goes on behind so many steps, with this memory of the optimizer.
    pub fn restore(&mut self, step: u64, moments: &Moments) {
        let engine = &mut self.portion.transformer.step;
        engine.from_file(Place::Mean, &moments.m);
        engine.from_file(Place::Square, &moments.v);
        engine.set_updates(step as u32);
        self.course.step = step;
    }

    /// Steps taken, the parameters and the optimizer's two means.
    pub fn state(&self) -> (u64, [Vec<f32>; 3]) {
        let places = [Place::Params, Place::Mean, Place::Square];
        (self.course.step, places.map(|place| self.portion.transformer.step.to_file(place)))
    }
}

impl Split for Data {
    fn step(&mut self, stream: &[u32], comm: &mut dyn Communicator) -> Result<Step> {
        let Self { course, portion } = self;
        course.draw(stream)?;
        // ANCHOR: step
        let loss = portion.gradient(course)?;
        let engine = &mut portion.transformer.step;
        // The gradient, and as its last number the loss.
        let mut message = engine.to_file(Place::Gradient);
        message.push(loss as f32);
        comm.all_reduce(&mut message)?; // the only line that others hear
        let loss = message[message.len() - 1];
        engine.from_file(Place::Gradient, &message);
        let (step, clip) = course.close(f64::from(loss), engine.norm())?;
        engine.set_clip(clip);
        engine.update(step.lr as f32);
        // ANCHOR_END: step
        Ok(step)
    }

    fn parameters(&self, _: &mut dyn Communicator) -> Result<Vec<f32>> {
        Ok(self.portion.transformer.step.to_file(Place::Params))
    }

    fn bytes(&self) -> Bytes {
        let parameters = 4 * self.portion.transformer.step.model.params.learned() as u64;
        Bytes {
            parameters,
            gradient: parameters,
            moments: 2 * parameters,
            activations: self.portion.transformer.bytes() as u64,
            group: 0,
        }
    }
}
