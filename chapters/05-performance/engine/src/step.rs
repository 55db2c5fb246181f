//! A training step: gradients, update. Everything that changes from step to step is a word among the tensors, so that the
//! same programs run every time.

use crate::{
    backend::{Backend, Form},
    cpu::{Cpu, Ways},
    gather::Kept,
    model::Model,
    ops::{chain, loss},
    params::Named,
    program::{Numbers, Program},
    record::{Pass, Recorder},
    rule::{ALONE, Rule, Update, clip, squares, update},
    state,
    tensor::{Place, Tensor},
    words::{whole_mut, words},
};
use backprop::adam::{Adam, Factors};
use matmul::team::share;
use std::{collections::HashMap, ops::Range};

/// A model in training.
pub struct Step<B: Backend = Cpu> {
    /// What is trained.
    pub model: Model,
    /// What is recorded of it.
    split: Box<dyn Split>,
    /// Where.
    pub device: B,
    /// The passes that were asked for, each recorded once.
    pub passes: HashMap<Pass, B::Loaded>,
    /// The update of all parameters.
    pub update: B::Loaded,
    /// Made when it is asked for: only who clips wants it.
    clip: Option<B::Loaded>,
    /// What fills a batch of so many rows, and steps that begin with it.
    gathers: HashMap<usize, B::Loaded>,
    entire: HashMap<Entire, B::Loaded>,
    /// What the device keeps for them, and the length of its order.
    kept: Kept,
    order: usize,
    rule: Rule,
    /// What changes from step to step, and what the device knows of it.
    state: [u32; state::TOLD],
    told: Option<[u32; state::TOLD]>,
}

/// A pass with its batch before it and its update behind it, and whether the gradient is clipped between them.
pub type Entire = (Pass, bool);

/// How a rank of several records a step, and what it keeps; one device records and keeps all.
// ANCHOR: split
pub trait Split: Send + Sync {
    /// Words of one of the buffers with the parameters' layout.
    fn words(&self, model: &Model, _: Place) -> usize {
        model.params.words()
    }

    /// A training pass; predictions are a whole model's.
    fn pass(&self, model: &Model, pass: Pass, form: Form) -> Program {
        program(model, pass, form)
    }

    /// The update.
    fn update(&self, model: &Model, rule: Rule, form: Form) -> Program {
        let mut cx = Recorder::new(ALONE, form);
        let all = Place::UPDATED.map(|place| model.params.all(place));
        update(&mut cx, &rule, 0, all);
        cx.finish()
    }
    // ANCHOR_END: split

    /// Sums of the squares of the whole model's gradient.
    fn squares(&self, model: &Model, cx: &mut Recorder) -> Tensor {
        squares(cx, model.params.words())
    }
}

/// One device.
pub struct Whole;

impl Split for Whole {}

impl<B: Backend> Step<B> {
    /// A model on a device. `seed` is that of its dropout.
    pub fn on(device: B, model: Model, seed: u32, rule: Rule) -> Self {
        Self::split(device, model, seed, rule, Box::new(Whole))
    }

    /// A rank's part of a training.
    pub fn split(
        mut device: B,
        model: Model,
        seed: u32,
        rule: Rule,
        split: Box<dyn Split>,
    ) -> Self {
        for place in Place::UPDATED {
            device.allocate(place, split.words(&model, place));
        }
        device.allocate(Place::Kept, model.params.kept.len());
        device.allocate(Place::State, state::WORDS);
        let update = device.load(split.update(&model, rule.clone(), device.form()));
        let mut step = Self {
            model,
            split,
            device,
            passes: HashMap::new(),
            update,
            clip: None,
            gathers: HashMap::new(),
            entire: HashMap::new(),
            kept: Kept::Images(0),
            order: 0,
            rule,
            state: [0; state::TOLD],
            told: None,
        };
        let params = &mut step.model.params;
        let (values, kept) = (params.first_values(), params.kept.clone());
        step.device.write(Tensor::new(Place::Params, 0, 1, values.len()), &values);
        step.device.write(Tensor::new(Place::Kept, 0, 1, kept.len()), &kept);
        step.state[state::SEED] = seed;
        step.set_scale(1.0);
        step.set_clip(1.0);
        step
    }

