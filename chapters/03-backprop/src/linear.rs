//! Softmax regression: one dense layer, the second article's TensorFlow example. It takes 1,000 steps of plain
//! gradient descent with a learning rate of 0.5, each on 100 images, from weights of zero.

use crate::{
    Error, Result,
    mlp::Mlp,
    order::order,
    sgd::{Descent, Sgd},
    train::{Examples, exploded, step},
};

/// What the article chose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regression {
    /// Images in a batch.
    pub batch: usize,
    /// How many batches.
    pub steps: usize,
    /// The learning rate.
    pub lr: f64,
    /// Where the order of the images comes from.
    pub seed: u64,
}

impl Default for Regression {
    fn default() -> Self {
        Self { batch: 100, steps: 1000, lr: 0.5, seed: 0 }
    }
}

/// Trains on `data` for `classes` classes; when all images have been seen, it goes on in a different order.
///
/// # Errors
/// [`Error::EmptyBatch`], [`Error::Diverged`], and what [`Examples::check`] finds.
pub fn train(rule: &Regression, data: &Examples, classes: usize) -> Result<Mlp<f32>> {
    watched(rule, data, classes, |_, _| {})
}

/// [`train`]; `watch` is told the number of each step, from 1, and the loss of its batch before it moved.
///
/// # Errors
/// As [`train`].
pub fn watched(
    rule: &Regression,
    data: &Examples,
    classes: usize,
    mut watch: impl FnMut(usize, f64),
) -> Result<Mlp<f32>> {
    data.check(data.width, classes)?;
    // ANCHOR: train
    let mut model = Mlp::zeros(&[data.width, classes])?;
    let plain = Sgd { lr: rule.lr, momentum: 0.0 };
    let mut descent = Descent::new(plain, &model);
    let (mut epoch, mut unseen) = (0, Vec::new());
    for at in 1..=rule.steps {
        if unseen.len() < rule.batch {
            epoch += 1;
            unseen.extend(order(rule.seed, epoch, data.len()));
        }
        let size = rule.batch.min(unseen.len());
        let batch: Vec<usize> = unseen.drain(..size).collect();
        let (x, labels) = data.batch(&batch);
        // None: no dropout. false: no derivatives of the images.
        let loss = step(&mut model, &mut descent, (&x, &labels), None, false)?;
        if exploded(loss) {
            return Err(Error::Diverged { epoch, step: at, lr: rule.lr, loss });
        }
        watch(at, loss);
    }
    // ANCHOR_END: train
    Ok(model)
}
