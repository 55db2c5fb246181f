//! A described model that runs: one image forward and backward, from scratch. It is here to put the counter's
//! predictions to the test, on VGG16 among others.

use crate::{
    Error, Result,
    activation::{relu, relu_backward},
    conv::{Conv, Sides, pool, unpool},
    count::{Layer, Model},
    dense::Dense,
    dropout::Dropout,
    error::count,
    init,
    random::{SplitMix64, key},
    real::Real,
    softmax::loss_and_gradient,
};
use matmul::team::share;
use std::time::Instant;

/// A layer with its parameters.
#[derive(Clone, Debug)]
enum Step<T> {
    Dense(Dense<T>),
    Conv(Conv<T>),
    Pool { sides: [usize; 3], size: usize },
    Relu,
    Flatten,
    Dropout(Dropout),
}

/// A described model with random weights.
#[derive(Clone, Debug)]
pub struct Network<T> {
    steps: Vec<Step<T>>,
    inputs: usize,
    /// Memory for one unrolled image, used by all convolutions.
    pub columns: Vec<T>,
}

/// What a layer leaves for the backward pass besides its output.
#[derive(Clone, Debug)]
enum Note<T> {
    None,
    Places(Vec<u32>),
    Mask(Vec<T>),
}

/// What the forward pass leaves for the backward pass: the image, and of each layer its output and a note. A
/// layer that works in place takes the output of the one before, whose own is then empty.
#[derive(Clone, Debug)]
pub struct Trace<T> {
    outputs: Vec<Vec<T>>,
    notes: Vec<Note<T>>,
}

impl<T> Trace<T> {
    /// The scores.
    pub fn scores(&self) -> &[T] {
        self.outputs.last().map_or(&[], |scores| scores)
    }

    /// How many values it has.
    pub fn kept(&self) -> usize {
        let notes = self.notes.iter().map(|note| match note {
            Note::None => 0,
            Note::Places(places) => places.len(),
            Note::Mask(mask) => mask.len(),
        });
        self.outputs.iter().map(Vec::len).sum::<usize>() + notes.sum::<usize>()
    }
}

/// The derivatives of the loss with respect to each layer's weights and bias.
pub type Gradients<T> = Vec<(Vec<T>, Vec<T>)>;

/// How long the parts of one image took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds {
    /// The forward pass with the loss.
    pub forward: f64,
    /// The backward pass.
    pub backward: f64,
}

impl<T: Real> Network<T> {
    /// The model with He's initialisation.
    ///
    /// # Errors
    /// As [`Model::count`].
    pub fn new(model: &Model, seed: u64) -> Result<Self> {
        let counts = model.count()?;
        let mut random = SplitMix64::new(seed);
        let mut shape = model.input.clone();
        let mut steps = Vec::new();
        for ((at, layer), row) in model.layers.iter().enumerate().zip(&counts.rows) {
            let fits =
                |why: &str| Error::Layer { layer: at + 1, kind: layer.kind(), why: why.to_owned() };
            let sides = <[usize; 3]>::try_from(&shape[..]);
            let sides = || sides.map_err(|_| fits("it needs channels, rows and columns"));
            steps.push(match *layer {
                Layer::Dense { units } => Step::Dense(init::he(shape[0], units, &mut random)?),
                Layer::Conv { channels, size, stride, padding } => {
                    let sides = Sides::new(sides()?, size, stride, padding);
                    let sides = sides.ok_or_else(|| fits("no window fits"))?;
                    let Dense { weights, bias, .. } =
                        init::he(sides.window(), channels, &mut random)?;
                    Step::Conv(Conv { sides, weights, bias })
                }
                Layer::Pool { size } => Step::Pool { sides: sides()?, size },
                Layer::Relu => Step::Relu,
                Layer::Flatten => Step::Flatten,
                Layer::Dropout { rate } => Step::Dropout(Dropout::new(rate)?),
            });
            shape.clone_from(&row.output);
        }
        let columns = vec![T::ZERO; counts.unrolled as usize];
        Ok(Self { steps, inputs: counts.input as usize, columns })
    }

