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
pub enum Way {
    /// In f32.
    F32,
    /// In bf16: the product rounds f32 numbers while it packs them, each time that it reads them.
    Rounding(Unit),
    /// In bf16: weights are rounded once a step and activations once, and kept in 16 bits.
    Keeping(Unit),
}

/// A network that learns in this way, with the first weights of chapter 3's.
///
/// # Errors
/// As [`Settings::check`]; [`Error::Config`] with dropout, or for a unit that this CPU does not have.
pub fn learner(settings: Settings, way: Way) -> Result<Box<dyn Learner>> {
    let threads = parallel::available();
    if let Way::Rounding(unit) | Way::Keeping(unit) = way
        && !unit.available()
    {
        return Err(matmul::Error::Unavailable(unit.name()).into());
    }
    Ok(match way {
        Way::F32 => Box::new(Network::<f32>::new(settings, None, threads)?),
        Way::Rounding(unit) => Box::new(Network::<f32>::new(settings, Some(unit), threads)?),
        Way::Keeping(unit) => Box::new(Network::<bf16>::new(settings, unit, threads)?),
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
    /// What each layer reads: the pictures, then each hidden layer's outputs.
    inputs: Vec<Vec<E>>,
    labels: Vec<u8>,
    /// What a product writes.
    sums: Vec<f32>,
    /// The derivatives of a layer's sums, as the products read them.
    dy: Vec<E>,
    /// Those of one layer's weights: they are used while they are in the cache.
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
        let inputs = layers.iter().map(|_| Vec::new()).collect();
        let (labels, sums, dy, gradient) = (vec![], vec![], vec![], vec![]);
        Ok(Self { settings, by, threads, layers, t: 0, inputs, labels, sums, dy, gradient })
    }

    /// C = A·B on the network's threads; C grows or shrinks to what it takes.
    fn product(
        &self,
        c: &mut Vec<f32>,
        a: MatRef<E>,
        b: MatRef<E>,
        epilogue: Epilogue,
    ) -> Result<()> {
        c.resize(a.rows() * b.cols(), 0.0);
        let options =
            Options { epilogue, threads: Threads::Count(self.threads), accumulate: false };
        let c = MatMut::new(c, a.rows(), b.cols())?;
        Ok(E::product(self.by, c, a, b, options)?)
    }

    /// The scores of the batch that lies in the first input.
    fn forward(&mut self) -> Result<Vec<f32>> {
        let mut sums = std::mem::take(&mut self.sums);
        for at in 0..self.layers.len() {
            let last = at + 1 == self.layers.len();
            let layer = &self.layers[at];
            let bias = &layer.master.bias[..];
            let epilogue = match (last, E::COPIED) {
                (true, _) => Epilogue::Bias(bias),
                (false, false) => Epilogue::BiasRelu(bias),
                (false, true) => Epilogue::None, // the rounding's walk does it
            };
            self.product(&mut sums, self.input(at)?, layer.weights()?, epilogue)?;
            if last {
                break;
            }
            let mut kept = std::mem::take(&mut self.inputs[at + 1]);
            if E::COPIED {
                kept.resize(sums.len(), E::default());
                pass::hidden(&sums, bias, &mut kept, self.threads);
            } else {
                E::exchange(&mut sums, &mut kept);
            }
            self.inputs[at + 1] = kept;
        }
        Ok(sums)
    }

    /// What layer `at` reads.
    fn input(&self, at: usize) -> Result<MatRef<'_, E>> {
        let (x, width) = (&self.inputs[at], self.layers[at].master.inputs);
        Ok(MatRef::new(x, x.len() / width, width)?)
    }

    /// Backward and update, layer by layer, from the derivatives of the scores.
    // ANCHOR: backward
    fn backward(&mut self, mut sums: Vec<f32>) -> Result<()> {
        let f = Factors::new(&self.settings.rule, self.t);
        let threads = self.threads;
        let mut bias = pass::column_sums(&sums, classes(&self.settings));
        let mut dy = std::mem::take(&mut self.dy);
        let mut gradient = std::mem::take(&mut self.gradient);
        keep(&mut sums, &mut dy);
        for at in (0..self.layers.len()).rev() {
            let (x, w) = (self.input(at)?, self.layers[at].weights()?);
            let dy_view = MatRef::new(&dy, x.rows(), w.cols())?;
            if at > 0 {
                self.product(&mut sums, dy_view, w.t(), Epilogue::None)?;
            }
            self.product(&mut gradient, x.t(), dy_view, Epilogue::None)?;
            let Layer { master, moments, copy } = &mut self.layers[at];
            let [ours, others] = moments;
            update(f, &mut master.weights, ours, &gradient, copy, threads);
            update::<E>(f, &mut master.bias, others, &bias, &mut [], threads);
            if at > 0 {
                bias = self.through_relu(at, &mut sums, &mut dy);
            }
        }
        (self.sums, self.dy, self.gradient) = (sums, dy, gradient);
        Ok(())
    }
    // ANCHOR_END: backward

    /// The derivatives of the sums of the layer before `at`, from those of its outputs, ready for the next products.
    /// Returns those of its bias.
    fn through_relu(&self, at: usize, sums: &mut Vec<f32>, dy: &mut Vec<E>) -> Vec<f32> {
        let (output, width) = (&self.inputs[at], self.layers[at].master.inputs);
        if E::COPIED {
            dy.resize(sums.len(), E::default());
            return pass::backward(sums, output, dy, width, self.threads);
        }
        let bias = pass::backward(sums, output, &mut [], width, self.threads);
        E::exchange(sums, dy);
        bias
    }

    /// One step with these pictures. Returns the mean loss before it.
    ///
    /// # Errors
    /// What the labels and shapes can be refused for; [`Error::Diverged`] is left to the caller, who knows the epoch.
    pub fn step(&mut self, data: &Examples, batch: &[usize]) -> Result<f64> {
        let width = self.settings.sizes[0];
        let mut x = std::mem::take(&mut self.inputs[0]);
        x.resize(batch.len() * width, E::default());
        pass::gather(&mut x, width, |i| data.picture(batch[i]), self.threads);
        self.inputs[0] = x;
        self.labels.clear();
        self.labels.extend(batch.iter().map(|i| data.labels[*i]));
        let scores = self.forward()?;
        let classes = classes(&self.settings);
        let (loss, dscores) = loss_and_gradient(&scores, &self.labels, classes)?;
        self.sums = scores;
        if !exploded(loss) {
            self.t += 1;
            self.backward(dscores)?;
        }
        Ok(loss)
    }
}

/// Keeps f32 values as the products read them.
fn keep<E: Number>(values: &mut Vec<f32>, kept: &mut Vec<E>) {
    if E::COPIED {
        kept.resize(values.len(), E::default());
        E::convert(values, kept);
    } else {
        E::exchange(values, kept);
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

    /// The weights as the products read them.
    fn weights(&self) -> Result<MatRef<'_, E>> {
        let weights = E::operand(&self.master.weights, &self.copy);
        Ok(MatRef::new(weights, self.master.inputs, self.master.outputs)?)
    }
}

/// Scores of a picture.
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

#[cfg(test)]
mod tests;
