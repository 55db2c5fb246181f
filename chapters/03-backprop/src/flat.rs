//! The same network with all parameters in one buffer, and a step whose expensive habits can be given up
//! one by one. This is the middle of the ladder, from the textbook to [`crate::fast`].

use crate::{
    Error, Result,
    adam::{self, Factors, Moments},
    dropout::Dropout,
    mlp::Mlp,
    random::key,
    softmax::loss_in_place,
    train::{Examples, Learner, Settings, exploded, step_key},
};
use matmul::{Epilogue, MatMut, MatRef, Options, Threads, sgemm};
use std::ops::Range;

/// What a step does and leaves undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Habits {
    /// Whether Adam passes over the parameters once, or as often as the paper has lines.
    pub fused_adam: bool,
    /// Whether the buffers are kept from step to step.
    pub keep_buffers: bool,
    /// The threads of each product.
    pub threads: Threads,
}

/// Where one layer's parameters are in the buffer.
#[derive(Clone, Debug)]
struct Place {
    inputs: usize,
    outputs: usize,
    weights: Range<usize>,
    bias: Range<usize>,
}

/// The network as one buffer of parameters.
pub struct Flat {
    settings: Settings,
    habits: Habits,
    dropout: Dropout,
    places: Vec<Place>,
    parameters: Vec<f32>,
    moments: Moments<f32>,
    t: i32,
    buffers: Buffers,
}

/// What a step writes.
#[derive(Default)]
struct Buffers {
    /// The batch, then the output of each layer.
    outputs: Vec<Vec<f32>>,
    /// The derivatives of each hidden layer's output.
    hidden: Vec<Vec<f32>>,
    gradient: Vec<f32>,
    labels: Vec<u8>,
}

impl Flat {
    /// A network with its first weights: the same as the readable one's.
    ///
    /// # Errors
    /// As [`Settings::check`].
    pub fn new(settings: Settings, habits: Habits) -> Result<Self> {
        settings.check()?;
        let model = Mlp::<f32>::new(&settings.sizes, settings.seed)?;
        let mut at = 0;
        let mut take = |len: usize| {
            at += len;
            at - len..at
        };
        let places = model.layers.iter().map(|layer| Place {
            inputs: layer.inputs,
            outputs: layer.outputs,
            weights: take(layer.weights.len()),
            bias: take(layer.bias.len()),
        });
        let (places, parameters) = (places.collect(), model.parameters());
        let moments = Moments::zeros(parameters.len());
        let dropout = Dropout::new(settings.dropout)?;
        let buffers = Buffers::default();
        Ok(Self { settings, habits, dropout, places, parameters, moments, t: 0, buffers })
    }

    /// Buffers of the right lengths for a batch; old ones are used again if there are any.
    fn prepare(&mut self, batch: usize) {
        if !self.habits.keep_buffers {
            self.buffers = Buffers::default();
        }
        let sizes = &self.settings.sizes;
        let Buffers { outputs, hidden, gradient, labels } = &mut self.buffers;
        outputs.resize_with(sizes.len(), Vec::new);
        hidden.resize_with(sizes.len(), Vec::new);
        for (at, size) in sizes.iter().enumerate() {
            outputs[at].resize(batch * size, 0.0);
            let inner = at > 0 && at + 1 < sizes.len();
            hidden[at].resize(if inner { batch * size } else { 0 }, 0.0);
        }
        gradient.resize(self.parameters.len(), 0.0);
        labels.resize(batch, 0);
    }

    /// The scores of the batch in the first buffer: bias and `ReLU` while the sums are in registers.
    fn forward(&mut self, batch: usize, step: u64) -> Result<()> {
        let scale = self.dropout.scale() as f32;
        for (at, place) in self.places.iter().enumerate() {
            let (x, y) = self.buffers.outputs.split_at_mut(at + 1);
            let (x, y) = (&x[at], &mut y[0]);
            let last = at + 1 == self.places.len();
            let bias = &self.parameters[place.bias.clone()];
            let epilogue = if last { Epilogue::Bias(bias) } else { Epilogue::BiasRelu(bias) };
            let options = Options { epilogue, threads: self.habits.threads, ..Options::default() };
            let w = &self.parameters[place.weights.clone()];
            let w = MatRef::new(w, place.inputs, place.outputs)?;
            let x = MatRef::new(x, batch, place.inputs)?;
            sgemm(MatMut::new(y, batch, place.outputs)?, x, w, options)?;
            if !last {
                drop_units(y, self.dropout, key(&[step, at as u64]), scale);
            }
        }
        Ok(())
    }

