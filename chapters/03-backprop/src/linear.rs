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
        let loss = step(&mut model, &mut descent, (&x, &labels), None, false)?;
        if exploded(loss) {
            return Err(Error::Diverged { epoch, step: at, lr: rule.lr, loss });
        }
        watch(at, loss);
    }
    // ANCHOR_END: train
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{test, tests::digits};

    #[test]
    fn one_layer_reads_most_drawn_digits() {
        let (train_on, tested) = digits(2000, 500);
        let model =
            train(&Regression { steps: 300, ..Regression::default() }, &train_on, 10).unwrap();
        let accuracy = test(&model, &tested).unwrap();
        assert!(accuracy > 0.75, "{accuracy}");
    }

    #[test]
    fn the_loss_begins_without_an_idea_and_falls() {
        let (train_on, _) = digits(1000, 1);
        let mut losses = Vec::new();
        let rule = Regression { steps: 100, ..Regression::default() };
        watched(&rule, &train_on, 10, |at, loss| losses.push((at, loss))).unwrap();
        assert_eq!((losses.len(), losses[0].0, losses[99].0), (100, 1, 100));
        assert!((losses[0].1 - 10f64.ln()).abs() < 1e-6, "{}", losses[0].1);
        assert!(losses[99].1 < 1.2, "{}", losses[99].1);
    }

    #[test]
    fn a_batch_may_be_larger_than_the_data_but_not_empty() {
        let (few, _) = digits(30, 1);
        let rule = Regression { batch: 100, steps: 3, ..Regression::default() };
        assert!(train(&rule, &few, 10).is_ok());
        let none = Regression { batch: 0, ..rule };
        assert!(matches!(train(&none, &few, 10), Err(Error::EmptyBatch)));
        let wild = Regression { lr: 1e38, ..rule };
        assert!(matches!(train(&wild, &few, 10), Err(Error::Diverged { .. })));
    }
}
