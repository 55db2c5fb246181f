//! The network: chapter 3's, of any depth, with what its products read in bf16. Weights, moments, sums, bias, loss
//! and update are f32.
//!
//! The same code trains in f32, so that a comparison of the two compares the numbers and nothing else.

use super::{number::Number, pass, update::update};
use backprop::{
    Error, Result,
    adam::{Factors, Moments},
    dense::Dense,
    mlp::Mlp,
    softmax::loss_and_gradient,
    train::{Examples, Learner, Settings, exploded},
};
use half::bf16;
use matmul::{Epilogue, MatMut, MatRef, Options, Threads, Unit, parallel};

/// How a network multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multiplication {
    /// In f32.
    F32,
    /// In bf16: the product rounds f32 numbers while it packs them, each time that it reads them.
    Rounding(Unit),
    /// In bf16: weights are rounded once a step and activations once, and kept in 16 bits.
    Keeping(Unit),
}

/// A network that trains in this way, with the first weights of chapter 3's.
///
/// # Errors
/// As [`Settings::check`]; [`Error::Config`] with dropout, or for a unit that this CPU does not have.
pub fn learner(settings: Settings, way: Multiplication) -> Result<Box<dyn Learner>> {
    let threads = parallel::available();
    if let Multiplication::Rounding(unit) | Multiplication::Keeping(unit) = way
        && !unit.available()
    {
        return Err(matmul::Error::Unavailable(unit.name()).into());
    }
    Ok(match way {
        Multiplication::F32 => Box::new(Network::<f32>::new(settings, None, threads)?),
        Multiplication::Rounding(unit) => {
            Box::new(Network::<f32>::new(settings, Some(unit), threads)?)
        }
        Multiplication::Keeping(unit) => Box::new(Network::<bf16>::new(settings, unit, threads)?),
    })
}

/// A layer's master weights, what Adam knows about them, and what the products read.
// ANCHOR: layer
struct Layer<E> {
    /// Weights and bias, f32.
    master: Dense<f32>,
    /// Of the weights, then of the bias.
    moments: [Moments<f32>; 2],
    /// The weights, rounded after each update.
    copy: Vec<E>,
}
// ANCHOR_END: layer

/// A network whose products read numbers of type `E`.
pub struct Network<E: Number> {
    settings: Settings,
    by: E::Products,
    threads: usize,
    layers: Vec<Layer<E>>,
    /// Steps taken.
    t: i32,
    /// What each layer reads: the images, then each hidden layer's outputs.
    pub inputs: Vec<Vec<E>>,
    labels: Vec<u8>,
    /// What a product writes.
    sums: Vec<f32>,
    /// The derivatives of the scores, as the products read them.
    dscores: Vec<E>,
    /// Those of a hidden layer's sums.
    dy: Vec<E>,
    /// Those of one layer's weights: they are used before the next layer's are made.
    gradient: Vec<f32>,
}

impl<E: Number> Network<E> {
    /// A network with its first weights, on so many threads.
    ///
    /// # Errors
    /// As [`Settings::check`]; [`Error::Config`] with dropout.
    pub fn new(settings: Settings, by: E::Products, threads: usize) -> Result<Self> {
        settings.check()?;
        if settings.dropout != 0.0 {
            return Err(Error::Config(format!(
                "this network leaves no units out; set dropout to 0, not {}",
                settings.dropout
            )));
        }
        let model = Mlp::<f32>::new(&settings.sizes, settings.seed)?;
        let layers: Vec<Layer<E>> = model.layers.into_iter().map(Layer::new).collect();
        Ok(Self {
            inputs: layers.iter().map(|_| Vec::new()).collect(),
            settings,
            by,
            threads,
            layers,
            t: 0,
            labels: Vec::new(),
            sums: Vec::new(),
            dscores: Vec::new(),
            dy: Vec::new(),
            gradient: Vec::new(),
        })
    }

