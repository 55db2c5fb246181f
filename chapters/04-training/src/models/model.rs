//! What all models share: images in, scores out, parameters that can be read, written and named.

use crate::{Error, Result, models::norm::Mode};
use dfdx::{prelude::*, tensor_ops::Device};

/// Pixels of an image.
pub const PIXELS: usize = 784;
/// Classes.
pub const CLASSES: usize = 10;

/// Images on a device: (batch, 784), each pixel from 0 to 1.
pub type Images<D, T = NoneTape> = Tensor<(usize, Const<PIXELS>), f32, D, T>;
/// One score for each class: (batch, 10). The highest is the prediction; see [`crate::learning::loss::softmax`].
pub type Logits<D, T = NoneTape> = Tensor<(usize, Const<CLASSES>), f32, D, T>;
/// The labels, one-hot: (batch, 10), a one and nine zeros in each row.
pub type Targets<D> = Tensor<(usize, Const<CLASSES>), f32, D>;

/// What [`Network::learn`] gives: scores, with every operation on the tape.
pub type Learned<D, T> = Result<Logits<D, T>, <D as HasErr>::Err>;

// ANCHOR: network
/// A model that tells the ten digits apart. Every error is the device's own.
#[allow(clippy::missing_errors_doc)]
pub trait Network<D: Device<f32>>: TensorCollection<f32, D, To<f32, D> = Self> {
    /// Random numbers that one training step takes from the device: one for
    /// each layer of dropout, the seed of its mask.
    const DRAWS_PER_STEP: u64;

    /// Scores for training images, with every operation on the tape.
    fn learn<T: Mode<D>>(&mut self, images: Images<D, T>) -> Learned<D, T>;

    /// Scores for images, without a tape and without dropout.
    fn predict(&self, images: Images<D>) -> Result<Logits<D>, D::Err>;

    /// Sets the fraction of units that dropout switches off.
    fn set_dropout(&mut self, _share: f32) {} // most layers have none
}
// ANCHOR_END: network

/// A model with random weights, drawn from the device's seed.
///
/// # Errors
/// [`Error::Device`] if there is no memory for it.
pub fn build<M: Network<D>, D: Device<f32>>(dev: &D) -> Result<M> {
    M::try_build(dev).map_err(Error::device)
}

/// A tensor's name and shape: `0.0.weight`, [128, 784].
pub type Named = (String, Vec<usize>);

/// Which numbers of a model stand in a row, in the order in which its tensors are visited.
enum Row<G> {
    /// Of every tensor its value.
    Values,
    /// Of what is trained the gradient.
    Gradients(G),
    /// Of what is trained the gradient, of what is only kept (a batch normalisation's means) the value.
    Both(G),
}

/// Reads a model, one tensor after the other.
struct Read<'g, D: Storage<f32>> {
    from: Row<&'g Gradients<f32, D>>,
    row: Vec<f32>,
    names: Vec<Named>,
}

impl<D: Device<f32>> TensorVisitor<f32, D> for Read<'_, D> {
    type Viewer = (ViewTensorRef, ViewTensorName);
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    // ANCHOR: visit
    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, D>,
        (p, name): (&Tensor<S, f32, D>, String),
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        self.names.push((name, p.shape().concrete().into()));
        self.row.extend(match (&self.from, options.do_gradient_update) {
            (Row::Gradients(all) | Row::Both(all), true) => all.get(p).as_vec(),
            (Row::Gradients(_), false) => Vec::new(),
            (Row::Values | Row::Both(_), _) => p.as_vec(),
        });
        Ok(None)
    }
    // ANCHOR_END: visit
}

fn read<'g, D: Device<f32>, M: TensorCollection<f32, D>>(
    model: &M,
    from: Row<&'g Gradients<f32, D>>,
) -> Result<Read<'g, D>> {
    let mut read = Read { from, row: Vec::new(), names: Vec::new() };
    M::iter_tensors(&mut RecursiveWalker { m: (model, String::new()), f: &mut read })
        .map_err(Error::device)?;
    Ok(read)
}

/// Takes the numbers back, from the row's front.
struct Write<'a, D: Storage<f32>> {
    /// Gradients are zero before.
    to: Row<&'a mut Gradients<f32, D>>,
    row: &'a [f32],
}

