//! All gradients of a model in one row of values, in the order in which the model is visited: one long message instead of
//! many short ones. Chapter 7 sends it.

use crate::{Error, Result, learning::engine::Engine, models::model::Network};
use dfdx::{prelude::*, tensor_ops::Device};

/// Appends to a row of values: of what is trained the gradient, of what is
/// only kept (a batch normalisation's means) the value.
struct Pack<'a, D: Storage<f32>> {
    grads: &'a Gradients<f32, D>,
    row: &'a mut Vec<f32>,
}

impl<D: Device<f32>> TensorVisitor<f32, D> for Pack<'_, D> {
    type Viewer = ViewTensorRef;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    // ANCHOR: visit
    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, D>,
        p: &Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        let from = self.row.len();
        self.row.resize(from + p.shape().num_elements(), 0.0);
        let into = &mut self.row[from..];
        if options.do_gradient_update {
            self.grads.get(p).copy_into(into);
        } else {
            p.copy_into(into);
        }
        Ok(None)
    }
    // ANCHOR_END: visit
}

/// Takes the values back, from the row's front.
struct Unpack<'a, D: Storage<f32>> {
    grads: &'a mut Gradients<f32, D>,
    row: &'a [f32],
}

impl<D: Engine> TensorVisitor<f32, D> for Unpack<'_, D> {
    type Viewer = ViewTensorMut;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, D>,
        p: &mut Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        let (mine, rest) = self.row.split_at(p.shape().num_elements());
        self.row = rest;
        if options.do_gradient_update {
            D::set_gradient(self.grads, p, mine)?;
        } else {
            p.copy_from(mine);
        }
        Ok(None)
    }
}

/// Appends a model's gradients, and what it keeps besides its parameters, to `row`.
///
/// # Errors
/// The device's own.
pub fn pack<M: Network<D>, D: Engine>(
    model: &M,
    grads: &Gradients<f32, D>,
    row: &mut Vec<f32>,
) -> Result<()> {
    let mut pack = Pack { grads, row };
    M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut pack }).map_err(Error::device)?;
    Ok(())
}

/// Puts back what [`pack`] took, or what has become of it.
///
/// # Errors
/// The device's own.
pub fn unpack<M: Network<D>, D: Engine>(
    model: &mut M,
    grads: &mut Gradients<f32, D>,
    row: &[f32],
) -> Result<()> {
    let mut unpack = Unpack { grads, row };
    M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut unpack }).map_err(Error::device)?;
    Ok(())
}
