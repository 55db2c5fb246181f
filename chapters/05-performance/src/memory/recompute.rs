//! Activation recomputing: forget in the forward pass, compute again in the backward pass.
//!
//! Chen, Xu, Zhang and Guestrin 2016, "Training deep nets with sublinear memory cost". The model is cut into segments.
//! Forward, a segment runs without a tape, and only its input is kept. When the backward pass reaches it, it runs again
//! with a tape of its own, which is then run backward and forgotten.

use super::predict::{Operation, Timeline};
use crate::{Error, Result};
use backprop::random::{SplitMix64, key};
use dfdx::{losses::cross_entropy_with_logits_loss, nn::modules::Linear, prelude::*};
use training::model::{CLASSES, Images, Logits, PIXELS, Targets};

/// Rows of `W` numbers: (batch, W).
pub type Rows<const W: usize, T = NoneTape> = Tensor<(usize, Const<W>), f32, Cpu, T>;

/// Moves gradients from the tape of a segment into those of the whole step.
pub struct Collect<'g> {
    from: Gradients<f32, Cpu>,
    to: &'g mut Gradients<f32, Cpu>,
}

impl Collect<'_> {
    /// Adds the gradient of one tensor.
    ///
    /// # Errors
    /// The device's own.
    pub fn tensor<S: Shape>(&mut self, t: &Tensor<S, f32, Cpu>) -> Result<(), CpuError> {
        let from = self.from.get_or_alloc_mut(t)?;
        let to = self.to.get_or_alloc_mut(t)?;
        to.iter_mut().zip(from.iter()).for_each(|(sum, g)| *sum += g);
        Ok(())
    }
}

/// A part of a model that can run twice and give the same both times.
pub trait Segment<const I: usize, const O: usize>: Clone + 'static {
    /// The rows that it makes of `x`, noted on the tape if there is one.
    ///
    /// # Errors
    /// The device's own.
    fn run<T: Tape<f32, Cpu> + Merge<T>>(&self, x: Rows<I, T>) -> Result<Rows<O, T>, CpuError>;

    /// Hands each of its parameters to `collect`.
    ///
    /// # Errors
    /// The device's own.
    fn collect(&self, collect: &mut Collect) -> Result<(), CpuError>;
}

/// Runs a segment and keeps nothing of it but its input; the gradients are those of [`Segment::run`], bit for bit.
///
/// # Errors
/// The device's own.
// ANCHOR: recompute
pub fn recompute<const I: usize, const O: usize, S: Segment<I, O>>(
    segment: &S,
    x: Rows<I, OwnedTape<f32, Cpu>>,
) -> Result<Rows<O, OwnedTape<f32, Cpu>>, CpuError> {
    let (x, mut tape) = x.split_tape();
    let y = segment.run(x.clone())?; // no tape: nothing is kept
    let (of_y, segment) = (y.ghost(), segment.clone()); // handles, not copies
    tape.add_backward_op(move |grads| {
        let up = std::mem::take(&mut **grads.get_or_alloc_mut(&of_y)?);
        // Once more, noted this time, from a start without gradients.
        let (again, mut inner) = segment.run(x.leaky_trace())?.split_tape();
        let (of_again, dev) = (again.ghost(), again.device().clone());
        drop(again);
        inner.add_backward_op(move |grads| {
            **grads.get_or_alloc_mut(&of_again)? = up; // it begins here
            Ok(())
        });
        let start = dev.try_zeros::<Rank0>()?.put_tape(inner);
        let mut found = Collect { from: start.try_backward()?, to: grads };
        segment.collect(&mut found)?;
        found.tensor(&x)
    });
    Ok(y.put_tape(tape))
}
// ANCHOR_END: recompute

