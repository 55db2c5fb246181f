//! A training step: gradients, update. Everything that changes from step to step is a word among the tensors, so that the
//! same programs run every time.

use crate::{
    cpu::{Cpu, Loaded, Ways},
    model::Model,
    ops::{chain, loss},
    params::{Named, WHOLE},
    program::{Numbers, Program},
    record::{Pass, Recorder},
    state,
    tensor::{Place, Tensor},
    words::{whole, whole_mut},
};
use matmul::team::share;
use std::{collections::HashMap, ops::Range};

/// A model in training.
pub struct Step {
    /// What is trained.
    pub model: Model,
    /// Where.
    pub cpu: Cpu,
    /// The passes that were asked for, each recorded once.
    pub passes: HashMap<Pass, Loaded>,
    /// The update of all parameters.
    pub update: Loaded,
}

/// What an optimizer gets of some parameters: all of one length.
pub struct Update<'a> {
    /// The number of the step, from 1.
    pub step: i32,
    /// The learning rate.
    pub rate: f32,
    /// The parameters.
    pub p: &'a mut [f32],
    /// A memory of the gradients, and one of their squares. Both start with zeros.
    pub means: [&'a mut [f32]; 2],
    /// The gradient. The next pass writes over it.
    pub g: &'a mut [f32],
}

impl Step {
    /// A model on so many threads. `rule` is its optimizer, which gets the parameters in parts; `seed` that of its dropout.
    pub fn new(
        model: Model,
        threads: usize,
        ways: Ways,
        seed: u32,
        rule: impl Fn(Update) + Send + Sync + 'static,
    ) -> Self {
        let mut cpu = Cpu::new(threads);
        cpu.ways = ways;
        for place in [Place::Params, Place::Gradient, Place::Mean, Place::Square] {
            cpu.allocate(place, model.params.words());
        }
        cpu.allocate(Place::Kept, model.params.kept.len());
        cpu.allocate(Place::State, state::tensor().words());
        let update = cpu.load(update(model.params.words(), rule));
        let mut step = Self { model, cpu, passes: HashMap::new(), update };
        let params = &mut step.model.params;
        let (values, kept) = (params.first_values(), params.kept.clone());
        step.all_mut(Place::Params)[..values.len()].copy_from_slice(&values);
        step.all_mut(Place::Kept)[..kept.len()].copy_from_slice(&kept);
        step.state()[state::SEED] = seed;
        step.set_scale(1.0);
        step
    }

    /// Forward and backward on the first `rows` images of [`Step::batch`]: the gradient of their mean loss. Returns their
    /// scores, a row each.
    pub fn gradient(&mut self, rows: usize, numbers: Numbers) -> Vec<f32> {
        self.piece(0..rows, rows, numbers)
    }

    /// What a piece of a batch adds to the gradient of the batch's mean loss: the first one is written, the others are added.
    /// The piece lies in [`Step::batch`], from its first row on. Returns its scores.
    // ANCHOR: piece
    pub fn piece(
        &mut self,
        piece: Range<usize>, // of the batch's images
        images: usize,       // of the batch
        numbers: Numbers,
    ) -> Vec<f32> {
        self.state()[state::FIRST] = piece.start as u32;
        let state = self.cpu.slice_mut(state::tensor());
        state[state::SHARE] = 1.0 / images as f32;
        let scores = self.run(Pass::piece(&piece, numbers));
        // The batch has one mask, whatever its pieces.
        self.skip(u32::from(piece.end == images));
        scores
    }
    // ANCHOR_END: piece

    /// Moves all parameters against their gradients, at this learning rate.
    pub fn update(&mut self, rate: f32) {
        let state = self.cpu.slice_mut(state::tensor());
        state[state::RATE] = rate;
        self.cpu.run(&self.update);
    }

    /// The scores of the first `rows` images of [`Step::batch`], which nobody learns from.
    pub fn predict(&mut self, rows: usize) -> Vec<f32> {
        self.run(Pass { rows, training: false, numbers: Numbers::F32, adds: false })
    }

    /// The sums over the last gradient's images, before its update: of their losses, and of the right answers.
    ///
    /// # Panics
    /// If there was no such gradient.
    pub fn metrics(&mut self, rows: usize, numbers: Numbers) -> [f32; 2] {
        let loaded = &self.passes[&Pass { rows, training: true, numbers, adds: false }];
        let sums = self.cpu.output(loaded, 1);
        sums.chunks_exact(2).fold([0.0; 2], |[loss, right], sum| [loss + sum[0], right + sum[1]])
    }

    /// Where images and labels of a pass go: a row each, and a word each.
    pub fn batch(&mut self, rows: usize) -> (&mut [f32], &mut [u32]) {
        let inputs = self.model.inputs;
        self.cpu.allocate(Place::Input, rows * inputs);
        self.cpu.allocate(Place::Labels, rows);
        let both = [(Place::Input, inputs), (Place::Labels, 1)];
        let [images, labels] = both.map(|(place, cols)| Tensor::new(place, 0, rows, cols));
        let [images, labels] = self.cpu.slices_mut([images, labels]);
        (images, whole_mut(labels))
    }