    /// Forward and backward on the first `rows` images of the batch: the gradient of their mean loss. Returns their scores, a
    /// row each.
    pub fn gradient(&mut self, rows: usize, numbers: Numbers) -> Vec<f32> {
        let pass = self.piece(0..rows, rows, numbers);
        self.output(pass, 0)
    }

    /// What a piece of a batch adds to the gradient of the batch's mean loss: the first one is written, the others are added.
    /// The piece lies in the batch's memory, from its first row on. Returns its pass, for [`Step::fetch`] and [`Step::sums`].
    // ANCHOR: piece
    pub fn piece(
        &mut self,
        piece: Range<usize>, // of the batch's images
        images: usize,       // of the batch
        numbers: Numbers,
    ) -> Pass {
        let pass = Pass::piece(&piece, numbers);
        self.part(pass, piece.start, 1.0 / images as f32);
        // The batch has one mask, whatever its pieces.
        self.skip(u32::from(piece.end == images));
        pass
    }
    // ANCHOR_END: piece

    /// Runs a pass on some images of a batch, from the `first` on, each of which has this share of the loss; the others are
    /// another pass's, or another rank's.
    pub fn part(&mut self, pass: Pass, first: usize, share: f32) {
        self.state[state::FIRST] = first as u32;
        self.state[state::SHARE] = share.to_bits();
        self.start(pass);
    }

    /// A rank's part of a batch of `all` images, of which its own are the `first` and those behind it: one pass, which knows how
    /// to go on with the other ranks. They wait for a rank without images, too: it computes `rows` of zeros, which count nothing.
    // ANCHOR: shared
    pub fn shared(
        &mut self,
        (first, all): (usize, usize),
        (images, labels): (&[f32], &[u32]), // this rank's
        rows: usize,                        // that stay together
        numbers: Numbers,
    ) -> Pass {
        let (rows, share) = match labels.len() {
            0 => (rows, 0.0), // more ranks than images
            own => (own, 1.0 / all as f32),
        };
        if labels.is_empty() {
            self.fill(rows, &vec![0.0; rows * self.model.inputs], &vec![0; rows]);
        } else {
            self.fill(rows, images, labels);
        }
        let pass = Pass { rows, training: true, numbers, adds: false };
        self.part(pass, first, share);
        self.skip(1); // the batch has one mask, whoever has its parts
        pass
    }
    // ANCHOR_END: shared

    /// The scores of a pass, a row for each image, which come later.
    pub fn fetch(&mut self, pass: Pass) -> B::Fetching {
        self.device.fetch(&self.passes[&pass], 0)
    }

    /// A step on a batch that is one piece, from the `first` of the order on: it is gathered, computed and learned from, at this
    /// rate, by a gradient no longer than the limit, if there is one. All of it is one program, which knows before it starts what
    /// changes from step to step. Without a limit the factor stays that there is: see [`Step::clip`].
    ///
    /// # Panics
    /// If the order has no such batch.
    pub fn entire(
        &mut self,
        (first, rows): (usize, usize),
        numbers: Numbers,
        (rate, limit): (f32, Option<f32>),
    ) -> Entire {
        let pass = Pass { rows, training: true, numbers, adds: false };
        let entire = (pass, limit.is_some());
        self.take(first, rows);
        self.state[state::FIRST] = 0;
        self.state[state::SHARE] = (1.0 / rows as f32).to_bits();
        self.state[state::LIMIT] = limit.unwrap_or(f32::INFINITY).to_bits();
        self.advance(rate);
        self.tell();
        if !self.entire.contains_key(&entire) {
            let form = self.device.form();
            let pass = self.gathered(rows).then(self.split.pass(&self.model, pass, form));
            let clip = limit.map_or(Program::default(), |_| self.clipped());
            let update = self.split.update(&self.model, self.rule.clone(), form);
            let loaded = self.device.load(pass.then(clip).then(update));
            self.entire.insert(entire, loaded);
        }
        self.device.run(&self.entire[&entire]);
        self.skip(1);
        entire
    }