/// Sets a fraction of the numbers to zero and enlarges the rest. The mask is a function of `seed` alone, so that it can
/// be made again; dfdx's own dropout draws from the device, and draws another one in a second run.
///
/// # Errors
/// The device's own.
pub fn seeded_dropout<const W: usize, T: Tape<f32, Cpu>>(
    x: Rows<W, T>,
    share: f32,
    seed: u64,
) -> Result<Rows<W, T>, CpuError> {
    let keep = move |values: &mut [f32]| {
        let mut random = SplitMix64::new(seed);
        for value in values {
            let dropped = (random.unit() as f32) < share;
            *value = if dropped { 0.0 } else { *value / (1.0 - share) };
        }
    };
    let (x, mut tape) = x.split_tape();
    let mut values = vec![0.0; x.shape().num_elements()];
    x.copy_into(&mut values);
    keep(&mut values);
    let y = x.device().try_tensor_from_vec(values, *x.shape())?;
    let (of_x, of_y) = (x.ghost(), y.ghost());
    tape.add_backward_op(move |grads| {
        let mut up = std::mem::take(&mut **grads.get_or_alloc_mut(&of_y)?);
        keep(&mut up); // the mask is made again, not kept
        let sums = grads.get_or_alloc_mut(&of_x)?;
        sums.iter_mut().zip(&up).for_each(|(sum, g)| *sum += g);
        Ok(())
    });
    Ok(y.put_tape(tape))
}

/// Layers of `W` units in a row: dense, `ReLU`, dropout.
#[derive(Clone, Debug)]
pub struct Stack<const W: usize> {
    /// The dense layers.
    pub layers: Vec<Linear<W, W, f32, Cpu>>,
    /// The share that is dropped behind each.
    pub dropout: f32,
    /// The seed of each layer's mask follows from this and the layer's number.
    pub seed: u64,
    /// The number of the first layer.
    pub first: usize,
}

impl<const W: usize> Segment<W, W> for Stack<W> {
    fn run<T: Tape<f32, Cpu> + Merge<T>>(&self, mut x: Rows<W, T>) -> Result<Rows<W, T>, CpuError> {
        for (at, layer) in (self.first..).zip(&self.layers) {
            x = layer.try_forward(x)?.try_relu()?;
            if self.dropout > 0.0 {
                x = seeded_dropout(x, self.dropout, key(&[self.seed, at as u64]))?;
            }
        }
        Ok(x)
    }

    fn collect(&self, collect: &mut Collect) -> Result<(), CpuError> {
        for layer in &self.layers {
            collect.tensor(&layer.weight)?;
            collect.tensor(&layer.bias)?;
        }
        Ok(())
    }
}

/// A deep model for images: 784 pixels, many layers of `W` units, ten scores.
pub struct Deep<const W: usize> {
    stem: Linear<PIXELS, W, f32, Cpu>,
    stack: Stack<W>,
    head: Linear<W, CLASSES, f32, Cpu>,
}

impl<const W: usize> Deep<W> {
    /// Random weights from the device's seed, in `layers` layers between the first and the last.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory for it, [`Error::Config`] for an impossible fraction.
    pub fn new(dev: &Cpu, layers: usize, dropout: f32) -> Result<Self> {
        if !(0.0..1.0).contains(&dropout) {
            return Err(Error::Config(format!(
                "a dropout of {dropout} is no fraction; give 0 or more, and less than 1"
            )));
        }
        let build = || -> Result<Self, CpuError> {
            let layers: Result<_, _> =
                (0..layers).map(|_| Linear::<W, W, f32, Cpu>::try_build(dev)).collect();
            Ok(Self {
                stem: Linear::try_build(dev)?,
                stack: Stack { layers: layers?, dropout, seed: 0, first: 0 },
                head: Linear::try_build(dev)?,
            })
        };
        build().map_err(Error::device)
    }

    /// Scores with every operation on the tape.
    fn plain(&self, x: Images<Cpu, OwnedTape<f32, Cpu>>) -> Result<Taped, CpuError> {
        let x = self.stem.try_forward(x)?.try_relu()?;
        self.head.try_forward(self.stack.run(x)?)
    }

    /// Scores, with the layers cut into `segments` that are as equal as can be; they run again in the backward pass.
    fn cut(&self, x: Images<Cpu, OwnedTape<f32, Cpu>>, segments: usize) -> Result<Taped, CpuError> {
        let mut x = self.stem.try_forward(x)?.try_relu()?;
        for (first, end) in pieces(self.stack.layers.len(), segments) {
            let layers = self.stack.layers[first..end].to_vec();
            x = recompute(&Stack { layers, first, ..self.stack }, x)?;
        }
        self.head.try_forward(x)
    }

