//! A training run, counted before it starts: operations, bytes, kernels and steps.

use crate::{Error, Result, cards::Format};
use backprop::count::{Counts, Layer, Model};
use serde::Serialize;
use training::{Settings, config};

/// Bytes that Adam's pass moves for each parameter: it reads gradient, two moments and weight, and writes the last
/// three (chapter 3).
const ADAM: f64 = 28.0;

/// Bytes that a step must keep for each parameter: weight, gradient and two moments in f32, or in mixed precision a
/// master weight, its narrow copy, a narrow gradient and two moments (Rajbhandari and others 2020, "`ZeRO`", section 3).
const HELD: f64 = 16.0;

/// A training run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Weights and biases.
    pub parameters: f64,
    /// Floating-point operations for one example, forward and backward.
    pub operations: f64,
    /// Numbers that are kept for the backward pass, for one example.
    pub kept: f64,
    /// Kernels that a step launches.
    pub launches: f64,
    /// Examples of a step.
    pub batch: f64,
    /// Examples of the whole run, repetitions counted.
    pub examples: f64,
    /// What an example is called: `examples`, or `tokens`.
    #[serde(skip)]
    pub unit: &'static str,
}

impl Job {
    /// A run of a described model: `examples` images in steps of `batch`.
    ///
    /// # Errors
    /// [`Error::Message`] without images, or if the model can't be.
    pub fn of(model: &Model, batch: u64, examples: u64) -> Result<Self> {
        let counts = model.count()?;
        // Forward one kernel a layer, backward one, and a second one where there are weights, which move in one more.
        let weighted = counts.rows.iter().filter(|row| row.parameters > 0).count();
        let launches = 2 * counts.rows.len() + 2 * weighted + 1;
        let Counts { parameters, forward, backward, kept, .. } = counts;
        let found = [parameters as f64, forward + backward, kept as f64, launches as f64];
        Self::of_images(&counts.name, found, batch, examples)
    }

    /// A run of a model of which parameters, operations, kept numbers and launches are counted.
    fn of_images(name: &str, counted: [f64; 4], batch: u64, examples: u64) -> Result<Self> {
        let [parameters, operations, kept, launches] = counted;
        let (name, batch, examples) = (name.to_owned(), batch as f64, examples as f64);
        let unit = "examples";
        Self { name, parameters, operations, kept, launches, batch, examples, unit }.checked()
    }

    /// A language model of `parameters` that reads `tokens` in steps of `batch` tokens. Six operations a parameter and
    /// token (Kaplan and others 2020, section 2.1); activations are computed again in the backward pass, so few are kept.
    ///
    /// # Errors
    /// [`Error::Message`] without parameters or tokens.
    pub fn language(parameters: f64, layers: u64, batch: f64, tokens: f64) -> Result<Self> {
        // A block has 12 weights for each pair of its width: the width follows, and one number of it is kept a block.
        let width = (parameters / (12.0 * layers.max(1) as f64)).sqrt();
        let (size, word) = match parameters {
            few if few < 1e9 => (few / 1e6, "million"),
            many => (many / 1e9, "billion"),
        };
        let job = Self {
            name: format!("a language model of {size:.0} {word} weights"),
            parameters,
            operations: 6.0 * parameters,
            kept: layers as f64 * width,
            launches: 60.0 * layers as f64,
            batch,
            examples: tokens,
            unit: "tokens",
        };
        job.checked()
    }

    /// A run of one of chapter 4's models by its recipe, on MNIST.
    ///
    /// # Errors
    /// None of its own: the models are known.
    pub fn chapter_4(model: training::Model) -> Result<Self> {
        let recipe = Settings::of(model);
        let (batch, examples) = (recipe.batch as u64, 60_000 * recipe.epochs as u64);
        let described = match model {
            config::Model::Linear => Model::named("784-10")?,
            config::Model::Mlp => Model::named("mlp")?,
            config::Model::Cnn => performance::memory::predict::cnn(),
            config::Model::Resnet => resnet(),
            config::Model::Rnn => return recurrent(batch, examples),
            config::Model::Transformer => return transformer(batch, examples),
        };
        Ok(Self { name: model.name().to_owned(), ..Self::of(&described, batch, examples)? })
    }