    /// An output of such a step, which comes later: the scores, what [`Step::sums`] adds up, the gradient's length.
    pub fn fetch_of(&mut self, entire: Entire, number: usize) -> B::Fetching {
        self.device.fetch(&self.entire[&entire], number)
    }

    /// Moves all parameters against their gradients, at this learning rate.
    pub fn update(&mut self, rate: f32) {
        self.advance(rate);
        self.tell();
        self.device.run(&self.update);
    }

    /// One more update, and what its rule makes of its number.
    fn advance(&mut self, rate: f32) {
        self.state[state::STEP] += 1;
        let rule = Adam { lr: f64::from(rate), ..self.rule.means };
        let [ahead, epsilon] = Factors::new(&rule, self.state[state::STEP] as i32).of_step();
        for (at, number) in [(state::RATE, rate), (state::AHEAD, ahead), (state::EPSILON, epsilon)]
        {
            self.state[at] = number.to_bits();
        }
    }

    /// The scores of the first `rows` images of the batch, which nobody learns from.
    pub fn predict(&mut self, rows: usize) -> Vec<f32> {
        let pass = Pass { rows, training: false, numbers: Numbers::F32, adds: false };
        self.start(pass);
        self.output(pass, 0)
    }

    /// Lets the next update shorten the gradient to this length, if it is longer; an infinite one lets it be. The factor stays for
    /// the updates behind that one, until this or [`Step::set_clip`] finds another. If the length is no number, nothing is updated
    /// from then on, until [`Step::set_clip`]. The length of the whole model's gradient, which comes later.
    pub fn clip(&mut self, limit: f32) -> B::Fetching {
        self.state[state::LIMIT] = limit.to_bits();
        self.tell();
        let made = self.clip.take();
        let clip = made.unwrap_or_else(|| self.device.load(self.clipped()));
        self.device.run(&clip);
        let norm = self.device.fetch(&clip, 0);
        self.clip = Some(clip);
        norm
    }

    fn clipped(&self) -> Program {
        let mut cx = Recorder::new(ALONE, self.device.form());
        let squares = self.split.squares(&self.model, &mut cx);
        let norm = clip(&mut cx, squares);
        cx.program.outputs.push(norm);
        cx.finish()
    }

    /// The sums over the last gradient's images, before it is clipped and before its update, which may take the same memory: of
    /// their losses, and of the right answers.
    ///
    /// # Panics
    /// If there was no such gradient.
    pub fn metrics(&mut self, rows: usize, numbers: Numbers) -> [f32; 2] {
        self.sums(Pass { rows, training: true, numbers, adds: false })
    }

    /// What [`Step::sums`] adds up, the losses' and the right answers' in turns, which comes later.
    pub fn fetch_sums(&mut self, pass: Pass) -> B::Fetching {
        self.device.fetch(&self.passes[&pass], 1)
    }

    /// [`Step::metrics`] of a pass.
    pub fn sums(&mut self, pass: Pass) -> [f32; 2] {
        let sums = self.output(pass, 1);
        sums.chunks_exact(2).fold([0.0; 2], |[loss, right], sum| [loss + sum[0], right + sum[1]])
    }

    /// Records a pass, if it never ran.
    pub fn ready(&mut self, pass: Pass) {
        let Self { model, split, device, passes, .. } = self;
        let load = || device.load(recorded(&**split, model, pass, device.form()));
        passes.entry(pass).or_insert_with(load);
    }

    /// Runs a pass, or starts it.
    fn start(&mut self, pass: Pass) {
        self.room(pass.rows);
        self.ready(pass);
        self.tell();
        self.device.run(&self.passes[&pass]);
    }