    /// Weights and bias of each layer that has them, in their order.
    pub fn tensors_mut(&mut self) -> impl Iterator<Item = &mut [T]> {
        self.steps.iter_mut().flat_map(|step| match step {
            Step::Dense(layer) => vec![&mut layer.weights[..], &mut layer.bias[..]],
            Step::Conv(layer) => vec![&mut layer.weights[..], &mut layer.bias[..]],
            _ => Vec::new(),
        })
    }

    /// Zeros in the shape of the gradients.
    pub fn gradients(&self) -> Gradients<T> {
        let zeros =
            |weights: &[T], bias: &[T]| (vec![T::ZERO; weights.len()], vec![T::ZERO; bias.len()]);
        self.steps
            .iter()
            .filter_map(|step| match step {
                Step::Dense(layer) => Some(zeros(&layer.weights, &layer.bias)),
                Step::Conv(layer) => Some(zeros(&layer.weights, &layer.bias)),
                _ => None,
            })
            .collect()
    }

    /// The scores of one image; with `noise`, a key for this step, dropout leaves values out.
    ///
    /// # Errors
    /// [`Error::Count`] for an image of another size.
    pub fn forward(&mut self, image: &[T], noise: Option<u64>) -> Result<Trace<T>> {
        count("values in the image", image.len(), self.inputs)?;
        let (mut outputs, mut notes) = (vec![image.to_vec()], Vec::new());
        for (at, step) in self.steps.iter().enumerate() {
            let x = &mut outputs[at];
            let mut note = Note::None;
            let y = match step {
                Step::Dense(layer) => {
                    let mut y = layer.bias.clone();
                    vector_times(layer, x, &mut y)?;
                    y
                }
                Step::Conv(conv) => conv.forward(x, &mut self.columns)?,
                Step::Pool { sides, size } => {
                    let (y, places) = pool(x, *sides, *size);
                    note = Note::Places(places);
                    y
                }
                Step::Relu => {
                    relu(x);
                    std::mem::take(x)
                }
                Step::Flatten => std::mem::take(x),
                Step::Dropout(dropout) => {
                    let mask = match noise {
                        Some(step) => dropout.mask(key(&[step, at as u64]), x.len()),
                        None => vec![T::ONE; x.len()],
                    };
                    x.iter_mut().zip(&mask).for_each(|(x, m)| *x = *x * *m);
                    note = Note::Mask(mask);
                    std::mem::take(x)
                }
            };
            outputs.push(y);
            notes.push(note);
        }
        Ok(Trace { outputs, notes })
    }

    /// The gradient of the parameters, into `gradients`, from that of the scores.
    ///
    /// # Errors
    /// [`Error::Count`] for other lengths.
    pub fn backward(
        &mut self,
        trace: &mut Trace<T>,
        scores: Vec<T>,
        gradients: &mut Gradients<T>,
    ) -> Result<()> {
        count("derivatives of the scores", scores.len(), trace.scores().len())?;
        let mut left = gradients.len();
        let mut dy = scores;
        for (at, step) in self.steps.iter().enumerate().rev() {
            match (step, &trace.notes[at]) {
                (Step::Dense(layer), _) => {
                    left -= 1;
                    let (dw, db) = &mut gradients[left];
                    outer(dw, &trace.outputs[at], &dy);
                    db.copy_from_slice(&dy);
                    dy = if left == 0 { Vec::new() } else { times_vector(layer, &dy) };
                }
                (Step::Conv(conv), _) => {
                    left -= 1;
                    let (dw, db) = &mut gradients[left];
                    let x = &mut trace.outputs[at];
                    dy = conv.backward(x, &dy, &mut self.columns, (dw, db), left > 0)?;
                }
                (Step::Pool { sides, .. }, Note::Places(places)) => {
                    dy = unpool(&dy, places, sides.iter().product());
                }
                (Step::Relu, _) => {
                    // It worked in place, and perhaps so did the layers behind it: the next output there is.
                    let y = trace.outputs[at + 1..].iter().find(|output| !output.is_empty());
                    relu_backward(y.map_or(&[], |y| y), &mut dy);
                }
                (Step::Dropout(_), Note::Mask(mask)) => {
                    dy.iter_mut().zip(mask).for_each(|(dy, m)| *dy = *dy * *m);
                }
                _ => {}
            }
            if left == 0 {
                break; // nothing before has parameters
            }
        }
        Ok(())
    }

