//! All gradients of a model in one row of values, in the order in which the model is visited: one long message instead of
//! many short ones. Chapter 7 sends it. Or where each of them lies: a library that sums on the GPUs takes them there.

use crate::{
    Error, Result,
    learning::engine::{Engine, Place},
    models::model::Network,
};
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

/// Takes the values back, from the row's front: those of gradients too, if they are in it.
struct Unpack<'a, D: Storage<f32>> {
    grads: Option<&'a mut Gradients<f32, D>>,
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
        if options.do_gradient_update && self.grads.is_none() {
            return Ok(None);
        }
        let (mine, rest) = self.row.split_at(p.shape().num_elements());
        self.row = rest;
        match &mut self.grads {
            Some(grads) if options.do_gradient_update => D::set_gradient(grads, p, mine)?,
            _ => p.copy_from(mine),
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
    M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut Pack { grads, row } })
        .map_err(Error::device)?;
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
    put(model, Unpack { grads: Some(grads), row })
}

fn put<M: Network<D>, D: Engine>(model: &mut M, mut values: Unpack<D>) -> Result<()> {
    M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut values }).map_err(Error::device)?;
    Ok(())
}

/// Notes where each gradient lies; of what is only kept it appends the value to a row.
struct Places<'a, D: Storage<f32>> {
    grads: &'a mut Gradients<f32, D>,
    found: Vec<Place>,
    kept: &'a mut Vec<f32>,
}

impl<D: Engine> TensorVisitor<f32, D> for Places<'_, D> {
    type Viewer = ViewTensorRef;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, D>,
        p: &Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        let numbers = p.shape().num_elements();
        if options.do_gradient_update {
            self.found.push((D::address(self.grads.get_or_alloc_mut(p)?), numbers));
        } else {
            let from = self.kept.len();
            self.kept.resize(from + numbers, 0.0);
            p.copy_into(&mut self.kept[from..]);
        }
        Ok(None)
    }
}

/// Where a model's gradients lie in the device's memory. What the model keeps besides its parameters is appended to `kept`.
///
/// # Errors
/// The device's own.
pub fn places<M: Network<D>, D: Engine>(
    model: &M,
    grads: &mut Gradients<f32, D>,
    kept: &mut Vec<f32>,
) -> Result<Vec<Place>> {
    let mut visitor = Places { grads, found: Vec::new(), kept };
    M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut visitor }).map_err(Error::device)?;
    Ok(visitor.found)
}

/// Puts back what [`places`] has appended, or what has become of it.
///
/// # Errors
/// The device's own.
pub fn keep<M: Network<D>, D: Engine>(model: &mut M, kept: &[f32]) -> Result<()> {
    put(model, Unpack { grads: None, row: kept })
}

/// Zero for each gradient that is finite, and NaN for each that is not: one number, which stays on the device.
struct Finite<'a, D: Storage<f32>> {
    grads: &'a Gradients<f32, D>,
    sum: Option<Tensor<Rank0, f32, D>>,
}

impl<D: Device<f32>> TensorVisitor<f32, D> for Finite<'_, D> {
    type Viewer = ViewTensorRef;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, D>,
        p: &Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        if options.do_gradient_update {
            let flat = self.grads.get(p).try_reshape_like(&(p.shape().num_elements(),))?;
            let zero = flat.try_mul(0.0)?.try_sum::<Rank0, _>()?;
            self.sum = Some(match self.sum.take() {
                Some(sum) => sum.try_add(zero)?,
                None => zero,
            });
        }
        Ok(None)
    }
}

/// Whether all gradients are finite. Only one number leaves the device.
///
/// # Errors
/// The device's own.
pub fn finite<M: Network<D>, D: Engine>(model: &M, grads: &Gradients<f32, D>) -> Result<bool> {
    let mut visitor = Finite { grads, sum: None };
    M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut visitor }).map_err(Error::device)?;
    Ok(visitor.sum.is_none_or(|sum| sum.as_vec().iter().all(|zero| zero.is_finite())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{
        model::{build, parameters},
        resnet::Resnet,
    };

    #[test]
    fn a_row_holds_gradients_and_kept_means_and_goes_back() {
        let dev = Cpu::seed_from_u64(1);
        let mut model: Resnet<f32, Cpu> = build(&dev).unwrap();
        let numbers = parameters(&model).unwrap();
        let mut grads = model.alloc_grads();
        let mut row = vec![7.0];
        pack(&model, &grads, &mut row).unwrap();
        assert_eq!(row.len(), 1 + numbers.len());
        // Gradients are zero, kept means 0 and variances 1.
        let kept = numbers.len() - model.num_trainable_params();
        let sum: f32 = row[1..].iter().sum();
        assert!((sum - 0.5 * kept as f32).abs() < 1e-6, "{sum}");

        let new: Vec<f32> = (0..numbers.len()).map(|i| i as f32).collect();
        unpack(&mut model, &mut grads, &new).unwrap();
        let mut again = Vec::new();
        pack(&model, &grads, &mut again).unwrap();
        assert_eq!(again, new);
        let after = parameters(&model).unwrap();
        let changed =
            numbers.iter().zip(&after).filter(|(old, new)| (*old - *new).abs() > 0.0).count();
        assert_eq!(changed, kept, "only what is kept is written into the model");
    }

    #[test]
    fn places_are_where_the_gradients_lie_and_the_rest_goes_back() {
        let dev = Cpu::seed_from_u64(1);
        let mut model: Resnet<f32, Cpu> = build(&dev).unwrap();
        let mut grads = model.alloc_grads();
        let numbers = parameters(&model).unwrap().len();
        let new: Vec<f32> = (0..numbers).map(|i| i as f32).collect();
        unpack(&mut model, &mut grads, &new).unwrap();
        let mut row = vec![];
        let places = places(&model, &mut grads, &mut row).unwrap();
        let learned: usize = places.iter().map(|(_, count)| count).sum();
        assert_eq!((learned, learned + row.len()), (model.num_trainable_params(), numbers));
        for (address, count) in &places {
            // SAFETY: the gradients live, and the CPU's memory is the host's.
            let there = unsafe { std::slice::from_raw_parts(*address as *const f32, *count) };
            let from = there[0] as usize;
            assert_eq!(there, &new[from..from + count]);
        }
        for value in &mut row {
            *value += 1.0;
        }
        keep(&mut model, &row).unwrap();
        let mut again = vec![];
        super::places(&model, &mut grads, &mut again).unwrap();
        assert_eq!(again, row);
    }

    #[test]
    fn one_number_that_is_not_finite_is_found() {
        let dev = Cpu::seed_from_u64(1);
        let mut model: Resnet<f32, Cpu> = build(&dev).unwrap();
        let mut grads = model.alloc_grads();
        let mut row = Vec::new();
        pack(&model, &grads, &mut row).unwrap();
        row.fill(f32::MAX); // finite, though their sum is not
        unpack(&mut model, &mut grads, &row).unwrap();
        assert!(finite(&model, &grads).unwrap());
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            row[7] = bad;
            unpack(&mut model, &mut grads, &row).unwrap();
            assert!(!finite(&model, &grads).unwrap(), "{bad}");
        }
    }
}
