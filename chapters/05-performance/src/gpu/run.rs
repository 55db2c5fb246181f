//! A model in training on data that the device has: what is timed, traced and counted.

use super::{
    Gpu,
    kernels::{SET, text},
};
use crate::learner::operations;
use cpu_gpu::{
    Result,
    gpu::{
        self, Arg, Fetching, Launch,
        trace::{Traced, What},
    },
};
use engine::{
    backend::Backend as _,
    program::Numbers,
    rule::Rule,
    state,
    step::{Entire, Step},
};
use lab::data;
use std::{collections::VecDeque, time::Instant};
use training::Model;

/// A model that learns two batches of drawn digits in turn: no time depends on what they show.
pub struct Run<'g> {
    /// The engine's step.
    pub step: Step<Gpu<'g>>,
    batch: usize,
    /// Steps that were launched.
    begun: usize,
}

impl<'g> Run<'g> {
    /// Puts model and images on a device. `graphs`: whether CUDA's launches become graphs.
    ///
    /// # Errors
    /// The device's.
    pub fn new(gpu: &'g dyn gpu::Gpu, model: Model, batch: usize, graphs: bool) -> Result<Self> {
        let data = data::drawn(2 * batch, 1, 1).train;
        let labels: Vec<u32> = data.labels.iter().map(|label| u32::from(*label)).collect();
        let mut device = Gpu::new(gpu);
        device.graphs = graphs;
        let mut step = Step::on(device, operations(model, 0.2), 0, Rule::adam());
        step.keep(&data.scaled(), &labels);
        step.arrange(&(0..2 * batch as u32).collect::<Vec<_>>());
        step.device.check()?;
        Ok(Self { step, batch, begun: 0 })
    }

    /// Starts a step, and waits for nothing.
    ///
    /// # Errors
    /// The device's.
    // ANCHOR: launch
    pub fn launch(&mut self) -> Result<Entire> {
        let Self { step, batch, begun } = self;
        let images = (*begun % 2 * *batch, *batch); // gathered on the device
        *begun += 1;
        let entire = step.entire(images, Numbers::F32, (1e-3, None));
        step.device.check()?;
        Ok(entire)
    }
    // ANCHOR_END: launch

    /// So many steps; a step's scores are asked for when `ahead` more are begun. Returns the scores of the last one.
    ///
    /// # Errors
    /// The device's.
    // ANCHOR: ahead
    pub fn steps(&mut self, count: usize, ahead: usize) -> Result<Vec<f32>> {
        let (mut begun, mut last) = (VecDeque::new(), Vec::new());
        for at in 0..count + ahead {
            if at < count {
                let entire = self.launch()?;
                begun.push_back(self.step.fetch_of(entire, 0)); // on its way
            }
            if at >= ahead {
                last = self.end(begun.pop_front().flatten())?; // there
            }
        }
        Ok(last)
    }
    // ANCHOR_END: ahead

    fn end(&mut self, scores: Option<Fetching>) -> Result<Vec<f32>> {
        let scores = self.step.device.fetched(scores);
        self.step.device.check()?;
        Ok(scores)
    }
}

/// Kernels that a model's step launches, as the device sees them.
///
/// # Errors
/// The device's.
pub fn launches(gpu: &dyn gpu::Gpu, model: Model, batch: usize) -> Result<usize> {
    let traced = Traced::new(gpu);
    let mut run = Run::new(&traced, model, batch, false)?;
    run.launch()?; // what is done once
    let spans = traced.record(&mut || run.launch().map(drop))?;
    Ok(spans.iter().filter(|span| span.what == What::Kernel).count())
}

/// Seconds of one more launch in a row of so many, of a kernel of one thread: it sets what changes from step to step.
///
/// # Errors
/// The device's.
pub fn seconds_of_launch(gpu: &dyn gpu::Gpu, count: usize) -> Result<f64> {
    let kernel = gpu.compile(&text(SET), &[], "set")?;
    let words = gpu.alloc(4 * state::WORDS)?;
    let numbers = (0..state::TOLD as u32).map(Arg::U32);
    let args: Vec<Arg> = [Arg::Buffer(&words)].into_iter().chain(numbers).collect();
    // The shortest of five: what interrupts one, or loads the kernel, makes it longer.
    let row = |count: usize| -> Result<f64> {
        (0..5).try_fold(f64::INFINITY, |least, _| {
            let began = Instant::now();
            (0..count).try_for_each(|_| gpu.launch(&kernel, Launch::new([1, 1], [1, 1]), &args))?;
            gpu.finish()?;
            Ok(least.min(began.elapsed().as_secs_f64()))
        })
    };
    Ok(((row(count + 1)? - row(1)?) / count as f64).max(1e-9))
}
