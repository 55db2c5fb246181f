//! The model: the article's Keras example on dfdx.

use crate::{Error, Result, engine::Engine};
use dfdx::{
    nn::modules::{DropoutOneIn, Linear, ReLU},
    prelude::*,
    tensor_ops::Device,
};

// ANCHOR: model
/// 784 pixels, 128 hidden units, 10 digits: a tuple is a sequence of layers.
pub type Mlp<D> = (
    (Linear<784, 128, f32, D>, ReLU), // Dense(128, activation="relu")
    DropoutOneIn<5>,                  // Dropout(0.2)
    Linear<128, 10, f32, D>,          // Dense(10); the softmax is in the loss
);
// ANCHOR_END: model

/// Pixels of a picture.
pub const PIXELS: usize = 784;
/// Classes.
pub const CLASSES: usize = 10;
/// Numbers that the model learns: 784 · 128 + 128 + 128 · 10 + 10.
pub const PARAMETERS: usize = 101_770;
/// Random numbers that one training step takes from the device: one, the seed of the dropout mask.
pub const DRAWS_PER_STEP: u64 = 1;

/// Names of the parameters in `model.safetensors`, and their shapes, in the order in which the model is
/// visited. The digits are the places in the tuple [`Mlp`].
pub const TENSORS: [(&str, &[usize]); 4] = [
    ("0.0.weight", &[128, PIXELS]),
    ("0.0.bias", &[128]),
    ("2.weight", &[CLASSES, 128]),
    ("2.bias", &[CLASSES]),
];

/// Pictures on a device: (batch, 784), each pixel from 0 to 1.
pub type Images<D, T = NoneTape> = Tensor<(usize, Const<PIXELS>), f32, D, T>;
/// One score for each class: (batch, 10). The highest is the answer; see [`crate::loss::softmax`].
pub type Logits<D, T = NoneTape> = Tensor<(usize, Const<CLASSES>), f32, D, T>;
/// The right answers as probabilities: (batch, 10), a one and nine zeros in each row.
pub type Targets<D> = Tensor<(usize, Const<CLASSES>), f32, D>;

/// A model with random weights, uniform in ±1/√(inputs), drawn from the device's seed.
///
/// # Errors
/// [`Error::Device`] if there is no memory for it.
pub fn build<D: Engine>(dev: &D) -> Result<Mlp<D>> {
    Mlp::<D>::try_build(dev).map_err(Error::device)
}

/// Reads the parameters of a model, one tensor after the other.
struct Read(Vec<f32>);

impl<D: Device<f32>> TensorVisitor<f32, D> for Read {
    type Viewer = ViewTensorRef;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        _: TensorOptions<S, f32, D>,
        tensor: &Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        self.0.extend(tensor.as_vec());
        Ok(None)
    }
}

/// Writes the parameters of a model, one tensor after the other.
struct Write<'v>(&'v [f32]);

impl<D: Device<f32>> TensorVisitor<f32, D> for Write<'_> {
    type Viewer = ViewTensorMut;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        _: TensorOptions<S, f32, D>,
        tensor: &mut Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        let (mine, rest) = self.0.split_at(tensor.shape().num_elements());
        tensor.copy_from(mine);
        self.0 = rest;
        Ok(None)
    }
}

/// All parameters of a model, in the order in which it is visited.
///
/// # Errors
/// [`Error::Device`].
pub fn parameters<D: Device<f32>, M: TensorCollection<f32, D>>(model: &M) -> Result<Vec<f32>> {
    let mut read = Read(Vec::new());
    M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut read }).map_err(Error::device)?;
    Ok(read.0)
}

/// Puts `values`, in the order of [`parameters`], into a model.
///
/// # Errors
/// [`Error::Config`] if the model has another number of parameters, [`Error::Device`].
pub fn set_parameters<D: Device<f32>, M: TensorCollection<f32, D>>(
    model: &mut M,
    values: &[f32],
) -> Result<()> {
    let wanted = model.num_trainable_params();
    if values.len() != wanted {
        return Err(Error::Config(format!(
            "the model has {wanted} parameters, and {} were given",
            values.len()
        )));
    }
    M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut Write(values) })
        .map_err(Error::device)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_parameters_it_says() {
        let model = build(&Cpu::seed_from_u64(1)).unwrap();
        assert_eq!(model.num_trainable_params(), PARAMETERS);
        let counted: usize = TENSORS.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        assert_eq!(counted, PARAMETERS);
    }

    #[test]
    fn parameters_go_in_as_they_came_out() {
        let one = build(&Cpu::seed_from_u64(1)).unwrap();
        let mut two = build(&Cpu::seed_from_u64(2)).unwrap();
        let values = parameters(&one).unwrap();
        assert_ne!(values, parameters(&two).unwrap());
        set_parameters(&mut two, &values).unwrap();
        assert_eq!(values, parameters(&two).unwrap());
        assert_eq!(one.2.bias.as_vec(), two.2.bias.as_vec());
    }

    #[test]
    fn another_number_of_parameters_is_refused() {
        let mut model = build(&Cpu::seed_from_u64(1)).unwrap();
        let error = set_parameters(&mut model, &[0.0; 3]).unwrap_err().to_string();
        assert!(error.contains("101770"), "{error}");
    }

    #[test]
    fn starts_with_small_weights_around_zero() {
        let values = parameters(&build(&Cpu::seed_from_u64(3)).unwrap()).unwrap();
        let first = &values[..784 * 128];
        let mean = first.iter().sum::<f32>() / first.len() as f32;
        assert!(mean.abs() < 1e-3, "{mean}");
        assert!(first.iter().all(|w| w.abs() <= 1.0 / 28.0));
    }
}