    /// What Adam knows about each layer's weights, and about its bias.
    pub fn moments(&self) -> Vec<&[Moments<f32>; 2]> {
        self.layers.iter().map(|layer| &layer.moments).collect()
    }

    /// Each layer's weights as the products read them, where those are no f32.
    pub fn copies(&self) -> Vec<&[E]> {
        self.layers.iter().map(|layer| &*layer.copy).collect()
    }

    /// C = A·B on the network's threads.
    fn product(&self, c: &mut [f32], a: MatRef<E>, b: MatRef<E>, epilogue: Epilogue) -> Result<()> {
        let options =
            Options { epilogue, threads: Threads::Count(self.threads), accumulate: false };
        let c = MatMut::new(c, a.rows(), b.cols())?;
        Ok(E::product(self.by, c, a, b, options)?)
    }

    /// The scores of the batch that lies in the first input.
    fn forward(&mut self) -> Result<Vec<f32>> {
        let mut sums = std::mem::take(&mut self.sums);
        let last = self.layers.len() - 1;
        for at in 0..last {
            let (layer, x) = (&self.layers[at], self.input(at)?);
            let bias = &layer.master.bias[..];
            // Where the outputs are rounded, the same pass adds the bias.
            let epilogue = if E::COPIED { Epilogue::None } else { Epilogue::BiasRelu(bias) };
            sums.resize(x.rows() * bias.len(), 0.0);
            self.product(&mut sums, x, layer.weights()?, epilogue)?;
            let mut kept = std::mem::take(&mut self.inputs[at + 1]);
            if E::COPIED {
                kept.resize(sums.len(), E::default());
                pass::hidden(&sums, bias, &mut kept, self.threads);
            } else {
                E::exchange(&mut sums, &mut kept);
            }
            self.inputs[at + 1] = kept;
        }
        self.sums = sums;
        let (layer, x) = (&self.layers[last], self.input(last)?);
        let mut scores = vec![0.0; x.rows() * layer.master.outputs];
        let epilogue = Epilogue::Bias(&layer.master.bias);
        self.product(&mut scores, x, layer.weights()?, epilogue)?;
        Ok(scores)
    }