    /// The loss of a batch and the gradients of all parameters. `segments` of 0 keeps everything; `seed` chooses the
    /// masks of dropout.
    ///
    /// # Errors
    /// [`Error::Config`] for more segments than layers, [`Error::Device`].
    pub fn gradients(
        &mut self,
        x: Images<Cpu>,
        y: Targets<Cpu>,
        segments: usize,
        seed: u64,
    ) -> Result<(f32, Vec<Vec<f32>>)> {
        if segments > self.stack.layers.len() {
            return Err(Error::Config(format!(
                "{} layers can't be cut into {segments} segments",
                self.stack.layers.len()
            )));
        }
        self.stack.seed = seed;
        let run = || -> Result<(f32, Gradients<f32, Cpu>), CpuError> {
            let x = x.leaky_traced();
            let scores = if segments == 0 { self.plain(x)? } else { self.cut(x, segments)? };
            let loss = cross_entropy_with_logits_loss(scores, y);
            Ok((loss.array(), loss.try_backward()?))
        };
        let (loss, mut grads) = run().map_err(Error::device)?;
        let mut taken = Vec::new();
        let mut take = |grads: &mut Gradients<f32, Cpu>| -> Result<(), CpuError> {
            for layer in &self.stack.layers {
                taken.push(std::mem::take(&mut **grads.get_or_alloc_mut(&layer.weight)?));
                taken.push(std::mem::take(&mut **grads.get_or_alloc_mut(&layer.bias)?));
            }
            taken.push(std::mem::take(&mut **grads.get_or_alloc_mut(&self.stem.weight)?));
            taken.push(std::mem::take(&mut **grads.get_or_alloc_mut(&self.stem.bias)?));
            taken.push(std::mem::take(&mut **grads.get_or_alloc_mut(&self.head.weight)?));
            taken.push(std::mem::take(&mut **grads.get_or_alloc_mut(&self.head.bias)?));
            Ok(())
        };
        take(&mut grads).map_err(Error::device)?;
        Ok((loss, taken))
    }

    /// The most bytes that [`Deep::gradients`] needs in addition to the weights, without dropout, by the rules of
    /// [`super::predict`].
    pub fn predicted(&self, batch: u64, segments: usize) -> u64 {
        let (w, layers) = (W as u64, self.stack.layers.len());
        let rows = 4 * batch * w;
        let weights = |inputs: u64, units: u64| 4 * (inputs * units + units);
        let mut step = Timeline::default();
        step.images(batch, PIXELS as u64);
        step.weighted(batch, PIXELS as u64, w);
        step.each(batch, w);
        if segments == 0 {
            (0..layers).for_each(|_| step.hidden(batch, w));
        } else {
            for (first, end) in pieces(layers, segments) {
                // What happens inside, on a tape of its own, with gradients of its own.
                let mut inside = Timeline::default();
                (first..end).for_each(|_| inside.hidden(batch, w));
                step.operations.push(Operation {
                    makes: rows,
                    aside: if end - first > 1 { rows } else { 0 },
                    gradients: rows + (end - first) as u64 * weights(w, w),
                    // Its input, and the upstream gradient, which is not kept here.
                    kept: 2 * rows,
                    // The second result is dropped as soon as it is there.
                    aside_back: inside.peak().saturating_sub(rows),
                    ..Operation::default()
                });
            }
        }
        step.weighted(batch, w, CLASSES as u64);
        step.loss(batch, CLASSES as u64);
        step.peak()
    }
}

/// Scores on their tape.
type Taped = Logits<Cpu, OwnedTape<f32, Cpu>>;

impl Timeline {
    /// A dense layer and its `ReLU`.
    fn hidden(&mut self, batch: u64, units: u64) {
        self.weighted(batch, units, units);
        self.each(batch, units);
    }

    /// A dense layer whose weights have no gradients yet.
    fn weighted(&mut self, batch: u64, inputs: u64, units: u64) {
        self.dense(batch, inputs, units);
        let gradients = 4 * (inputs * units + units);
        self.operations.push(Operation { gradients, ..Operation::default() });
    }
}

/// Where each of so many pieces of `layers` begins and ends, as equal as can be.
pub fn pieces(layers: usize, pieces: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..pieces).map(move |at| (at * layers / pieces, (at + 1) * layers / pieces))
}

/// The number of segments with the least memory by the square root: with `c` numbers a unit alive inside a segment,
/// k + c·n/k is least at √(c·n).
pub fn best_segments(layers: usize, alive: f64) -> f64 {
    (alive * layers as f64).sqrt()
}