impl<D: Device<f32>> TensorVisitor<f32, D> for Write<'_, D> {
    type Viewer = ViewTensorMut;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, D>,
        p: &mut Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        let trained = options.do_gradient_update;
        if matches!(self.to, Row::Gradients(_)) && !trained {
            return Ok(None);
        }
        let (mine, rest) = self.row.split_at(p.shape().num_elements());
        self.row = rest;
        match &mut self.to {
            Row::Gradients(grads) | Row::Both(grads) if trained => {
                let values = p.device().try_tensor_from_vec(mine.to_vec(), *p.shape())?;
                let zeros = std::mem::replace(*grads, Gradients::leaky());
                **grads = add_gradient(zeros, p, values)?;
            }
            _ => p.copy_from(mine),
        }
        Ok(None)
    }
}

fn write<D: Device<f32>, M: TensorCollection<f32, D>>(
    model: &mut M,
    to: Row<&mut Gradients<f32, D>>,
    row: &[f32],
) -> Result<()> {
    M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut Write { to, row } })
        .map_err(Error::device)?;
    Ok(())
}

/// All values of a model, in the order in which it is visited: what is trained, and what it keeps besides
/// that (the running means of a batch normalisation).
///
/// # Errors
/// [`Error::Device`].
pub fn parameters<D: Device<f32>, M: TensorCollection<f32, D>>(model: &M) -> Result<Vec<f32>> {
    Ok(read(model, Row::Values)?.row)
}

/// Names and shapes of a model's tensors, in the same order.
///
/// # Errors
/// [`Error::Device`].
pub fn tensors<D: Device<f32>, M: TensorCollection<f32, D>>(model: &M) -> Result<Vec<Named>> {
    Ok(read(model, Row::Values)?.names)
}

/// The gradients of a model's parameters in a row, copied to the host in the order of [`parameters`]. Numbers that a
/// model keeps and does not learn have none.
///
/// # Errors
/// [`Error::Device`].
pub fn gradients<D: Device<f32>, M: TensorCollection<f32, D>>(
    model: &M,
    grads: &Gradients<f32, D>,
) -> Result<Vec<f32>> {
    Ok(read(model, Row::Gradients(grads))?.row)
}

/// Gradients that hold `values`, in the order of [`gradients`]. The model stays as it is.
///
/// # Errors
/// [`Error::Device`].
pub fn loaded<D: Device<f32>, M: TensorCollection<f32, D>>(
    model: &mut M,
    values: &[f32],
) -> Result<Gradients<f32, D>> {
    let mut grads = model.try_alloc_grads().map_err(Error::device)?;
    write(model, Row::Gradients(&mut grads), values)?;
    Ok(grads)
}

/// Appends a model's gradients, and what it keeps besides its parameters, to `row`: one long message instead of many short
/// ones, which chapter 7 sends.
///
/// # Errors
/// [`Error::Device`].
pub fn pack<D: Device<f32>, M: TensorCollection<f32, D>>(
    model: &M,
    grads: &Gradients<f32, D>,
    row: &mut Vec<f32>,
) -> Result<()> {
    row.append(&mut read(model, Row::Both(grads))?.row);
    Ok(())
}

/// Puts back what [`pack`] took, or what has become of it.
///
/// # Errors
/// [`Error::Device`].
pub fn unpack<D: Device<f32>, M: TensorCollection<f32, D>>(
    model: &mut M,
    grads: &mut Gradients<f32, D>,
    row: &[f32],
) -> Result<()> {
    *grads = model.try_alloc_grads().map_err(Error::device)?;
    write(model, Row::Both(grads), row)
}

/// Adds `values` to the gradient of a parameter, and returns the gradients. dfdx has no public way to write into a
/// gradient on every device, but it has a derivative: that of the sum of p · values with respect to p is `values`,
/// exactly.
///
/// # Errors
/// The device's own.
pub fn add_gradient<S: Shape, D: Device<f32>>(
    grads: Gradients<f32, D>,
    p: &Tensor<S, f32, D>,
    values: Tensor<S, f32, D>,
) -> Result<Gradients<f32, D>, D::Err> {
    p.clone().traced(grads).try_mul(values)?.try_sum::<Rank0, _>()?.try_backward()
}

/// Puts `values`, in the order of [`parameters`], into a model.
///
/// # Errors
/// [`Error::Config`] if the model has another number of parameters, [`Error::Device`].
pub fn set_parameters<D: Device<f32>, M: TensorCollection<f32, D>>(
    model: &mut M,
    values: &[f32],
) -> Result<()> {
    let shapes = tensors(model)?;
    let wanted: usize = shapes.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
    if values.len() != wanted {
        return Err(Error::Config(format!(
            "the model has {wanted} parameters, and {} were given",
            values.len()
        )));
    }
    write(model, Row::Values, values)
}
