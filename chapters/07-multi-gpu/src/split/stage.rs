//! Some operations of a model's list that follow each other: what one rank computes when layers are on different ranks. They
//! have a range of the one flat buffer, and the rank keeps that range alone.

use crate::{Error, Rank, Result, part_of};
use engine::{
    backend::Form,
    model::Model,
    program::{Numbers, Program},
    record::{Pass, Recorder},
    tensor::{Place, Tensor},
};
use std::ops::Range;

/// Which of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Of {
    /// The number, from 0.
    pub at: usize,
    /// How many there are.
    pub count: usize,
}

impl Of {
    /// Number `at` of `count`.
    pub fn new(at: usize, count: usize) -> Self {
        Self { at, count }
    }
}

/// How many of so many layers each stage has.
///
/// # Errors
/// [`Error::Config`] if there are fewer layers than stages.
pub fn each_stage(layers: usize, stages: usize) -> Result<Vec<usize>> {
    if layers < stages {
        return Err(Error::Config(format!(
            "{layers} layers can't be put on {stages} devices; take {layers} at most"
        )));
    }
    Ok((0..stages).map(|stage| part_of(layers, Rank(stage), stages).len()).collect())
}

/// What the operations of a list have of the buffers, and what comes out of them.
pub struct Extents {
    /// Where the parameters of each operation begin; then where those of the last one end.
    pub learned: Vec<usize>,
    /// The same of what is kept and not learned.
    pub kept: Vec<usize>,
    /// Rows and columns of what goes into each operation for an image; then of the scores.
    pub shapes: Vec<[usize; 2]>,
    /// Rows of a batch that stay together.
    pub rows: usize,
}

impl Extents {
    /// Asks the operations: each is recorded once, for `rows` that stay together.
    pub fn of(model: &Model, rows: usize) -> Self {
        let pass = Pass { rows, training: true, numbers: Numbers::F32, adds: false };
        let mut cx = Recorder::new(pass, Form::CPU);
        cx.at_once = true;
        let mut x = Tensor::new(Place::Input, 0, rows, model.inputs);
        let (mut starts, mut shapes) = (Vec::new(), vec![[1, model.inputs]]);
        let mut known = [0; 2];
        for op in &model.ops {
            let before = cx.program.calls.len();
            x = cx.of(op.name(), |cx| op.record(cx, x)).0;
            shapes.push([x.rows / rows, x.cols]);
            let calls = &mut cx.program.calls[before..];
            let tensors: Vec<Tensor> =
                calls.iter_mut().flat_map(|call| call.tensors_mut()).map(|t| *t).collect();
            // What an operation before has, too, is that one's.
            starts.push([Place::Params, Place::Kept].map(|place| {
                let known = &mut known[usize::from(place == Place::Kept)];
                let own = tensors.iter().filter(|t| t.place == place && t.start >= *known);
                let first = own.clone().map(|tensor| tensor.start).min();
                *known = own.map(|t| t.start + t.words()).max().unwrap_or(*known);
                first
            }));
        }
        let end = |place| {
            let own = model.params.tensors.iter().map(|named| named.tensor);
            own.filter(|t| t.place == place).map(|t| t.start + t.words()).max().unwrap_or(0)
        };
        // What has no parameters begins where the next one does.
        let [learned, kept] = [Place::Params, Place::Kept].map(|place| {
            let of = |start: &[Option<usize>; 2]| start[usize::from(place == Place::Kept)];
            let mut all = vec![end(place)];
            for start in starts.iter().rev() {
                all.push(of(start).unwrap_or(all[all.len() - 1]));
            }
            all.reverse();
            all
        });
        Self { learned, kept, shapes, rows }
    }

    /// Numbers of an image, and of its scores.
    pub fn ends(&self) -> [usize; 2] {
        let of = |shape: Option<&[usize; 2]>| shape.map_or(0, |[rows, cols]| rows * cols);
        [self.shapes.first(), self.shapes.last()].map(of)
    }

    /// Where all parameters end.
    pub fn end(&self) -> usize {
        self.learned.last().copied().unwrap_or(0)
    }

    /// The parameters of each operation that has some.
    pub fn layers(&self) -> Vec<Range<usize>> {
        let pairs = self.learned.windows(2).map(|pair| pair[0]..pair[1]);
        pairs.filter(|range| !range.is_empty()).collect()
    }
}

/// A model with some of its operations alone, whose calls are to be put to the beginning of the buffers: [`moved`].
pub fn stage(model: Model, ops: Range<usize>, extents: &Extents) -> Model {
    let range = |all: &[usize]| all[ops.start]..all[ops.end];
    let params = model.params.part(range(&extents.learned), range(&extents.kept));
    let inputs = if ops.start == 0 { model.inputs } else { 0 };
    let ops = model.ops.into_iter().skip(ops.start).take(ops.len()).collect();
    Model { params, ops, inputs }
}

/// Puts the tensors of a program to where this rank keeps them, so many words before.
pub fn moved(program: &mut Program, [learned, kept]: [usize; 2]) {
    for tensor in program.calls.iter_mut().flat_map(|call| call.tensors_mut()) {
        tensor.start -= match tensor.place {
            Place::Params | Place::Gradient => learned,
            Place::Kept => kept,
            _ => 0,
        };
    }
}
