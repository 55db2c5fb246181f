//! A multi-layer perceptron: dense layers with `ReLU` and dropout between them. The readable version.

use crate::{
    Error, Result,
    activation::{relu, relu_backward},
    dense::{Dense, Derivatives},
    dropout::Dropout,
    error::count,
    init,
    random::{SplitMix64, key},
    real::Real,
};

/// The layers, from the input to the scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp<T> {
    /// Each one's outputs are the next one's inputs.
    pub layers: Vec<Dense<T>>,
}

/// What the forward pass leaves for the backward pass.
#[derive(Clone, Debug)]
// ANCHOR: pass
pub struct Pass<T> {
    /// The input of each layer.
    pub inputs: Vec<Vec<T>>,
    /// What each hidden layer's outputs were multiplied with, with dropout.
    pub masks: Vec<Vec<T>>,
    /// The last layer's output: a score for each class.
    pub scores: Vec<T>,
}
// ANCHOR_END: pass

/// The derivatives of the loss with respect to all parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient<T> {
    /// In the order of the layers.
    pub layers: Vec<Derivatives<T>>,
    /// With respect to the first layer's input, if it was asked for.
    pub input: Option<Vec<T>>,
}

/// Which units are left out: a rate, and a key that differs in each step.
pub type Noise = (Dropout, u64);

impl<T: Real> Mlp<T> {
    /// A network with He's initialisation: `sizes` are the input, the hidden layers and the classes, such as
    /// `[784, 128, 10]`.
    ///
    /// # Errors
    /// [`Error::Config`] with fewer than two sizes, or a size of 0.
    pub fn new(sizes: &[usize], seed: u64) -> Result<Self> {
        let mut random = SplitMix64::new(seed);
        check_sizes(sizes)?;
        let layers = sizes.windows(2).map(|pair| init::he(pair[0], pair[1], &mut random));
        Ok(Self { layers: layers.collect::<Result<_>>()? })
    }

    /// A network whose weights are all zero: right for a single layer, hopeless for more, for then the
    /// hidden units stay zero, and so do all derivatives but the last bias'.
    ///
    /// # Errors
    /// As [`Mlp::new`].
    pub fn zeros(sizes: &[usize]) -> Result<Self> {
        check_sizes(sizes)?;
        let layers = sizes.windows(2).map(|pair| Dense::zeros(pair[0], pair[1]));
        Ok(Self { layers: layers.collect::<Result<_>>()? })
    }

    /// How many scores an image gets.
    pub fn classes(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }

    /// The scores of a batch, one row an image, and what the backward pass needs. With `noise`, units of the
    /// hidden layers are left out.
    ///
    /// # Errors
    /// [`Error::EmptyBatch`], [`Error::Rows`].
    // ANCHOR: forward
    pub fn forward(&self, x: &[T], noise: Option<Noise>) -> Result<Pass<T>> {
        let mut x = x.to_vec();
        let (mut inputs, mut masks) = (Vec::new(), Vec::new());
        for (at, layer) in self.layers.iter().enumerate() {
            let mut y = layer.forward(&x)?;
            inputs.push(x);
            if at + 1 < self.layers.len() {
                relu(&mut y);
                if let Some((dropout, step)) = noise {
                    let mask = dropout.mask(key(&[step, at as u64]), y.len());
                    y.iter_mut().zip(&mask).for_each(|(y, m)| *y = *y * *m);
                    masks.push(mask);
                }
            }
            x = y;
        }
        Ok(Pass { inputs, masks, scores: x })
    }
    // ANCHOR_END: forward

    /// The gradient, from `dscores`, that with respect to the scores. The one with respect to the first layer's input
    /// takes a product more, and no training needs it.
    ///
    /// # Errors
    /// [`Error::Count`] when `dscores` is not as long as the pass's scores.
    // ANCHOR: backward
    pub fn backward(
        &self,
        pass: &Pass<T>,
        dscores: &[T],
        input_gradient: bool,
    ) -> Result<Gradient<T>> {
        count("derivatives of the scores", dscores.len(), pass.scores.len())?;
        let (mut layers, mut dy) = (Vec::new(), dscores.to_vec());
        for (at, layer) in self.layers.iter().enumerate().rev() {
            layers.push(layer.backward_weights(&pass.inputs[at], &dy)?);
            if at == 0 && !input_gradient {
                break; // the derivatives of the images are not used
            }
            dy = layer.backward_input(&dy)?;
            if at == 0 {
                break;
            }
            if let Some(mask) = pass.masks.get(at - 1) {
                dy.iter_mut().zip(mask).for_each(|(dy, m)| *dy = *dy * *m);
            }
            relu_backward(&pass.inputs[at], &mut dy);
        }
        layers.reverse();
        Ok(Gradient { layers, input: input_gradient.then_some(dy) })
    }
    // ANCHOR_END: backward

    /// Weights and bias of each layer, in their order.
    pub fn tensors(&self) -> impl Iterator<Item = &[T]> {
        self.layers.iter().flat_map(|layer| [&layer.weights[..], &layer.bias[..]])
    }

    /// [`Mlp::tensors`], to be changed.
    pub fn tensors_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        self.layers.iter_mut().flat_map(|layer| [&mut layer.weights[..], &mut layer.bias[..]])
    }

    /// All parameters, one after the other.
    pub fn parameters(&self) -> Vec<T> {
        self.tensors().flatten().copied().collect()
    }

    /// Puts back what [`Mlp::parameters`] gave.
    ///
    /// # Errors
    /// [`Error::Count`] for another number of parameters.
    pub fn set_parameters(&mut self, values: &[T]) -> Result<()> {
        count("parameters", values.len(), self.tensors().map(<[T]>::len).sum())?;
        let mut values = values.iter();
        for tensor in self.tensors_mut() {
            tensor.iter_mut().zip(&mut values).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }
}

impl<T: Real> Gradient<T> {
    /// In the order of [`Mlp::tensors`].
    pub fn tensors(&self) -> impl Iterator<Item = &[T]> {
        self.layers.iter().flat_map(|layer| [&layer.weights[..], &layer.bias[..]])
    }

    /// All of them, one after the other.
    pub fn flat(&self) -> Vec<T> {
        self.tensors().flatten().copied().collect()
    }
}

/// Fails unless there are an input and an output, and none is empty.
pub(crate) fn check_sizes(sizes: &[usize]) -> Result<()> {
    if sizes.len() < 2 || sizes.contains(&0) {
        return Err(Error::Config(format!(
            "{sizes:?} is not a network; give the sizes of its input, its hidden layers and its output, such as 784-128-10"
        )));
    }
    Ok(())
}