    /// What layer `at` reads.
    fn input(&self, at: usize) -> Result<MatRef<'_, E>> {
        let (x, width) = (&self.inputs[at], self.layers[at].master.inputs);
        Ok(MatRef::new(x, x.len() / width, width)?)
    }

    /// Backward and update, layer by layer, from the derivatives of the scores.
    // ANCHOR: backward
    fn backward(&mut self, dscores: &[f32]) -> Result<()> {
        let f = Factors::new(&self.settings.rule, self.t);
        let (mut sums, mut gradient) = self.buffers();
        let mut bias = pass::column_sums(dscores, classes(&self.settings));
        for at in (0..self.layers.len()).rev() {
            let (x, w) = (self.input(at)?, self.layers[at].weights()?);
            let dy = self.derivatives(at)?;
            let dw = &mut gradient[..w.rows() * w.cols()];
            self.product(dw, x.t(), dy, Epilogue::None)?;
            if at > 0 {
                sums.resize(x.rows() * x.cols(), 0.0);
                self.product(&mut sums, dy, w.t(), Epilogue::None)?;
            }
            let (layer, threads) = (&mut self.layers[at], self.threads);
            layer.update(f, dw, &bias, threads);
            if at > 0 {
                bias = self.through_relu(at, &mut sums);
            }
        }
        (self.sums, self.gradient) = (sums, gradient);
        Ok(())
    }
    // ANCHOR_END: backward

    /// Room for a product's sums, and for the largest gradient.
    fn buffers(&mut self) -> (Vec<f32>, Vec<f32>) {
        let largest = self.layers.iter().map(|layer| layer.master.weights.len()).max();
        let mut gradient = std::mem::take(&mut self.gradient);
        gradient.resize(largest.unwrap_or_default(), 0.0);
        (std::mem::take(&mut self.sums), gradient)
    }

    /// The derivatives of layer `at`'s sums, as the products read them.
    fn derivatives(&self, at: usize) -> Result<MatRef<'_, E>> {
        let dy = if at + 1 == self.layers.len() { &self.dscores } else { &self.dy };
        let width = self.layers[at].master.outputs;
        Ok(MatRef::new(dy, dy.len() / width, width)?)
    }

    /// The derivatives of the sums of the layer before `at`, from those of its outputs, ready for the next products.
    /// Returns those of its bias.
    fn through_relu(&mut self, at: usize, sums: &mut Vec<f32>) -> Vec<f32> {
        let (output, width) = (&self.inputs[at], self.layers[at].master.inputs);
        if E::COPIED {
            self.dy.resize(sums.len(), E::default());
            return pass::backward(sums, output, &mut self.dy, width, self.threads);
        }
        let bias = pass::backward(sums, output, &mut [], width, self.threads);
        E::exchange(sums, &mut self.dy);
        bias
    }

    /// One step with these images. Returns the mean loss before it.
    ///
    /// # Errors
    /// What the labels and shapes can be refused for; [`Error::Diverged`] is left to the caller, who knows the epoch.
    pub fn step(&mut self, data: &Examples, batch: &[usize]) -> Result<f64> {
        let width = self.settings.sizes[0];
        let mut x = std::mem::take(&mut self.inputs[0]);
        x.resize(batch.len() * width, E::default());
        pass::gather(&mut x, width, |i| data.image(batch[i]), self.threads);
        self.inputs[0] = x;
        self.labels.clear();
        self.labels.extend(batch.iter().map(|i| data.labels[*i]));
        let scores = self.forward()?;
        let classes = classes(&self.settings);
        let (loss, dscores) = loss_and_gradient(&scores, &self.labels, classes)?;
        if !exploded(loss) {
            self.t += 1;
            self.dscores.resize(dscores.len(), E::default());
            E::convert(&dscores, &mut self.dscores);
            self.backward(&dscores)?;
        }
        Ok(loss)
    }
}

impl<E: Number> Layer<E> {
    fn new(master: Dense<f32>) -> Self {
        let moments = [Moments::zeros(master.weights.len()), Moments::zeros(master.bias.len())];
        let mut copy = Vec::new();
        if E::COPIED {
            copy.resize(master.weights.len(), E::default());
            E::convert(&master.weights, &mut copy);
        }
        Self { master, moments, copy }
    }

    /// One step with these derivatives of the weights and of the bias.
    fn update(&mut self, f: Factors, weights: &[f32], bias: &[f32], threads: usize) {
        let Self { master, moments: [known, others], copy } = self;
        update(f, &mut master.weights, known, weights, copy, threads);
        update::<E>(f, &mut master.bias, others, bias, &mut [], threads);
    }

    /// The weights as the products read them.
    fn weights(&self) -> Result<MatRef<'_, E>> {
        let weights = E::operand(&self.master.weights, &self.copy);
        Ok(MatRef::new(weights, self.master.inputs, self.master.outputs)?)
    }
}

/// Scores of an image.
fn classes(settings: &Settings) -> usize {
    settings.sizes.last().copied().unwrap_or_default()
}

impl<E: Number> Learner for Network<E> {
    fn epoch(&mut self, data: &Examples, order: &[usize], epoch: usize) -> Result<f64> {
        data.check(self.settings.sizes[0], classes(&self.settings))?;
        data.check_order(order)?;
        let mut sum = 0.0;
        for (at, batch) in order.chunks(self.settings.batch).enumerate() {
            let loss = self.step(data, batch)?;
            if exploded(loss) {
                let lr = self.settings.rule.lr;
                return Err(Error::Diverged { epoch, step: at + 1, lr, loss });
            }
            sum += loss * batch.len() as f64;
        }
        Ok(sum / order.len() as f64)
    }

    fn model(&self) -> Result<Mlp<f32>> {
        Ok(Mlp { layers: self.layers.iter().map(|layer| layer.master.clone()).collect() })
    }
}