    /// What a step runs: one program with all of it, or its batch, its passes, the first of them first, and what follows them.
    pub fn programs(&self) -> impl Iterator<Item = &B::Loaded> {
        let mut passes: Vec<_> = self.passes.iter().collect();
        passes.sort_by_key(|(pass, _)| (pass.adds, pass.rows));
        let passes = passes.into_iter().map(|(_, loaded)| loaded);
        let parts = self.gathers.values().chain(passes).chain(&self.clip).chain([&self.update]);
        let parts = parts.filter(|_| self.entire.is_empty());
        self.entire.values().chain(parts)
    }

    fn output(&mut self, pass: Pass, number: usize) -> Vec<f32> {
        let fetching = self.device.fetch(&self.passes[&pass], number);
        self.device.fetched(fetching)
    }

    /// Keeps a data set on the device: a row for each image, and a label a word.
    pub fn keep(&mut self, images: &[f32], labels: &[u32]) {
        self.gather_from(Kept::Images(labels.len()));
        self.put(Place::Data, images);
        self.put(Place::Truth, words(labels));
    }

    /// Keeps a stream of tokens on the device, of which batches have windows of this length.
    pub fn keep_stream(&mut self, tokens: &[u32], length: usize) {
        self.gather_from(Kept::Stream(tokens.len(), length));
        self.put(Place::Data, words(tokens));
    }

    /// The order of an epoch: each image of the data set that the device [`keeps`](Step::keep), by its number; or where the
    /// windows of many batches begin, in the [`stream`](Step::keep_stream).
    ///
    /// # Panics
    /// If there is no such image, or window.
    pub fn arrange(&mut self, order: &[u32]) {
        let count = self.kept.beginnings();
        assert!(order.iter().all(|at| (*at as usize) < count), "a number beyond all {count}");
        if order.len() > self.order {
            self.gather_from(self.kept);
        }
        self.order = order.len();
        self.put(Place::Order, words(order));
    }

    /// Lets no program gather from what was there before.
    fn gather_from(&mut self, kept: Kept) {
        (self.kept, self.order) = (kept, 0);
        self.gathers.clear();
        self.entire.clear();
    }

    /// Fills a batch with so many images, or windows of so many tokens, from the `first` of the order on. Nothing is copied.
    ///
    /// # Panics
    /// If the order has no such batch.
    pub fn choose(&mut self, first: usize, rows: usize) {
        self.take(first, rows);
        self.tell();
        if !self.gathers.contains_key(&rows) {
            let loaded = self.device.load(self.gathered(rows));
            self.gathers.insert(rows, loaded);
        }
        self.device.run(&self.gathers[&rows]);
    }

    /// Makes room for a batch out of the order.
    fn take(&mut self, first: usize, rows: usize) {
        let (end, order) = (first + self.kept.taken(rows), self.order);
        assert!(end <= order, "a batch ends at {end} of an order of {order}");
        self.room(rows);
        self.state[state::START] = first as u32;
    }

    fn gathered(&self, rows: usize) -> Program {
        let mut cx = Recorder::new(Pass { rows, ..ALONE }, self.device.form());
        let order = Tensor::new(Place::Order, 0, self.order, 1);
        cx.of("batch", |cx| self.kept.record(cx, order, self.model.inputs));
        cx.finish()
    }

    /// Copies words to a buffer.
    fn put(&mut self, place: Place, words: &[f32]) {
        self.device.allocate(place, words.len());
        self.device.write(Tensor::new(place, 0, 1, words.len()), words);
    }

    /// Fills a batch with images that come from elsewhere; labels for a gradient alone.
    pub fn fill(&mut self, rows: usize, images: &[f32], labels: &[u32]) {
        self.room(rows);
        for (place, words) in [(Place::Input, images), (Place::Labels, words(labels))] {
            self.device.write(Tensor::new(place, 0, 1, words.len()), words);
        }
    }

    /// Makes room for a batch.
    fn room(&mut self, rows: usize) {
        self.device.allocate(Place::Input, rows * self.model.inputs);
        self.device.allocate(Place::Labels, rows);
    }

    /// Draws the masks of so many steps, and throws them away.
    pub fn skip(&mut self, draws: u32) {
        self.state[state::DRAW] += draws;
    }

