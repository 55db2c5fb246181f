//! The loop: shuffle, take a batch, forward, backward, update; after each epoch, the test.

use crate::{
    Error, Result,
    adam::{Adam, Adaptive},
    dropout::Dropout,
    error::{count, rows},
    mlp::{Mlp, Noise},
    optimizer::Optimizer,
    order::order,
    random::key,
    softmax::{check_labels, loss_and_gradient},
};
use lab::data::Split;
use matmul::{Epilogue, MatMut, MatRef, Options, Threads, sgemm};
use std::time::Instant;

/// Images and their labels, ready for a product.
#[derive(Clone, Debug, PartialEq)]
pub struct Examples {
    /// Grey levels from 0 to 1, one image after the other.
    pub pixels: Vec<f32>,
    /// The class of each image.
    pub labels: Vec<u8>,
    /// Pixels of one image.
    pub width: usize,
}

impl Examples {
    /// The images of a data set's part.
    pub fn of(split: &Split) -> Self {
        Self { pixels: split.scaled(), labels: split.labels.clone(), width: split.pixels() }
    }

    /// How many images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Image `i`.
    ///
    /// # Panics
    /// If there is no image `i`, as with any slice.
    pub fn image(&self, i: usize) -> &[f32] {
        &self.pixels[i * self.width..][..self.width]
    }

    /// The images with these indices, one after the other, and their labels.
    ///
    /// # Panics
    /// If there is no image of one of the indices, as [`Examples::image`].
    pub fn batch(&self, numbers: &[usize]) -> (Vec<f32>, Vec<u8>) {
        let x = numbers.iter().flat_map(|i| self.image(*i)).copied().collect();
        (x, numbers.iter().map(|i| self.labels[*i]).collect())
    }

    /// Fails unless they can train or test a model of `inputs` and `classes`.
    ///
    /// # Errors
    /// [`Error::EmptyBatch`], [`Error::Rows`], [`Error::Count`], [`Error::Label`].
    pub fn check(&self, inputs: usize, classes: usize) -> Result<()> {
        count("pixels in an image", self.width, inputs)?;
        count("labels", self.len(), rows("images", self.pixels.len(), self.width)?)?;
        check_labels(&self.labels, classes)
    }

    /// Fails unless `order` names at least one image, and none that is not there.
    ///
    /// # Errors
    /// [`Error::EmptyBatch`], [`Error::Config`].
    pub fn check_order(&self, order: &[usize]) -> Result<()> {
        if order.is_empty() {
            return Err(Error::EmptyBatch);
        }
        match order.iter().find(|i| **i >= self.len()) {
            Some(i) => Err(Error::Config(format!("there is no image {i}, only {}", self.len()))),
            None => Ok(()),
        }
    }
}

/// The settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Pixels, hidden layers, classes.
    pub sizes: Vec<usize>,
    /// Images in a batch.
    pub batch: usize,
    /// How often all images are seen.
    pub epochs: usize,
    /// The fraction of hidden units that is left out in each step.
    pub dropout: f64,
    /// How the parameters move.
    pub rule: Adam,
    /// Where the random numbers start.
    pub seed: u64,
}

impl Default for Settings {
    /// Those of the Keras example that this course follows.
    fn default() -> Self {
        Self {
            sizes: vec![784, 128, 10],
            batch: 32,
            epochs: 3,
            dropout: 0.2,
            rule: Adam::default(),
            seed: 0,
        }
    }
}