    /// One image forward and backward, with the time of each. Also returns the loss.
    ///
    /// # Errors
    /// [`Error::Count`], [`Error::Label`].
    pub fn learn_from(
        &mut self,
        image: &[T],
        label: u8,
        noise: Option<u64>,
        gradients: &mut Gradients<T>,
    ) -> Result<(f64, Seconds)> {
        let start = Instant::now();
        let mut trace = self.forward(image, noise)?;
        let classes = trace.scores().len();
        let (loss, scores) = loss_and_gradient(trace.scores(), &[label], classes)?;
        let forward = start.elapsed().as_secs_f64();
        let start = Instant::now();
        self.backward(&mut trace, scores, gradients)?;
        Ok((loss, Seconds { forward, backward: start.elapsed().as_secs_f64() }))
    }
}

/// Calls `work` with pieces of `values`, each of whole groups of `group`, and the number of the piece's first
/// value, on all cores.
fn in_pieces<T: Send>(values: &mut [T], group: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    let groups = (values.len() / group).div_ceil(matmul::parallel::available()).max(1);
    let pieces = values.chunks_mut(groups * group).enumerate();
    share(pieces, |(piece, values)| work(*piece * groups * group, values));
}

/// y = x·W + b for one row; `y` contains b. One row is no product of matrices: each weight is used once, and
/// what takes the time is reading them. So they are read as they lie, row after row.
///
/// # Errors
/// [`Error::Count`].
pub fn vector_times<T: Real>(layer: &Dense<T>, x: &[T], y: &mut [T]) -> Result<()> {
    count("inputs of the layer", x.len(), layer.inputs)?;
    in_pieces(y, 1, |first, y| {
        for (x, row) in x.iter().zip(layer.weights.chunks_exact(layer.outputs)) {
            for (y, w) in y.iter_mut().zip(&row[first..]) {
                *y += *x * *w;
            }
        }
    });
    Ok(())
}

/// dW = xᵀ·dy: row p is dy times number p of x.
pub fn outer<T: Real>(dw: &mut [T], x: &[T], dy: &[T]) {
    in_pieces(dw, dy.len(), |first, dw| {
        for (row, x) in dw.chunks_exact_mut(dy.len()).zip(&x[first / dy.len()..]) {
            for (dw, dy) in row.iter_mut().zip(dy) {
                *dw = *x * *dy;
            }
        }
    });
}

/// dx = dy·Wᵀ: number p is the sum of row p of W times dy, in sixteen sums side by side.
pub fn times_vector<T: Real>(layer: &Dense<T>, dy: &[T]) -> Vec<T> {
    const LANES: usize = 16;
    let mut dx = vec![T::ZERO; layer.inputs];
    in_pieces(&mut dx, 1, |first, dx| {
        let rows = layer.weights.chunks_exact(layer.outputs).skip(first);
        for (dx, row) in dx.iter_mut().zip(rows) {
            let (mut sums, mut rest) = ([T::ZERO; LANES], T::ZERO);
            let (lanes, tail) = row.as_chunks::<LANES>();
            let (dy_lanes, dy_tail) = dy.as_chunks::<LANES>();
            for (row, dy) in lanes.iter().zip(dy_lanes) {
                for (sum, (w, dy)) in sums.iter_mut().zip(row.iter().zip(dy)) {
                    *sum += *w * *dy;
                }
            }
            for (w, dy) in tail.iter().zip(dy_tail) {
                rest += *w * *dy;
            }
            *dx = sums.into_iter().sum::<T>() + rest;
        }
    });
    dx
}