    /// The gradient, from that of the scores, which lies where the scores were.
    fn backward(&mut self, batch: usize) -> Result<()> {
        let scale = self.dropout.scale() as f32;
        let options = Options { threads: self.habits.threads, ..Options::default() };
        let Buffers { outputs, hidden, gradient, .. } = &mut self.buffers;
        for (at, place) in self.places.iter().enumerate().rev() {
            let (before, after) = hidden.split_at_mut(at + 1);
            let last = at + 1 == self.places.len();
            let dy = if last { &outputs[at + 1] } else { &after[0] };
            let (inputs, width) = (place.inputs, place.outputs);
            let x = MatRef::new(&outputs[at], batch, inputs)?;
            let dy_view = MatRef::new(dy, batch, width)?;
            let dw = &mut gradient[place.weights.clone()];
            sgemm(MatMut::new(dw, inputs, width)?, x.t(), dy_view, options)?;
            column_sums(&mut gradient[place.bias.clone()], dy);
            if at > 0 {
                let w = &self.parameters[place.weights.clone()];
                let w = MatRef::new(w, inputs, width)?;
                let dx = &mut before[at];
                sgemm(MatMut::new(dx, batch, inputs)?, dy_view, w.t(), options)?;
                through_relu(dx, &outputs[at], scale);
            }
        }
        Ok(())
    }

    fn update(&mut self) {
        self.t += 1;
        let (gradient, rule) = (&self.buffers.gradient, &self.settings.rule);
        if self.habits.fused_adam {
            let factors = Factors::new(rule, self.t);
            let Moments { m, v } = &mut self.moments;
            return adam::fused(factors, &mut self.parameters, m, v, gradient);
        }
        for place in &self.places {
            for part in [&place.weights, &place.bias] {
                let moments = &mut self.moments;
                let (p, g) = (&mut self.parameters[part.clone()], &gradient[part.clone()]);
                let (m, v) = (&mut moments.m[part.clone()], &mut moments.v[part.clone()]);
                adam::step(rule, self.t, p, (m, v), g);
            }
        }
    }
}

/// Leaves units out of an output that has been through `ReLU`, and scales the others.
fn drop_units(y: &mut [f32], dropout: Dropout, key: u64, scale: f32) {
    for (index, y) in y.iter_mut().enumerate() {
        *y *= if dropout.keeps(key, index) { scale } else { 0.0 };
    }
}

/// The derivatives before dropout and `ReLU`: an output above zero was neither left out nor cut off, so no mask has to
/// be kept.
pub(crate) fn through_relu(dx: &mut [f32], output: &[f32], scale: f32) {
    for (dx, output) in dx.iter_mut().zip(output) {
        *dx = if *output > 0.0 { *dx * scale } else { 0.0 };
    }
}

/// The sum of each column of a row-major matrix.
pub(crate) fn column_sums(sums: &mut [f32], rows: &[f32]) {
    sums.fill(0.0);
    for row in rows.chunks_exact(sums.len()) {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += x;
        }
    }
}

impl Learner for Flat {
    fn epoch(&mut self, data: &Examples, order: &[usize], epoch: usize) -> Result<f64> {
        let (inputs, classes) = (self.settings.sizes[0], self.settings.sizes[self.places.len()]);
        data.check(inputs, classes)?;
        data.check_order(order)?;
        let (size, seed, lr) = (self.settings.batch, self.settings.seed, self.settings.rule.lr);
        let mut sum = 0.0;
        for (at, batch) in order.chunks(size).enumerate() {
            self.prepare(batch.len());
            let Buffers { outputs, labels, .. } = &mut self.buffers;
            for ((row, label), i) in outputs[0].chunks_exact_mut(inputs).zip(labels).zip(batch) {
                row.copy_from_slice(data.image(*i));
                *label = data.labels[*i];
            }
            self.forward(batch.len(), step_key(seed, epoch, at + 1))?;
            let scores = &mut self.buffers.outputs[self.places.len()];
            let loss = loss_in_place(scores, &self.buffers.labels, classes, classes);
            if exploded(loss) {
                return Err(Error::Diverged { epoch, step: at + 1, lr, loss });
            }
            sum += loss * batch.len() as f64;
            self.backward(batch.len())?;
            self.update();
        }
        Ok(sum / order.len() as f64)
    }

    fn model(&self) -> Result<Mlp<f32>> {
        let mut model = Mlp::zeros(&self.settings.sizes)?;
        model.set_parameters(&self.parameters)?;
        Ok(model)
    }
}
