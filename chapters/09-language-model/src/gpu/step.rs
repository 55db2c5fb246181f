//! A training step that never leaves the device: the CPU draws the batch, launches 34 kernels a layer and 13 more, and reads the
//! losses and the sums for the gradient's norm.
//!
//! The passes are those of [`crate::transformer`], for the whole batch at once: a group of rows would leave most of a GPU's threads
//! idle, and each group would pay for its launches.

use super::{
    kernels::{Kernels, length},
    product::Layout as Order,
    tensors::Tensors,
};
use crate::{
    Config, Layout, Result,
    attention::causal::scale,
    devices::course::Course,
    layers::rotary::Rotary,
    layout::Block,
    train::{
        self, Backend, Trainer,
        adamw::{Factors, Moments},
    },
};
use cpu_gpu::gpu::{Arg, Buffer, Gpu, read_all, write_all};
use matmul::Shape;
use std::ops::Range;

/// Queries, or keys, of a block of attention.
pub const OWNED: usize = 64;
/// Rows of a part of the sums of `rms_norm.cl`.
const PIECE: usize = 64;
/// Numbers of a block of `squares`.
const SQUARES: usize = 8192;

/// A trainer's step with its operands on a device.
pub struct Step<'g> {
    gpu: &'g dyn Gpu,
    kernels: Kernels<'g>,
    config: Config,
    layout: Layout,
    tensors: Tensors,
    course: Course,
    /// Parameters, the two means, the gradient: four buffers of one form.
    learned: [Buffer; 4],
    kept: Vec<Kept>,
    last: Buffer,
    work: Work,
}

/// What a layer keeps for its backward pass.
struct Kept {
    /// [rows, width]: what came in, and the sum after attention.
    x: Buffer,
    middle: Buffer,
    /// [heads, tokens, size]: queries and keys at their positions, values, results.
    q: Buffer,
    k: Buffer,
    v: Buffer,
    out: Buffer,
    /// [heads, tokens]: the logarithms of attention's sums.
    logs: Buffer,
    /// [rows, 2·hidden].
    gate_up: Buffer,
}

/// What all layers share.
struct Work {
    tokens: Buffer,
    targets: Buffer,
    cosines: Buffer,
    sines: Buffer,
    /// [rows, 3·width]: queries, keys and values, or their derivatives.
    qkv: Buffer,
    /// [rows, width].
    normed: Buffer,
    dnormed: Buffer,
    attended: Buffer,
    d: Buffer,
    /// `[rows]`: 1 over the root mean squares.
    inverse: Buffer,
    /// [rows, hidden].
    h: Buffer,
    dh: Buffer,
    /// [heads, tokens, size]: derivatives.
    dq: Buffer,
    dk: Buffer,
    dv: Buffer,
    dout: Buffer,
    along: Buffer,
    /// [rows, vocabulary], and a loss for each row.
    scores: Buffer,
    losses: Buffer,
    /// Sums of pieces.
    parts: Buffer,
    squares: Buffer,
}

