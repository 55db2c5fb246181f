//! The model as a list of the engine's operations (chapter 5): the layers of this chapter, the engine's linear layers and
//! residual paths. Its images are tokens, one to a row; attention alone knows which of them are a sequence.

use crate::{
    Config, Error, Layout, Model, Result,
    layers::{
        attention::{CausalAttention, Shape},
        embedding::Embedding,
        rms_norm::RmsNorm,
        swiglu::SwiGlu,
    },
    train::{Settings, adamw, batches},
};
use backprop::error::count;
use engine::{
    backend::{Backend, Form},
    cpu::{Cpu, Loaded},
    model::Model as Operations,
    needs::Needs,
    ops::{Op, chain, linear::Linear, loss, residual::Residual},
    params::Params,
    program::Numbers,
    record::{Pass, Recorder, pieces},
    step::Step,
    tensor::{Place, Tensor},
    words::{whole_mut, words},
};
use lab::{limits, random::key};
use matmul::parallel::available;
use multi_gpu::{
    Rank, part_of,
    split::{
        stage::Of,
        tensor::{Block, Cut},
    },
};
use std::{collections::HashMap, ops::Range};

/// Tokens of a piece: what a layer computes of them stays in a cache until the next one reads it.
const PIECE: usize = 512;

/// Windows whose places are copied to the device at a time: each copy waits for what was begun.
pub(crate) const WINDOWS: usize = 1 << 14;

/// Sequences of so many tokens that go through the model at once, at most.
pub(crate) fn sequences(tokens: usize) -> usize {
    (PIECE / tokens).max(1)
}

/// A transformer's operations on sequences of `tokens`, and what they learn.
pub fn operations(config: &Config, tokens: usize) -> Operations {
    part(config, tokens, 1, Of::new(0, 1))
}

/// Those of a run.
pub fn of_run(config: &Config, settings: &Settings) -> Operations {
    operations(config, settings.length).recomputed(settings.recompute.unwrap_or(0))
}

/// The passes of a run's step, of so many tokens at most: of neighbours that are alike, one.
pub(crate) fn passes(settings: &Settings, most: usize) -> Vec<Pass> {
    let Settings { batch, length, numbers, .. } = *settings;
    let pieces = pieces(batch * length, most);
    let mut passes: Vec<Pass> = pieces.map(|piece| Pass::piece(&piece, numbers)).collect();
    passes.dedup();
    passes
}

/// What a run's step takes of memory on so many threads (0 for all). Who has no room for four numbers of each parameter makes
/// no plan of the rest.
pub fn needs(config: &Config, settings: &Settings, threads: usize) -> Needs {
    let parameters = 16 * Layout::new(config).len as u64;
    if !limits::is_there(parameters) {
        return Needs { parameters, ..Needs::default() };
    }
    let Settings { batch, accumulate, length, .. } = *settings;
    let most = (batch / accumulate).min(sequences(length)) * length;
    let passes = passes(settings, most);
    Needs::of(&of_run(config, settings), &passes, Form::CPU, threads_of(threads))
}

/// A rank's part of them: of each layer's heads and hidden units. Of several stages the last one has a table of its own.
pub fn part(config: &Config, tokens: usize, stages: usize, of: Of) -> Operations {
    let Config { vocabulary, width, layers, .. } = *config;
    let [heads, hidden] =
        [config.heads, config.hidden].map(|all| part_of(all, Rank(of.at), of.count).len());
    let shape = Shape { tokens, heads, size: config.head() };
    let own = heads * config.head();
    let cut = |ops: Vec<Box<dyn Op>>| cut(ops, of.count);
    let embed = |p: &mut Params| Embedding::new(p, "embedding", [vocabulary, width]);
    Operations::new(0, 1, |p| {
        // ANCHOR: operations
        let embedding = embed(p);
        let table = embedding.table;
        let mut ops: Vec<Box<dyn Op>> = vec![Box::new(embedding)];
        for layer in 0..layers {
            let named = |part| format!("layers.{layer}.{part}");
            ops.push(Box::new(Residual(vec![
                Box::new(RmsNorm::new(p, &named("norm1"), width)),
                cut(vec![
                    Box::new(Linear::new(p, &named("qkv"), [width, 3 * own])),
                    Box::new(CausalAttention::new(&named("attention"), shape)),
                    Box::new(Linear::new(p, &named("out"), [own, width])),
                ]),
            ])));
            ops.push(Box::new(Residual(vec![
                Box::new(RmsNorm::new(p, &named("norm2"), width)),
                cut(vec![
                    Box::new(Linear::new(p, &named("gate_up"), [width, 2 * hidden])),
                    Box::new(SwiGlu::new(p, &named("down"), [hidden, width])),
                ]),
            ])));
        }
        ops.push(Box::new(RmsNorm::new(p, "norm", width)));
        let table = if stages > 1 { embed(p).table } else { table };
        ops.push(Box::new(Linear::tied("scores", table)));
        // ANCHOR_END: operations
        ops
    })
}