    fn checked(self) -> Result<Self> {
        let numbers = [self.parameters, self.operations, self.batch, self.examples];
        if numbers.iter().all(|n| n.is_finite() && *n >= 1.0) {
            return Ok(self);
        }
        Err(Error::message(format!(
            "{} has no weights, no examples or empty steps; a job needs at least one of each",
            self.name
        )))
    }

    /// Steps of the run.
    pub fn steps(&self) -> f64 {
        (self.examples / self.batch).ceil()
    }

    /// Operations of a step.
    pub fn step_operations(&self) -> f64 {
        self.operations * self.batch
    }

    // ANCHOR: bytes
    /// Bytes that a step moves at least: Adam's pass; each weight read
    /// forward, read backward, and its gradient written; each activation
    /// that is kept written, read again, and the same for its derivative.
    pub fn step_bytes(&self, format: Format) -> f64 {
        let number = format.bytes();
        let weights = (ADAM + 3.0 * number) * self.parameters;
        weights + 4.0 * number * self.kept * self.batch
    }
    // ANCHOR_END: bytes

    /// Operations of a step for each of its bytes.
    pub fn intensity(&self, format: Format) -> f64 {
        self.step_operations() / self.step_bytes(format)
    }

    /// Bytes that a card must store: those of the weights and of what is kept.
    pub fn memory(&self, format: Format) -> f64 {
        HELD * self.parameters + format.bytes() * self.kept * self.batch
    }
}

/// Chapter 4's residual network, described: its convolutions, without the shortcuts.
fn resnet() -> Model {
    let conv = |channels, size| Layer::Conv { channels, size, stride: 1, padding: size / 2 };
    let mut layers = vec![conv(24, 3), Layer::Relu, Layer::Pool { size: 2 }];
    layers.extend([conv(24, 3), Layer::Relu, conv(24, 3), Layer::Relu, Layer::Pool { size: 2 }]);
    layers.extend([conv(48, 1), Layer::Relu, conv(48, 3), Layer::Relu, conv(48, 3), Layer::Relu]);
    // The mean of 7×7 pixels costs nothing next to the products; a pool represents it.
    layers.extend([Layer::Pool { size: 7 }, Layer::Flatten, Layer::Dense { units: 10 }]);
    Model { name: "resnet".to_owned(), input: vec![1, 28, 28], layers }
}

/// Operations forward and backward of products with so many multiplications.
fn three_passes(multiplications: usize) -> f64 {
    3.0 * 2.0 * multiplications as f64
}

/// Chapter 4's recurrent network: at each of 28 time steps the row's and the state's products for three gates.
fn recurrent(batch: u64, examples: u64) -> Result<Job> {
    use training::rnn::{GATES, HIDDEN, MOMENTS, SEEN};
    let weights = SEEN * GATES + HIDDEN * GATES;
    let parameters = weights + 2 * GATES + HIDDEN * 10 + 10;
    let operations = three_passes(MOMENTS * weights + HIDDEN * 10);
    let kept = MOMENTS * (SEEN + 2 * GATES + HIDDEN);
    let found = [parameters as f64, operations, kept as f64, (6 * MOMENTS + 6) as f64];
    Job::of_images("rnn", found, batch, examples)
}

/// Chapter 4's transformer: 16 patches, two blocks.
fn transformer(batch: u64, examples: u64) -> Result<Job> {
    use training::transformer::{HEADS, PATCH, PATCHES, WIDE, WIDTH};
    const BLOCKS: usize = 2;
    let block = 4 * WIDTH * WIDTH + 2 * WIDTH * WIDE;
    let attention = 2 * PATCHES * PATCHES * WIDTH;
    // Weights, biases and normalisations.
    let in_block = block + 5 * WIDTH + WIDE + 4 * WIDTH;
    let around = PATCH * WIDTH + WIDTH + PATCHES * WIDTH + 2 * WIDTH + WIDTH * 10 + 10;
    let products = PATCHES * (PATCH * WIDTH + BLOCKS * block) + BLOCKS * attention + WIDTH * 10;
    let kept_in_block = PATCHES * (8 * WIDTH + 2 * WIDE) + 2 * HEADS * PATCHES * PATCHES;
    let kept = PATCHES * PATCH + BLOCKS * kept_in_block;
    let (parameters, launches) = (BLOCKS * in_block + around, 40 * BLOCKS + 20);
    let found = [parameters as f64, three_passes(products), kept as f64, launches as f64];
    Job::of_images("transformer", found, batch, examples)
}
