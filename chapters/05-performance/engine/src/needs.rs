//! What a step takes of memory, known before it runs: buffers have the lengths of their tensors, and the plan has the rest.

use crate::{
    backend::Form, memory::bytes, model::Model, plan::Plan, program::Program, record::Pass, state,
    step, tensor::Place,
};

/// Bytes, by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Parameters, what is kept and not learned, and what changes from step to step.
    pub parameters: u64,
    /// The gradient of the parameters.
    pub gradient: u64,
    /// An optimizer's two means.
    pub means: u64,
    /// Images and labels of a pass.
    pub batch: u64,
    /// Temporaries that all threads share.
    pub arena: u64,
    /// What a GPU is asked for when it has run, each in memory of its own.
    pub outputs: u64,
    /// Temporaries that each thread has of its own, of all threads.
    pub scratch: u64,
}

impl Needs {
    /// What these passes of a model take, one after the other, on a device with so many threads.
    pub fn of(model: &Model, all: &[Pass], form: Form, threads: usize) -> Self {
        Self::seen(&step::Whole, model, all, form, threads, |_, _| {})
    }

    /// [`Needs::of`], of a rank that records as `split` does; `look` sees what was planned, each pass once.
    pub fn seen(
        split: &dyn step::Split,
        model: &Model,
        all: &[Pass],
        form: Form,
        threads: usize,
        mut look: impl FnMut(&Program, &Plan),
    ) -> Self {
        // ANCHOR: needs
        let of = |place| bytes(split.words(model, place));
        let mut needs = Self {
            parameters: of(Place::Params)
                + bytes(model.params.kept.len())
                + bytes(state::tensor().words()),
            gradient: of(Place::Gradient),
            means: of(Place::Mean) + of(Place::Square),
            ..Self::default()
        };
        for pass in all {
            // The plan needs the list of calls, and no memory.
            let program = step::recorded(split, model, *pass, form);
            let plan = Plan::new(&program, form.cached);
            let batch = bytes(pass.rows * model.inputs) + bytes(pass.rows);
            needs.batch = needs.batch.max(batch);
            needs.arena = needs.arena.max(bytes(plan.arena));
            let scratch = bytes(threads * plan.scratch);
            needs.scratch = needs.scratch.max(scratch);
            for output in program.outputs.iter().filter(|_| program.apart) {
                needs.outputs += bytes(output.words());
            }
            look(&program, &plan);
        }
        // ANCHOR_END: needs
        needs
    }

    /// All together.
    pub fn total(self) -> u64 {
        let Self { parameters, gradient, means, batch, arena, outputs, scratch } = self;
        parameters + gradient + means + batch + arena + outputs + scratch
    }
}