/// Two products and what lies between them, cut over so many ranks: the first by columns, the second by rows.
// ANCHOR: cut
fn cut(mut ops: Vec<Box<dyn Op>>, ranks: usize) -> Box<dyn Op> {
    if ranks > 1 {
        ops.insert(0, Box::new(Cut::Enter));
        ops.push(Box::new(Cut::Leave));
    }
    Box::new(Block(ops))
}
// ANCHOR_END: cut

/// Threads, 0 for all.
fn threads_of(threads: usize) -> usize {
    if threads == 0 { available() } else { threads }
}

/// Refuses so many sequences of so many tokens if the model can't take them.
pub(crate) fn check(config: &Config, (most, tokens): (usize, usize)) -> Result<()> {
    config.check()?;
    if most == 0 {
        return Err(Error::Config("a batch needs at least one sequence".to_owned()));
    }
    if tokens == 0 || tokens > config.context {
        return Err(Error::Length { found: tokens, context: config.context });
    }
    Ok(())
}

/// A model in training, on a device of the engine.
pub struct Transformer<B: Backend = Cpu> {
    /// The engine's step: the parameters lie in it.
    pub step: Step<B>,
    config: Config,
    numbers: Numbers,
    /// Tokens of a piece.
    piece: usize,
    /// The [`mark`] of the stream that the device has, and the steps whose windows it knows.
    kept: [usize; 3],
    drawn: Range<u64>,
}

impl Transformer {
    /// A model that learns as a run is told, on so many threads (0 for all). Of the settings' numbers is what is multiplied with
    /// weights and with derivatives; attention's own products are of f32.
    ///
    /// # Errors
    /// As [`Config::check`]; [`Error::Length`] if the sequences are longer than the model's context.
    pub fn new(model: &Model, settings: &Settings, threads: usize) -> Result<Self> {
        let mut own = Self::on(Cpu::new(threads_of(threads)), model, settings)?;
        own.piece = own.piece.min(sequences(settings.length) * settings.length);
        Ok(own)
    }
}

/// What a stream is known by: where it lies, its length, and a digest of a thousand of its tokens, for another one may come to
/// lie there.
fn mark(stream: &[u32]) -> [usize; 3] {
    let some = stream.iter().step_by(stream.len().div_ceil(1000).max(1));
    let digest = some.fold(0, |digest, token| key(&[digest, u64::from(*token)]));
    [stream.as_ptr() as usize, stream.len(), digest as usize]
}

/// Bytes of what lies between parameters and gradient, as far as there were steps.
pub fn bytes(step: &Step) -> usize {
    let plans = step.passes.values().map(|pass| &pass.plan);
    4 * plans.map(|plan| plan.arena + plan.scratch).max().unwrap_or(0)
}

impl<B: Backend> Transformer<B> {
    /// [`Transformer::new`] on a device, which takes all sequences of a piece at once.
    ///
    /// # Errors
    /// As [`Transformer::new`]; the device tells its own.
    pub fn on(device: B, model: &Model, settings: &Settings) -> Result<Self> {
        settings.check()?;
        let Settings { batch, accumulate, length, rule, numbers, .. } = *settings;
        let most = batch / accumulate;
        check(&model.config, (most, length))?;
        let operations = of_run(&model.config, settings);
        let rule = rule.rule(adamw::tensors(&operations.params, &model.config));
        let mut step = Step::on(device, operations, 0, rule);
        step.from_file(Place::Params, &model.parameters);
        let config = model.config;
        Ok(Self { step, config, numbers, piece: most * length, kept: [0; 3], drawn: 0..0 })
    }