    /// Fills a batch of so many rows with images and labels, which are copied by all threads if that pays.
    pub fn gather<'a>(
        &mut self,
        rows: usize,
        image: impl Fn(usize) -> &'a [f32] + Sync,
        label: impl Fn(usize) -> u8,
    ) {
        let (inputs, threads) = (self.model.inputs, self.cpu.threads_for(rows * self.model.inputs));
        let (images, labels) = self.batch(rows);
        labels.iter_mut().enumerate().for_each(|(at, to)| *to = u32::from(label(at)));
        let each = rows.div_ceil(threads).max(1);
        let parts = images.chunks_mut(each * inputs).enumerate();
        share(parts, |(part, images)| {
            for (at, to) in images.chunks_exact_mut(inputs).enumerate() {
                to.copy_from_slice(image(*part * each + at));
            }
        });
    }

    fn run(&mut self, pass: Pass) -> Vec<f32> {
        let Self { model, cpu, passes, .. } = self;
        let loaded = passes.entry(pass).or_insert_with(|| {
            let unused = cpu.ways.unused;
            cpu.load(record(model, pass, unused))
        });
        cpu.run(loaded);
        cpu.output(loaded, 0)
    }

    /// Draws the masks of so many steps, and throws them away.
    pub fn skip(&mut self, draws: u32) {
        self.state()[state::DRAW] += draws;
    }

    /// The factor before derivatives in f16.
    pub fn set_scale(&mut self, scale: f32) {
        self.cpu.slice_mut(state::tensor())[state::SCALE] = scale;
    }

    /// Updates that were done.
    pub fn updates(&self) -> u32 {
        whole(self.cpu.slice(state::tensor()))[state::STEP]
    }

    /// Goes on behind so many updates.
    pub fn set_updates(&mut self, updates: u32) {
        self.state()[state::STEP] = updates;
    }

    fn state(&mut self) -> &mut [u32] {
        whole_mut(self.cpu.slice_mut(state::tensor()))
    }

    /// All of a buffer with the parameters' layout, or of what is kept.
    pub fn all(&self, place: Place) -> &[f32] {
        self.cpu.slice(self.model.params.all(place))
    }

    /// The same, to be written.
    pub fn all_mut(&mut self, place: Place) -> &mut [f32] {
        self.cpu.slice_mut(self.model.params.all(place))
    }

    /// A buffer as a file has it: the parameters with what is kept among them, or the gradient or a mean of what is learned.
    pub fn to_file(&self, place: Place) -> Vec<f32> {
        let mut file = Vec::new();
        for named in self.model.params.tensors.iter().filter(|named| holds(place, named)) {
            let from = if named.tensor.place == Place::Kept { Place::Kept } else { place };
            named.to_file(self.all(from), &mut file);
        }
        file
    }

    /// Puts back what [`Step::to_file`] gave.
    ///
    /// # Panics
    /// If there are fewer numbers.
    pub fn from_file(&mut self, place: Place, mut file: &[f32]) {
        for named in self.model.params.tensors.clone().iter().filter(|named| holds(place, named)) {
            let to = if named.tensor.place == Place::Kept { Place::Kept } else { place };
            named.from_file(&mut file, self.all_mut(to));
        }
    }
}

fn holds(place: Place, named: &Named) -> bool {
    place == Place::Params || named.tensor.place == Place::Params
}

// ANCHOR: record
/// Forward and, in training, backward; `unused` is whether nobody wants the
/// gradient of the data.
pub fn record(model: &Model, pass: Pass, unused: bool) -> Program {
    let mut cx = Recorder::new(pass);
    let x = Tensor::new(Place::Input, 0, pass.rows, model.inputs);
    let x = Tensor { constant: unused, ..x };
    let (scores, backward) = chain(&model.ops, &mut cx, x);
    cx.program.outputs.push(scores);
    if pass.training {
        let labels = Tensor::new(Place::Labels, 0, pass.rows, 1);
        let [dy, sums] = cx.of("loss", |cx| loss::record(cx, scores, labels));
        cx.program.outputs.push(sums);
        backward(&mut cx, dy);
    }
    cx.finish()
}
// ANCHOR_END: record

/// The update of so many words of parameters.
fn update(words: usize, rule: impl Fn(Update) + Send + Sync + 'static) -> Program {
    let pass = Pass { rows: 1, training: true, numbers: Numbers::F32, adds: false };
    let mut cx = Recorder::new(pass);
    let state = state::tensor();
    cx.of("update", |cx| {
        cx.rows("tick", 1, [], [state.by_rows()], |_, [], [state]| {
            whole_mut(state)[state::STEP] += 1;
        });
        let all = Tensor::new(Place::Params, 0, words / WHOLE, WHOLE);
        let twins = [Place::Params, Place::Mean, Place::Square, Place::Gradient];
        let writes = twins.map(|place| all.twin(place).by_rows());
        let rows = words / WHOLE;
        cx.rows("update", rows, [state.whole()], writes, move |_, [state], [p, m, v, g]| {
            let step = whole(state)[state::STEP] as i32;
            rule(Update { step, rate: state[state::RATE], p, means: [m, v], g });
        })
        .costs(11 * words);
    });
    cx.finish()
}

/// Adam with its paper's defaults, by chapter 3.
pub fn adam(update: Update) {
    use backprop::adam::{Adam, Factors, fused};
    let Update { step, rate, p, means: [m, v], g } = update;
    let rule = Adam { lr: f64::from(rate), ..Adam::default() };
    fused(Factors::new(&rule, step), p, m, v, g);
}
