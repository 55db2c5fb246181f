//! `ZeRO`'s first stage (Rajbhandari et al. 2020): data parallel, and the optimizer remembers each parameter on one rank
//! alone. A reduce-scatter gives each rank the summed gradient of its own part; it updates that part, and an all-gather
//! hands the new parameters round. Both halves together send what an all-reduce sends.

use super::{course::Course, data::Portion, split::Split};
use crate::{
    Model, Result,
    count::Bytes,
    train::{
        Settings, Step,
        adamw::{self, Moments, inside},
        clip,
    },
};
use engine::tensor::Place;
use multi_gpu::{Communicator, Rank, rank::part_of};
use std::ops::Range;

/// A replica whose optimizer knows a part of the parameters.
pub struct Zero {
    /// The model: the same on all ranks after each step.
    pub model: Model,
    /// What is remembered of this rank's part.
    pub moments: Moments,
    course: Course,
    portion: Portion,
    own: Range<usize>,
    /// The tensors of the part, numbered from its beginning.
    tensors: Vec<(Range<usize>, bool)>,
    gradient: Vec<f32>,
}

impl Zero {
    /// A replica that begins with this model; every rank has the same one.
    ///
    /// # Errors
    /// As [`crate::train::Trainer::new`].
    pub fn new(
        model: Model,
        settings: Settings,
        stream: &[u32],
        (rank, ranks): (Rank, usize),
    ) -> Result<Self> {
        let own = part_of(model.layout.len, rank, ranks);
        Ok(Self {
            course: Course::new(&model.config, settings, stream, 0)?,
            portion: Portion::new(&model, &settings, (rank, ranks), 1)?,
            tensors: inside(&adamw::tensors(&model.layout, &model.config), &own),
            moments: Moments::zeros(own.len()),
            gradient: Vec::new(),
            own,
            model,
        })
    }
}

impl Split for Zero {
    fn step(&mut self, stream: &[u32], comm: &mut dyn Communicator) -> Result<Step> {
        self.course.draw(stream)?;
        // ANCHOR: step
        let loss = self.portion.gradient(&self.course)? as f32;
        let engine = &mut self.portion.transformer.step;
        self.gradient = engine.to_file(Place::Gradient);
        comm.reduce_scatter(&mut self.gradient)?; // only `own` is summed up
        let own = &self.gradient[self.own.clone()];
        let norm = clip::norm(own);
        let mut sums = [loss, (norm * norm) as f32];
        comm.all_reduce(&mut sums)?; // the norm is that of all parts
        let [loss, squares] = sums.map(f64::from);
        let (step, clip) = self.course.close(loss, squares.sqrt())?;
        adamw::update(
            &self.course.settings.rule,
            (step.step, step.lr, clip),
            &mut self.model.parameters[self.own.clone()],
            self.moments.slices(),
            own,
            &self.tensors,
        );
        comm.all_gather(&mut self.model.parameters)?;
        engine.from_file(Place::Params, &self.model.parameters);
        // ANCHOR_END: step
        Ok(step)
    }

    fn parameters(&self, _: &mut dyn Communicator) -> Result<Vec<f32>> {
        Ok(self.model.parameters.clone())
    }

    fn bytes(&self) -> Bytes {
        let moments = size_of_val(&self.moments.m[..]) + size_of_val(&self.moments.v[..]);
        Bytes {
            parameters: size_of_val(&self.model.parameters[..]) as u64,
            gradient: size_of_val(&self.gradient[..]) as u64,
            moments: moments as u64,
            activations: self.portion.transformer.bytes() as u64,
            group: 0,
        }
    }
}