impl Settings {
    /// Fails unless a network can be trained with them.
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::EmptyBatch`].
    pub fn check(&self) -> Result<()> {
        crate::mlp::check_sizes(&self.sizes)?;
        Dropout::new(self.dropout)?;
        if self.batch == 0 {
            return Err(Error::EmptyBatch);
        }
        if !(self.rule.lr > 0.0 && self.rule.lr.is_finite()) {
            return Err(Error::Config(format!(
                "a learning rate of {} trains nothing; give a positive number, such as 0.001",
                self.rule.lr
            )));
        }
        Ok(())
    }
}

/// A batch whose loss is above this trains nothing any more: a thousand times the loss of a model of ten
/// classes that has no idea.
const EXPLODED: f64 = 2303.0;

/// Whether a loss can't be trained on.
pub fn exploded(loss: f64) -> bool {
    loss.is_nan() || loss > EXPLODED
}

/// The key of the random numbers of one step: epoch and step are counted from 1.
pub fn step_key(seed: u64, epoch: usize, step: usize) -> u64 {
    key(&[seed, epoch as u64, step as u64])
}

/// Something that can be trained: the readable network, and the fast ones.
pub trait Learner {
    /// Sees the images of `data` once, in this order, in batches of `batch`; the last one may be shorter.
    /// Returns the mean loss of an image. `epoch` counts from 1.
    ///
    /// # Errors
    /// [`Error::Diverged`], and what [`Examples::check`] finds.
    fn epoch(&mut self, data: &Examples, order: &[usize], epoch: usize) -> Result<f64>;

    /// The trained model.
    ///
    /// # Errors
    /// None that a user could cause: the parameters fit the sizes.
    fn model(&self) -> Result<Mlp<f32>>;
}

/// The readable network with the paper's Adam.
pub struct Textbook {
    model: Mlp<f32>,
    optimizer: Adaptive<f32>,
    settings: Settings,
    dropout: Dropout,
    /// Whether each step computes the gradient with respect to the images, which is never used.
    input_gradient: bool,
}

impl Textbook {
    /// A network with its first weights.
    ///
    /// # Errors
    /// As [`Settings::check`].
    pub fn new(settings: Settings, input_gradient: bool) -> Result<Self> {
        settings.check()?;
        let model = Mlp::new(&settings.sizes, settings.seed)?;
        let optimizer = Adaptive::new(settings.rule, &model);
        let dropout = Dropout::new(settings.dropout)?;
        Ok(Self { model, optimizer, settings, dropout, input_gradient })
    }
}

/// One step: forward, backward, update. Returns the batch's mean loss.
///
/// # Errors
/// What [`Mlp::forward`] and [`loss_and_gradient`] find.
// ANCHOR: step
pub fn step(
    model: &mut Mlp<f32>,
    optimizer: &mut dyn Optimizer<f32>,
    (x, labels): (&[f32], &[u8]),
    noise: Option<Noise>,
    input_gradient: bool,
) -> Result<f64> {
    let pass = model.forward(x, noise)?;
    let classes = model.classes();
    let (loss, dscores) = loss_and_gradient(&pass.scores, labels, classes)?;
    let gradient = model.backward(&pass, &dscores, input_gradient)?;
    optimizer.update(model, &gradient);
    Ok(loss)
}
// ANCHOR_END: step

impl Learner for Textbook {
    fn epoch(&mut self, data: &Examples, order: &[usize], epoch: usize) -> Result<f64> {
        data.check(self.settings.sizes[0], self.model.classes())?;
        data.check_order(order)?;
        let mut sum = 0.0;
        for (at, batch) in order.chunks(self.settings.batch).enumerate() {
            let (x, labels) = data.batch(batch);
            let noise = (self.dropout, step_key(self.settings.seed, epoch, at + 1));
            let (model, optimizer) = (&mut self.model, &mut self.optimizer);
            let loss = step(model, optimizer, (&x, &labels), Some(noise), self.input_gradient)?;
            if exploded(loss) {
                return Err(Error::Diverged { epoch, step: at + 1, lr: optimizer.lr(), loss });
            }
            sum += loss * batch.len() as f64;
        }
        Ok(sum / order.len() as f64)
    }

    fn model(&self) -> Result<Mlp<f32>> {
        Ok(self.model.clone())
    }
}

/// What an epoch has reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// From 1.
    pub epoch: usize,
    /// Seconds of training, without the test.
    pub seconds: f64,
    /// The mean loss of an image during the epoch.
    pub loss: f64,
    /// The accuracy on the test images.
    pub accuracy: f64,
}

/// Trains for the settings' epochs and tests after each; `watch` is told.
///
/// # Errors
/// As [`Learner::epoch`] and [`test`](fn@test).
pub fn fit(
    learner: &mut dyn Learner,
    (train, tested): (&Examples, &Examples),
    settings: &Settings,
    mut watch: impl FnMut(&Epoch),
) -> Result<Vec<Epoch>> {
    let mut history = Vec::new();
    for epoch in 1..=settings.epochs {
        let start = Instant::now();
        let order = order(settings.seed, epoch, train.len());
        let loss = learner.epoch(train, &order, epoch)?;
        let seconds = start.elapsed().as_secs_f64();
        let accuracy = test(&learner.model()?, tested)?;
        history.push(Epoch { epoch, seconds, loss, accuracy });
        watch(&history[epoch - 1]);
    }
    Ok(history)
}

/// Images that are tested at once.
const TEST_BATCH: usize = 1000;

/// The accuracy of the model on these images, on all cores.
///
/// # Errors
/// As [`Examples::check`].
pub fn test(model: &Mlp<f32>, data: &Examples) -> Result<f64> {
    let classes = model.classes();
    data.check(model.layers.first().map_or(0, |layer| layer.inputs), classes)?;
    let mut right = 0.0;
    let labels = data.labels.chunks(TEST_BATCH);
    for (pixels, labels) in data.pixels.chunks(TEST_BATCH * data.width).zip(labels) {
        let mut x = pixels.to_vec();
        for (at, layer) in model.layers.iter().enumerate() {
            let mut y = vec![0.0; labels.len() * layer.outputs];
            let last = at + 1 == model.layers.len();
            let bias = &layer.bias[..];
            let epilogue = if last { Epilogue::Bias(bias) } else { Epilogue::BiasRelu(bias) };
            let options = Options { epilogue, threads: Threads::All, ..Options::default() };
            let c = MatMut::new(&mut y, labels.len(), layer.outputs)?;
            let a = MatRef::new(&x, labels.len(), layer.inputs)?;
            sgemm(c, a, MatRef::new(&layer.weights, layer.inputs, layer.outputs)?, options)?;
            x = y;
        }
        right += crate::softmax::accuracy(&x, labels, classes)? * labels.len() as f64;
    }
    Ok(right / data.len() as f64)
}