    /// Forward and backward on a batch of `tokens`, piece by piece; `fill` puts a piece where the step finds it. The pieces'
    /// losses, for [`Transformer::loss`], which come later.
    // ANCHOR: gradient
    fn passes<F>(&mut self, tokens: usize, fill: F) -> Vec<B::Fetching>
    where
        F: Fn(&mut Step<B>, Range<usize>),
    {
        let Self { step, numbers, .. } = self;
        let piece = |piece: Range<usize>| {
            fill(step, piece.clone());
            let pass = step.piece(piece, tokens, *numbers);
            step.fetch_sums(pass)
        };
        pieces(tokens, self.piece).map(piece).collect()
    }
    // ANCHOR_END: gradient

    /// The mean loss of a batch of `tokens`, in nats a token, when its pieces' losses are there.
    pub fn loss(&mut self, pieces: Vec<B::Fetching>, tokens: usize) -> f64 {
        let device = &mut self.step.device;
        let sums = pieces.into_iter().flat_map(|piece| device.fetched(piece)).step_by(2);
        sums.map(f64::from).sum::<f64>() / tokens as f64
    }

    /// The gradient of a batch's mean loss, and the loss, in nats a token. `tokens` and `targets` are whole sequences.
    ///
    /// # Errors
    /// [`backprop::Error::Count`] or [`Error::Token`] if they do not fit each other or the model.
    pub fn gradient(&mut self, tokens: &[u32], targets: &[u32]) -> Result<f64> {
        count("targets", targets.len(), tokens.len())?;
        self.config.check_tokens(tokens)?;
        self.config.check_tokens(targets)?;
        let losses = self.passes(tokens.len(), |step, piece| {
            step.fill(piece.len(), words(&tokens[piece.clone()]), &targets[piece]);
        });
        Ok(self.loss(losses, tokens.len()))
    }

    /// Step number `at`, at its rate, on a stream: the batch's gradient, which is no longer than the settings say, and the update.
    /// What [`Transformer::loss`] makes the batch's loss of, and the gradient's norm, which come later.
    ///
    /// # Errors
    /// [`Error::TooShort`], [`Error::Token`].
    // ANCHOR: begin
    pub fn begin(
        &mut self,
        settings: &Settings,
        (at, lr): (u64, f64),
        stream: &[u32],
    ) -> Result<(Vec<B::Fetching>, B::Fetching)> {
        let Settings { batch, length, clip, .. } = *settings;
        let first = self.draw(settings, at, stream)?;
        let (tokens, rate, limit) = (batch * length, lr as f32, clip as f32);
        if tokens <= self.piece && !self.step.device.form().cached {
            let (step, rates) = (&mut self.step, (rate, Some(limit)));
            // On a GPU all of it is one program.
            let entire = step.entire((first, tokens), self.numbers, rates);
            let [losses, norm] = [1, 2].map(|at| step.fetch_of(entire, at));
            return Ok((vec![losses], norm));
        }
        let fill = |step: &mut Step<B>, piece: Range<usize>| {
            step.choose(first + piece.start / length, piece.len());
        };
        let losses = self.passes(tokens, fill);
        let norm = self.step.clip(limit);
        self.step.update(rate);
        Ok((losses, norm))
    }
    // ANCHOR_END: begin

    /// Where a step's windows begin among those that the device knows. The stream is copied there once, as long as its [`mark`]
    /// stays.
    fn draw(&mut self, settings: &Settings, at: u64, stream: &[u32]) -> Result<usize> {
        let Settings { batch, length, seed, .. } = *settings;
        let places = batches::places(stream, length)?;
        let mark = mark(stream);
        if self.kept != mark {
            self.config.check_tokens(stream)?;
            self.step.keep_stream(stream, length);
            (self.kept, self.drawn) = (mark, 0..0);
        }
        if !self.drawn.contains(&at) {
            self.drawn = at..at + (WINDOWS / batch).max(1) as u64;
            let of = |at| batches::windows((seed, at), places).take(batch);
            let all = self.drawn.clone().flat_map(of).map(|first| first as u32);
            self.step.arrange(&all.collect::<Vec<_>>());
        }
        Ok((at - self.drawn.start) as usize * batch)
    }
}

/// A model that reads and does not learn: memory for its parameters alone.
pub struct Reader {
    operations: Operations,
    config: Config,
    cpu: Cpu,
    programs: HashMap<usize, Loaded>,
    piece: usize,
}