impl<'g> Step<'g> {
    /// Puts a trainer's model and its optimizer's memory on a device, at its step.
    ///
    /// # Errors
    /// As [`Course::new`]; what the device or its compiler says.
    pub fn new(gpu: &'g dyn Gpu, trainer: &Trainer, stream: &[u32]) -> Result<Self> {
        let (config, settings) = (trainer.config, trainer.settings);
        let Config { vocabulary, width, hidden, heads, layers, .. } = config;
        let course = Course::new(&config, settings, stream, trainer.step)?;
        let rows = course.rows();
        // The widest rows that a kernel counts in 32 bits.
        length(rows.saturating_mul(vocabulary.max(3 * width).max(2 * hidden)))?;
        let layout = Layout::new(&config);
        let tensors = Tensors::new(&layout, &config);
        let of = |count: usize| gpu.alloc(4 * count);
        let kept = || {
            let wide = || of(rows * width);
            Ok::<_, cpu_gpu::Error>(Kept {
                x: wide()?,
                middle: wide()?,
                q: wide()?,
                k: wide()?,
                v: wide()?,
                out: wide()?,
                logs: of(rows * heads)?,
                gate_up: of(rows * 2 * hidden)?,
            })
        };
        let rotary = Rotary::new(settings.length, config.head());
        let angles = settings.length * config.head() / 2;
        let work = Work {
            tokens: of(rows)?,
            targets: of(rows)?,
            cosines: of(angles)?,
            sines: of(angles)?,
            qkv: of(rows * 3 * width)?,
            normed: of(rows * width)?,
            dnormed: of(rows * width)?,
            attended: of(rows * width)?,
            d: of(rows * width)?,
            inverse: of(rows)?,
            h: of(rows * hidden)?,
            dh: of(rows * hidden)?,
            dq: of(rows * width)?,
            dk: of(rows * width)?,
            dv: of(rows * width)?,
            dout: of(rows * width)?,
            along: of(rows * heads)?,
            scores: of(rows * vocabulary)?,
            losses: of(rows)?,
            parts: of(rows.div_ceil(PIECE) * width)?,
            squares: of(tensors.len.div_ceil(SQUARES))?,
        };
        let [cosines, sines] = rotary.tables();
        write_all(gpu, &work.cosines, cosines)?;
        write_all(gpu, &work.sines, sines)?;
        let learned = [of(tensors.len)?, of(tensors.len)?, of(tensors.len)?, of(tensors.len)?];
        let step = Self {
            gpu,
            kernels: Kernels::new(gpu, config.head())?,
            config,
            layout,
            tensors,
            course,
            learned,
            kept: (0..layers).map(|_| kept()).collect::<Result<_, _>>()?,
            last: of(rows * width)?,
            work,
        };
        let (model, moments) = (trainer.model(), trainer.moments());
        let values = [&model.parameters, &moments.m, &moments.v];
        for (buffer, values) in step.learned.iter().zip(values) {
            write_all(gpu, buffer, &step.tensors.spread(values))?;
        }
        write_all(gpu, &step.learned[3], &vec![0.0_f32; step.tensors.len])?;
        Ok(step)
    }

    /// The next step on the stream. Nothing changes if it fails.
    ///
    /// # Errors
    /// [`crate::Error::Diverged`] as [`Trainer::step`]; the device's.
    pub fn step(&mut self, stream: &[u32]) -> Result<train::Step> {
        self.course.draw(stream)?;
        let (tokens, targets) = self.course.sequences(&(0..self.course.settings.batch));
        self.config.check_tokens(tokens)?;
        self.config.check_tokens(targets)?;
        write_all(self.gpu, &self.work.tokens, tokens)?;
        write_all(self.gpu, &self.work.targets, targets)?;
        self.forward()?;
        self.backward()?;
        let (loss, norm) = (self.loss()?, self.norm()?);
        let (step, clip) = self.course.close(loss, norm)?;
        self.update(&step, clip)?;
        Ok(step)
    }

    /// The last step's gradient in the layout of the parameters, before it was clipped.
    ///
    /// # Errors
    /// The device's.
    pub fn gradient(&self) -> Result<Vec<f32>> {
        let mut values = vec![0.0; self.layout.len];
        let all = read_all(self.gpu, &self.learned[3], self.tensors.len)?;
        self.tensors.gather(&all, &mut values);
        Ok(values)
    }

    fn rows(&self) -> usize {
        self.course.rows()
    }

