//! A dense layer: forward one product, backward two.
//!
//! The rows of X are the images of a batch. L is the loss, a number that depends on Y. Each dA below stands
//! for the derivatives of L with respect to the elements of A, in a matrix of A's own shape.

use crate::{
    Error, Result,
    error::{count, rows},
    real::Real,
};
use matmul::MatRef;

/// Y = X·W + b: each output is a weighted sum of all inputs, plus a bias.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense<T> {
    /// Columns of X.
    pub inputs: usize,
    /// Columns of Y.
    pub outputs: usize,
    /// W, inputs×outputs, row after row.
    pub weights: Vec<T>,
    /// b, a number for each output.
    pub bias: Vec<T>,
}

/// The derivatives of the loss with respect to a layer's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivatives<T> {
    /// dW, inputs×outputs.
    pub weights: Vec<T>,
    /// db, a number for each output.
    pub bias: Vec<T>,
}

impl<T: Real> Dense<T> {
    /// A layer of zeros.
    ///
    /// # Errors
    /// [`Error::Config`] without inputs or outputs.
    pub fn zeros(inputs: usize, outputs: usize) -> Result<Self> {
        if inputs == 0 || outputs == 0 {
            return Err(Error::Config(format!(
                "a layer of {inputs} inputs and {outputs} outputs can't be trained; give it at least one of each"
            )));
        }
        let (weights, bias) = (vec![T::ZERO; inputs * outputs], vec![T::ZERO; outputs]);
        Ok(Self { inputs, outputs, weights, bias })
    }

    fn w(&self) -> Result<MatRef<'_, T>> {
        Ok(MatRef::new(&self.weights, self.inputs, self.outputs)?)
    }

    /// Y = X·W + b, where X is batch×inputs, row after row.
    ///
    /// # Errors
    /// [`Error::EmptyBatch`], [`Error::Rows`].
    // ANCHOR: forward
    pub fn forward(&self, x: &[T]) -> Result<Vec<T>> {
        let batch = rows("the layer's input", x.len(), self.inputs)?;
        let mut y = vec![T::ZERO; batch * self.outputs];
        T::product(&mut y, MatRef::new(x, batch, self.inputs)?, self.w()?)?;
        for row in y.chunks_exact_mut(self.outputs) {
            for (y, b) in row.iter_mut().zip(&self.bias) {
                *y += *b;
            }
        }
        Ok(y)
    }
    // ANCHOR_END: forward

    /// dW = Xᵀ·dY, and db, the sums of dY's columns.
    ///
    /// # Errors
    /// [`Error::EmptyBatch`], [`Error::Rows`], [`Error::Count`] when X and dY have different numbers of rows.
    // ANCHOR: backward_weights
    pub fn backward_weights(&self, x: &[T], dy: &[T]) -> Result<Derivatives<T>> {
        let batch = rows("the output's gradient", dy.len(), self.outputs)?;
        count("values in the layer's input", x.len(), batch * self.inputs)?;
        let mut weights = vec![T::ZERO; self.weights.len()];
        let x = MatRef::new(x, batch, self.inputs)?;
        let dy_view = MatRef::new(dy, batch, self.outputs)?;
        T::product(&mut weights, x.t(), dy_view)?;
        let mut bias = vec![T::ZERO; self.outputs];
        for row in dy.chunks_exact(self.outputs) {
            for (sum, dy) in bias.iter_mut().zip(row) {
                *sum += *dy;
            }
        }
        Ok(Derivatives { weights, bias })
    }
    // ANCHOR_END: backward_weights

    /// dX = dY·Wᵀ, for the layer before.
    ///
    /// # Errors
    /// [`Error::EmptyBatch`], [`Error::Rows`].
    // ANCHOR: backward_input
    pub fn backward_input(&self, dy: &[T]) -> Result<Vec<T>> {
        let batch = rows("the output's gradient", dy.len(), self.outputs)?;
        let mut dx = vec![T::ZERO; batch * self.inputs];
        let dy = MatRef::new(dy, batch, self.outputs)?;
        T::product(&mut dx, dy, self.w()?.t())?;
        Ok(dx)
    }
    // ANCHOR_END: backward_input
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, random::SplitMix64};

    fn numbers(len: usize, random: &mut SplitMix64) -> Vec<f64> {
        (0..len).map(|_| random.normal()).collect()
    }

    #[test]
    fn one_layer_by_hand() {
        let layer = Dense {
            inputs: 2,
            outputs: 2,
            weights: vec![1.0, 2.0, 3.0, 4.0],
            bias: vec![0.5, -1.0],
        };
        assert_eq!(layer.forward(&[1.0, 10.0, 0.0, 1.0]).unwrap(), [31.5, 41.0, 3.5, 3.0]);
        let dy = [1.0, 0.0, 2.0, -1.0];
        assert_eq!(layer.backward_input(&dy).unwrap(), [1.0, 3.0, 0.0, 2.0]);
        let gradient = layer.backward_weights(&[1.0, 10.0, 0.0, 1.0], &dy).unwrap();
        assert_eq!(gradient.weights, [1.0, 0.0, 12.0, -1.0]);
        assert_eq!(gradient.bias, [3.0, -1.0]);
    }

    #[test]
    fn derivatives_are_those_of_finite_differences() {
        let mut random = SplitMix64::new(3);
        for (batch, inputs, outputs) in [(1, 1, 1), (1, 5, 3), (7, 3, 11), (4, 17, 2)] {
            let mut layer = Dense::zeros(inputs, outputs).unwrap();
            layer.weights = numbers(inputs * outputs, &mut random);
            layer.bias = numbers(outputs, &mut random);
            let x = numbers(batch * inputs, &mut random);
            // A loss whose derivative with respect to each output is known: a weighted sum.
            let dy = numbers(batch * outputs, &mut random);
            let loss = |layer: &Dense<f64>, x: &[f64]| {
                let y = layer.forward(x).unwrap();
                y.iter().zip(&dy).map(|(y, dy)| y * dy).sum::<f64>()
            };
            let gradient = layer.backward_weights(&x, &dy).unwrap();
            let weights = check::differences(&layer.weights, |w| {
                loss(&Dense { weights: w.to_vec(), ..layer.clone() }, &x)
            });
            assert!(check::error(&gradient.weights, &weights) < 1e-8);
            let bias = check::differences(&layer.bias, |b| {
                loss(&Dense { bias: b.to_vec(), ..layer.clone() }, &x)
            });
            assert!(check::error(&gradient.bias, &bias) < 1e-8);
            let inputs = check::differences(&x, |x| loss(&layer, x));
            assert!(check::error(&layer.backward_input(&dy).unwrap(), &inputs) < 1e-8);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let layer = Dense::<f32>::zeros(3, 2).unwrap();
        assert!(matches!(layer.forward(&[]), Err(Error::EmptyBatch)));
        assert!(matches!(layer.forward(&[0.0; 4]), Err(Error::Rows { .. })));
        assert!(matches!(layer.backward_input(&[]), Err(Error::EmptyBatch)));
        assert!(matches!(layer.backward_weights(&[0.0; 6], &[0.0; 2]), Err(Error::Count { .. })));
        assert!(Dense::<f32>::zeros(0, 2).is_err() && Dense::<f32>::zeros(2, 0).is_err());
    }
}
