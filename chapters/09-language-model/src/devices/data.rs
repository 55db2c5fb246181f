//! Data parallel: each rank has the whole model and a part of the batch, and one all-reduce adds up the gradients. All take
//! the same step, so the replicas stay equal bit for bit.

use super::{course::Course, split::Split};
use crate::{
    Model, Result,
    count::Bytes,
    passes::Passes,
    train::{
        Settings, Step,
        adamw::{self, Moments},
        clip,
    },
};
use multi_gpu::{Communicator, Rank, rank::part_of};
use std::ops::Range;

/// A rank's sequences of each batch, and what they need on their way through the model.
pub struct Portion {
    sequences: Range<usize>,
    /// None where there are more ranks than sequences.
    passes: Option<Passes>,
    /// The part of the batch's tokens that are its own.
    fraction: f32,
}

impl Portion {
    /// Rank `rank`'s of `ranks`, on so many threads.
    ///
    /// # Errors
    /// As [`Passes::new`].
    pub fn new(
        model: &Model,
        settings: &Settings,
        (rank, ranks): (Rank, usize),
        threads: usize,
    ) -> Result<Self> {
        let sequences = part_of(settings.batch, rank, ranks);
        let passes = |count| {
            let passes = Passes::new(model.config, count, settings.length, threads)?;
            Ok::<_, crate::Error>(passes.of_numbers(settings.numbers))
        };
        let passes = (!sequences.is_empty()).then(|| passes(sequences.len())).transpose()?;
        let fraction = sequences.len() as f32 / settings.batch as f32;
        Ok(Self { sequences, passes, fraction })
    }

    /// What these sequences add to the loss of the whole batch, and to its gradient.
    ///
    /// # Errors
    /// As [`Passes::gradient`].
    // ANCHOR: portion
    pub fn gradient(
        &mut self,
        model: &Model,
        course: &Course,
        gradient: &mut [f32],
    ) -> Result<f32> {
        let Some(passes) = &mut self.passes else {
            gradient.fill(0.0); // more ranks than sequences
            return Ok(0.0);
        };
        let batch = course.sequences(&self.sequences);
        let loss = passes.gradient(model, batch, gradient, false)?;
        // The mean over all tokens, from the mean over these.
        if self.fraction < 1.0 {
            for g in gradient {
                *g *= self.fraction;
            }
        }
        Ok(loss as f32 * self.fraction)
    }
    // ANCHOR_END: portion

    /// Bytes of its buffers.
    pub fn bytes(&self) -> u64 {
        self.passes.as_ref().map_or(0, Passes::bytes) as u64
    }
}

/// A replica of the model.
pub struct Data {
    /// The model: the same on all ranks.
    pub model: Model,
    /// The optimizer's memory: the same on all ranks.
    pub moments: Moments,
    /// What all ranks know alike.
    pub course: Course,
    portion: Portion,
    tensors: Vec<(Range<usize>, bool)>,
    /// The gradient, and as its last number the loss.
    message: Vec<f32>,
    parts: Vec<f32>,
    threads: usize,
}

impl Data {
    /// A replica that begins with this model; every rank has the same one.
    ///
    /// # Errors
    /// As [`crate::train::Trainer::new`].
    pub fn new(
        model: Model,
        settings: Settings,
        stream: &[u32],
        of: (Rank, usize),
        threads: usize,
    ) -> Result<Self> {
        let len = model.layout.len;
        Ok(Self {
            course: Course::new(&model.config, settings, stream, 0)?,
            portion: Portion::new(&model, &settings, of, threads)?,
            tensors: adamw::tensors(&model.layout, &model.config),
            moments: Moments::zeros(len),
            message: vec![0.0; len + 1],
            parts: Vec::new(),
            threads,
            model,
        })
    }
}

impl Split for Data {
    fn step(&mut self, stream: &[u32], comm: &mut dyn Communicator) -> Result<Step> {
        let (len, threads) = (self.model.layout.len, self.threads);
        self.course.draw(stream)?;
        let (model, course) = (&self.model, &self.course);
        // ANCHOR: step
        let gradient = &mut self.message[..len];
        self.message[len] = self.portion.gradient(model, course, gradient)?;
        comm.all_reduce(&mut self.message)?; // the only line that others hear
        let (gradient, loss) = self.message.split_at(len);
        let norm = clip::norm(gradient, &mut self.parts, threads);
        let (step, clip) = self.course.close(f64::from(loss[0]), norm)?;
        adamw::update(
            &self.course.settings.rule,
            (step.step, step.lr, clip),
            &mut self.model.parameters,
            &mut self.moments,
            gradient,
            &self.tensors,
            threads,
        );
        // ANCHOR_END: step
        Ok(step)
    }

    fn parameters(&self, _: &mut dyn Communicator) -> Result<Vec<f32>> {
        Ok(self.model.parameters.clone())
    }

    fn bytes(&self) -> Bytes {
        let parameters = size_of_val(&self.model.parameters[..]) as u64;
        let moments = size_of_val(&self.moments.m[..]) + size_of_val(&self.moments.v[..]);
        Bytes {
            parameters,
            gradient: size_of_val(&self.message[..]) as u64,
            moments: moments as u64,
            activations: self.portion.bytes(),
            group: 0,
        }
    }
}