    fn parameter(&self, range: &Range<usize>) -> Arg<'_> {
        self.tensors.part(&self.learned[0], range)
    }

    fn gradient_of(&self, range: &Range<usize>) -> Arg<'_> {
        self.tensors.part(&self.learned[3], range)
    }

    /// C of m×n, sums of k terms.
    fn product(&self, order: Order, abc: [Arg; 3], [m, k, n]: [usize; 3]) -> Result<()> {
        Ok(self.kernels.products.launch(self.gpu, order, abc, Shape::new(m, k, n))?)
    }

    /// Rows times a matrix of the parameters.
    fn times(
        &self,
        a: &Buffer,
        weights: &Range<usize>,
        c: &Buffer,
        sizes: [usize; 3],
    ) -> Result<()> {
        let abc = [Arg::Buffer(a), self.parameter(weights), Arg::Buffer(c)];
        self.product(Order::Plain, abc, sizes)
    }

    fn rms_norm(&self, x: &Buffer, scales: &Range<usize>) -> Result<()> {
        let (x, y, inverse) = (Arg::Buffer(x), &self.work.normed, &self.work.inverse);
        let (rows, width) = (length(self.rows())?, length(self.config.width)?);
        let args = [x, self.parameter(scales), Arg::Buffer(y), Arg::Buffer(inverse), rows, width];
        let grid = [self.rows().div_ceil(8), 1];
        Ok(self.kernels.launch("rms_norm", grid, [32, 8], &args)?)
    }

    /// The derivatives of a normalisation's input, from `dnormed` to `d`, and those of its scales. [`Step::rms_norm`] of the
    /// same rows came before.
    fn rms_norm_backward(&self, x: &Buffer, scales: &Range<usize>, add: bool) -> Result<()> {
        let (rows, width) = (self.rows(), self.config.width);
        let Work { inverse, dnormed, d, parts, .. } = &self.work;
        let [x, inverse, dy, dx, parts] = [x, inverse, dnormed, d, parts].map(Arg::Buffer);
        let sizes = [length(rows)?, length(width)?];
        let pieces = rows.div_ceil(PIECE);
        let args = [x, inverse, dy, parts, sizes[0], sizes[1]];
        let grid = [width.div_ceil(32), pieces];
        self.kernels.launch("rms_norm_parts", grid, [32, 8], &args)?;
        let args = [parts, self.gradient_of(scales), length(pieces)?, sizes[1]];
        self.kernels.each("sum_parts", width, &args)?;
        let add = Arg::U32(u32::from(add));
        let args = [x, self.parameter(scales), inverse, dy, dx, sizes[0], sizes[1], add];
        let grid = [rows.div_ceil(8), 1];
        Ok(self.kernels.launch("rms_norm_backward", grid, [32, 8], &args)?)
    }

    fn add(&self, [a, b, to]: [&Buffer; 3]) -> Result<()> {
        let count = self.rows() * self.config.width;
        let args = [Arg::Buffer(a), Arg::Buffer(b), Arg::Buffer(to), length(count)?];
        Ok(self.kernels.each("add", count, &args)?)
    }

    fn forward(&self) -> Result<()> {
        let (rows, Config { vocabulary, width, .. }) = (self.rows(), self.config);
        let Work { tokens, normed, scores, .. } = &self.work;
        let (table, count) = (self.parameter(&self.layout.embedding), rows * width);
        let first = self.kept.first().map_or(&self.last, |kept| &kept.x);
        let args = [Arg::Buffer(tokens), table, Arg::Buffer(first), length(count)?, length(width)?];
        self.kernels.each("embed", count, &args)?;
        for (at, block) in self.layout.blocks.iter().enumerate() {
            let next = self.kept.get(at + 1).map_or(&self.last, |kept| &kept.x);
            self.layer(&self.kept[at], block, next)?;
        }
        self.rms_norm(&self.last, &self.layout.norm)?;
        let abc = [Arg::Buffer(normed), table, Arg::Buffer(scores)];
        self.product(Order::TransposedB, abc, [rows, width, vocabulary])
    }

    // ANCHOR: layer
    fn layer(&self, kept: &Kept, block: &Block, next: &Buffer) -> Result<()> {
        let (rows, Config { width, hidden, .. }) = (self.rows(), self.config);
        let Kept { x, middle, gate_up, .. } = kept;
        // The backward pass's buffer is free as long as there are no derivatives.
        let Work { qkv, normed, attended, dnormed: temporary, h, .. } = &self.work;

        // Attention: tokens look at each other.
        self.rms_norm(x, &block.norm1)?;
        self.times(normed, &block.qkv, qkv, [rows, width, 3 * width])?;
        self.attention(kept)?;
        self.times(attended, &block.out, temporary, [rows, width, width])?;
        self.add([x, temporary, middle])?;

        // The feed-forward part: each token for itself.
        self.rms_norm(middle, &block.norm2)?;
        self.times(normed, &block.gate_up, gate_up, [rows, width, 2 * hidden])?;
        self.swiglu("swiglu", &[gate_up, h])?;
        self.times(h, &block.down, temporary, [rows, hidden, width])?;
        self.add([middle, temporary, next])
    }
    // ANCHOR_END: layer

    /// From the rows of queries, keys and values to the rows of results.
    fn attention(&self, kept: &Kept) -> Result<()> {
        let Kept { q, k, v, out, logs, .. } = kept;
        let Work { qkv, cosines, sines, .. } = &self.work;
        let turned = [qkv, cosines, sines, q, k, v].map(Arg::Buffer);
        self.heads("to_heads", self.rows() * self.config.width / 2, &turned)?;
        self.of_heads("attention", &[q, k, v, out, logs])?;
        self.merge(out)
    }

    /// A pass between rows and heads, with a thread for each of `count` places.
    fn heads(&self, entry: &str, count: usize, args: &[Arg]) -> Result<()> {
        let Config { heads, .. } = self.config;
        let sizes = [length(count)?, length(heads)?, length(self.course.settings.length)?];
        Ok(self.kernels.each(entry, count, &[args, &sizes].concat())?)
    }

    /// The results of all heads as rows.
    fn merge(&self, out: &Buffer) -> Result<()> {
        let args = [out, &self.work.attended].map(Arg::Buffer);
        self.heads("merge", self.rows() * self.config.width, &args)
    }

    /// One of the kernels of attention, on all heads of all sequences.
    fn of_heads(&self, entry: &str, buffers: &[&Buffer]) -> Result<()> {
        let tokens = self.course.settings.length;
        let args: Vec<Arg> = buffers.iter().map(|buffer| Arg::Buffer(buffer)).collect();
        let rest = [length(tokens)?, Arg::F32(scale(self.config.head()))];
        let grid = [tokens.div_ceil(OWNED), self.course.settings.batch * self.config.heads];
        Ok(self.kernels.launch(entry, grid, [OWNED, 1], &[&args[..], &rest].concat())?)
    }

    fn swiglu(&self, entry: &str, buffers: &[&Buffer]) -> Result<()> {
        let (count, hidden) = (self.rows() * self.config.hidden, self.config.hidden);
        let args: Vec<Arg> = buffers.iter().map(|buffer| Arg::Buffer(buffer)).collect();
        let sizes = [length(count)?, length(hidden)?];
        Ok(self.kernels.each(entry, count, &[&args[..], &sizes].concat())?)
    }

    fn backward(&self) -> Result<()> {
        let (rows, Config { vocabulary, width, .. }) = (self.rows(), self.config);
        let Work { tokens, targets, normed, dnormed, d, scores, losses, .. } = &self.work;
        let [scores, normed, dnormed] = [scores, normed, dnormed].map(Arg::Buffer);
        let (sizes, share) = ([length(rows)?, length(vocabulary)?], 1.0 / rows as f32);
        let [targets, losses] = [targets, losses].map(Arg::Buffer);
        let args = [scores, targets, losses, sizes[0], sizes[1], Arg::F32(share)];
        let grid = [rows.div_ceil(8), 1];
        self.kernels.launch("softmax_cross_entropy", grid, [32, 8], &args)?;
        // The scores have become their own derivatives.
        let table = &self.layout.embedding;
        let abc = [scores, normed, self.gradient_of(table)];
        self.product(Order::TransposedA, abc, [vocabulary, rows, width])?;
        let abc = [scores, self.parameter(table), dnormed];
        self.product(Order::Plain, abc, [rows, vocabulary, width])?;
        self.rms_norm_backward(&self.last, &self.layout.norm, false)?;
        for (kept, block) in self.kept.iter().zip(&self.layout.blocks).rev() {
            self.layer_backward(kept, block)?;
        }
        let [tokens, d] = [tokens, d].map(Arg::Buffer);
        let args = [tokens, d, self.gradient_of(table), sizes[0], length(width)?];
        let grid = [vocabulary, width.div_ceil(64)];
        Ok(self.kernels.launch("embed_backward", grid, [64, 1], &args)?)
    }

    /// The lines of [`Step::layer`] from the last to the first. `d` holds the derivatives of what the layer returned,
    /// then of what came in.
    fn layer_backward(&self, kept: &Kept, block: &Block) -> Result<()> {
        let (rows, Config { width, hidden, .. }) = (self.rows(), self.config);
        let Kept { x, middle, q, k, v, out, logs, gate_up } = kept;
        let Work { cosines, sines, qkv, normed, dnormed, attended, d, h, dh, .. } = &self.work;
        let Work { dq, dk, dv, dout, along, .. } = &self.work;
        // The derivatives of a product's left operand, and of its weights.
        let left = |dc, range, da| [Arg::Buffer(dc), self.parameter(range), Arg::Buffer(da)];
        let right = |a, dc, range| [Arg::Buffer(a), Arg::Buffer(dc), self.gradient_of(range)];

        // The feed-forward part.
        let abc = left(d, &block.down, dh);
        self.product(Order::TransposedB, abc, [rows, width, hidden])?;
        self.swiglu("swiglu_backward", &[gate_up, h, dh])?;
        self.product(Order::TransposedA, right(h, d, &block.down), [hidden, rows, width])?;
        self.rms_norm(middle, &block.norm2)?;
        let abc = right(normed, gate_up, &block.gate_up);
        self.product(Order::TransposedA, abc, [width, rows, 2 * hidden])?;
        let abc = left(gate_up, &block.gate_up, dnormed);
        self.product(Order::TransposedB, abc, [rows, 2 * hidden, width])?;
        self.rms_norm_backward(middle, &block.norm2, true)?;

        // Attention.
        let abc = left(d, &block.out, dnormed);
        self.product(Order::TransposedB, abc, [rows, width, width])?;
        self.merge(out)?;
        let abc = right(attended, d, &block.out);
        self.product(Order::TransposedA, abc, [width, rows, width])?;
        let args = [dnormed, dout].map(Arg::Buffer);
        self.heads("split", rows * width, &args)?;
        self.of_heads("attention_dq", &[q, k, v, out, dout, logs, dq, along])?;
        self.of_heads("attention_dkv", &[q, k, v, dout, logs, along, dk, dv])?;
        let args = [dq, dk, dv, cosines, sines, qkv].map(Arg::Buffer);
        self.heads("from_heads", rows * width / 2, &args)?;
        self.rms_norm(x, &block.norm1)?;
        let abc = right(normed, qkv, &block.qkv);
        self.product(Order::TransposedA, abc, [width, rows, 3 * width])?;
        let abc = left(qkv, &block.qkv, dnormed);
        self.product(Order::TransposedB, abc, [rows, 3 * width, width])?;
        self.rms_norm_backward(x, &block.norm1, true)
    }

    /// The batch's mean loss. Waits for the passes.
    fn loss(&self) -> Result<f64> {
        let losses: Vec<f32> = read_all(self.gpu, &self.work.losses, self.rows())?;
        Ok(losses.iter().map(|loss| f64::from(*loss)).sum::<f64>() / losses.len() as f64)
    }

    /// The gradient's norm: a sum for each piece on the device, the sum of all in f64 here.
    fn norm(&self) -> Result<f64> {
        let pieces = self.tensors.len.div_ceil(SQUARES);
        let [g, parts] = [&self.learned[3], &self.work.squares].map(Arg::Buffer);
        let args = [g, parts, length(self.tensors.len)?];
        self.kernels.launch("squares", [pieces, 1], [256, 1], &args)?;
        let sums: Vec<f32> = read_all(self.gpu, &self.work.squares, pieces)?;
        Ok(sums.iter().map(|sum| f64::from(*sum)).sum::<f64>().sqrt())
    }

    fn update(&self, step: &train::Step, clip: f32) -> Result<()> {
        let rule = &self.course.settings.rule;
        for matrices in [true, false] {
            let f = Factors::new(rule, (step.step, step.lr, clip), matrices);
            let [p, m, v, g] = &self.learned;
            let [p, m, v, g] = [p, m, v, g].map(|buffer| self.tensors.half(buffer, matrices));
            let all = [p.0, m.0, v.0, g.0];
            let [f1, f2, f3, f4] = [f.beta1[0], f.beta1[1], f.beta2[0], f.beta2[1]].map(Arg::F32);
            let rest = [Arg::F32(f.kept), Arg::F32(f.clip), f1, f2, f3, f4];
            let last = [Arg::F32(f.lr), Arg::F32(f.eps)];
            let args = [&all[..], &[length(p.1)?], &rest, &last].concat();
            self.kernels.each("adamw", p.1, &args)?;
        }
        Ok(())
    }
}

impl Backend for Step<'_> {
    fn plan(&mut self, steps: u64) {
        self.course.settings.steps = steps;
    }

    fn step(&mut self, stream: &[u32]) -> Result<train::Step> {
        Step::step(self, stream)
    }

    fn hand_back(&mut self, trainer: &mut Trainer) -> Result<()> {
        let (mut parameters, mut moments) =
            (vec![0.0; self.layout.len], Moments::zeros(self.layout.len));
        let [m, v] = moments.slices();
        for (buffer, values) in self.learned.iter().zip([&mut parameters[..], m, v]) {
            self.tensors.gather(&read_all(self.gpu, buffer, self.tensors.len)?, values);
        }
        trainer.restore(self.course.step, &parameters, &moments);
        Ok(())
    }
}