    /// The factor before derivatives in f16.
    pub fn set_scale(&mut self, scale: f32) {
        self.state[state::SCALE] = scale.to_bits();
    }

    /// What the next updates multiply gradients with, unless [`Step::clip`] finds another factor.
    pub fn set_clip(&mut self, clip: f32) {
        self.device.write(Tensor::new(Place::State, state::CLIP, 1, 1), &[clip]);
    }

    /// Updates that were done.
    pub fn updates(&self) -> u32 {
        self.state[state::STEP]
    }

    /// Goes on behind so many updates.
    pub fn set_updates(&mut self, updates: u32) {
        self.state[state::STEP] = updates;
    }

    /// Lets the device know of it.
    fn tell(&mut self) {
        if self.told != Some(self.state) {
            let told = Tensor::new(Place::State, 0, 1, state::TOLD);
            self.device.write(told, &self.state.map(f32::from_bits));
            self.told = Some(self.state);
        }
    }

    /// A buffer as a file has it: the parameters with what is kept among them, or the gradient or a mean of what is learned.
    pub fn to_file(&self, place: Place) -> Vec<f32> {
        let all = |place| self.device.read(self.model.params.all(place));
        let (own, kept) = (all(place), all(Place::Kept));
        let mut file = Vec::with_capacity(own.len() + kept.len());
        for named in self.model.params.tensors.iter().filter(|named| holds(place, named)) {
            let from = if named.tensor.place == Place::Kept { &kept } else { &own };
            named.to_file(from, &mut file);
        }
        file
    }

    /// Puts back what [`Step::to_file`] gave.
    ///
    /// # Panics
    /// If there are fewer numbers.
    pub fn from_file(&mut self, place: Place, mut file: &[f32]) {
        let params = &self.model.params;
        let all = |place| self.device.read(params.all(place)).into_owned();
        let (mut own, mut kept) = (all(place), all(Place::Kept));
        for named in params.tensors.iter().filter(|named| holds(place, named)) {
            let to = if named.tensor.place == Place::Kept { &mut kept } else { &mut own };
            named.from_file(&mut file, to);
        }
        self.device.write(params.all(place), &own);
        self.device.write(params.all(Place::Kept), &kept);
    }
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
        Self::on(cpu, model, seed, Rule::new(rule, None))
    }

    /// Where images and labels of a pass go: a row each, and a word each.
    pub fn batch(&mut self, rows: usize) -> (&mut [f32], &mut [u32]) {
        self.room(rows);
        let both = [(Place::Input, self.model.inputs), (Place::Labels, 1)];
        let [images, labels] = both.map(|(place, cols)| Tensor::new(place, 0, rows, cols));
        let [images, labels] = self.device.slices_mut([images, labels]);
        (images, whole_mut(labels))
    }

    /// Fills a batch of so many rows with images and labels, which are copied by all threads if that pays.
    pub fn gather<'a>(
        &mut self,
        rows: usize,
        image: impl Fn(usize) -> &'a [f32] + Sync,
        label: impl Fn(usize) -> u8,
    ) {
        let inputs = self.model.inputs;
        let threads = self.device.threads_for(rows * inputs);
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

    /// All of a buffer with the parameters' layout, or of what is kept.
    pub fn all(&self, place: Place) -> &[f32] {
        self.device.slice(self.model.params.all(place))
    }
}

fn holds(place: Place, named: &Named) -> bool {
    place == Place::Params || named.tensor.place == Place::Params
}

/// A pass as a rank records it; predictions are a whole model's.
pub fn recorded(split: &dyn Split, model: &Model, pass: Pass, form: Form) -> Program {
    if pass.training { split.pass(model, pass, form) } else { program(model, pass, form) }
}

// ANCHOR: record
/// A pass of a model: forward and, in training, backward.
pub fn program(model: &Model, pass: Pass, form: Form) -> Program {
    let mut cx = Recorder::new(pass, form);
    let x = Tensor::new(Place::Input, 0, pass.rows, model.inputs);
    let x = Tensor { constant: form.unused, ..x };
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