impl Reader {
    /// A model that reads sequences of `tokens`, on so many threads (0 for all).
    ///
    /// # Errors
    /// As [`Transformer::new`].
    pub fn new(model: &Model, tokens: usize, threads: usize) -> Result<Self> {
        check(&model.config, (1, tokens))?;
        let operations = operations(&model.config, tokens);
        let Params { tensors, .. } = &operations.params;
        let (mut cpu, mut file) = (Cpu::new(threads_of(threads)), &model.parameters[..]);
        cpu.allocate(Place::Params, operations.params.words());
        let all = operations.params.all(Place::Params);
        for named in tensors {
            named.from_file(&mut file, cpu.slice_mut(all));
        }
        cpu.allocate(Place::State, engine::state::tensor().words());
        let (config, piece) = (model.config, sequences(tokens) * tokens);
        Ok(Self { operations, config, cpu, programs: HashMap::new(), piece })
    }

    /// Reads tokens with their targets. Hands on the scores of each piece of them; returns the sum of the losses.
    fn read(
        &mut self,
        tokens: &[u32],
        targets: &[u32],
        mut each: impl FnMut(&[f32]),
    ) -> Result<f64> {
        count("targets", targets.len(), tokens.len())?;
        self.config.check_tokens(tokens)?;
        self.config.check_tokens(targets)?;
        let Self { operations, cpu, programs, piece, .. } = self;
        let mut loss = 0.0;
        for (tokens, targets) in tokens.chunks(*piece).zip(targets.chunks(*piece)) {
            let rows = tokens.len();
            let both = [Place::Input, Place::Labels];
            for place in both {
                cpu.allocate(place, rows);
            }
            let of = both.map(|place| Tensor::new(place, 0, rows, 1));
            let [images, labels] = cpu.slices_mut(of).map(whole_mut);
            images.copy_from_slice(tokens);
            labels.copy_from_slice(targets);
            let loaded = programs.entry(rows).or_insert_with(|| {
                let numbers = Numbers::F32;
                let mut cx =
                    Recorder::new(Pass { rows, training: false, numbers, adds: false }, Form::CPU);
                let (scores, _) =
                    chain(&operations.ops, &mut cx, Tensor { constant: true, ..of[0] });
                let [_, sums] = cx.of("loss", |cx| loss::record(cx, scores, of[1]));
                cx.program.outputs.extend([scores, sums]);
                cpu.load(cx.finish())
            });
            cpu.run(loaded);
            each(&cpu.fetch(loaded, 0));
            let losses = cpu.fetch(loaded, 1).into_iter().step_by(2);
            loss += losses.map(f64::from).sum::<f64>();
        }
        Ok(loss)
    }

    /// The mean loss of sequences, in nats a token; `targets` has each token's successor.
    ///
    /// # Errors
    /// As [`Transformer::gradient`].
    pub fn loss(&mut self, tokens: &[u32], targets: &[u32]) -> Result<f64> {
        Ok(self.read(tokens, targets, |_| {})? / tokens.len() as f64)
    }

    /// The scores of each token's successor: [tokens, vocabulary].
    ///
    /// # Errors
    /// As [`Transformer::gradient`].
    pub fn scores(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        let mut all = Vec::with_capacity(tokens.len() * self.config.vocabulary);
        self.read(tokens, tokens, |scores| all.extend_from_slice(scores))?;
        Ok(all)
    }
}

/// What a model says of tokens, with memory that is made for it and dropped.
impl Model {
    /// The scores of each token's successor: [tokens, vocabulary]. Softmax makes probabilities of a row.
    ///
    /// # Errors
    /// [`Error::Length`] if there are no tokens or more than the context, [`Error::Token`].
    pub fn logits(&self, tokens: &[u32]) -> Result<Vec<f32>> {
        Reader::new(self, tokens.len(), 0)?.scores(tokens)
    }

    /// The mean loss, in nats a token, of `batch` sequences, one after the other in `tokens`; `targets` has each token's
    /// successor.
    ///
    /// # Errors
    /// [`backprop::Error::Count`] if the tokens are not `batch` sequences, [`Error::Length`], [`Error::Token`].
    pub fn loss(&self, tokens: &[u32], targets: &[u32], batch: usize) -> Result<f64> {
        let length = tokens.len() / batch.max(1);
        count("tokens", tokens.len(), length * batch)?;
        Reader::new(self, length, 0)?.loss(tokens, targets)
    }
}
