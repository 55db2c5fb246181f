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
