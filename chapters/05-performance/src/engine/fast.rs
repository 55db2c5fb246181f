//! The network whose numbers stay where they are: parameters, activations and gradients are kept in dfdx's store from step
//! to step, and a step is a row of operations on dfdx's tape that borrow them there. Nothing is allocated after the first
//! step but the tape's own few entries, nothing is copied but the images, nothing is zeroed.

pub mod learner;

use crate::engine::{
    failed,
    layer::{self, Behind, Derivatives, Sides, Team, rows_each},
    mask::Mask,
    store::{Place, Store, lend},
    update::{self, Rows},
};
use backprop::{
    Error, Result,
    adam::Factors,
    mlp::Mlp,
    random::key,
    softmax::loss_in_place,
    train::{Examples, Learner, Settings, exploded, step_key},
};
use dfdx::prelude::*;
use matmul::team::share;
use std::ops::Range;

/// A multi-layer perceptron of any sizes, on dfdx's tape. After an error that is not one of the settings or the data, make
/// a new one.
pub struct InPlace {
    settings: Settings,
    team: Team,
    store: Store,
    places: Places,
    layers: Vec<Layer>,
    loss: Tensor<Rank0, f32, Cpu>,
    labels: Vec<u8>,
    t: i32,
}

/// Where the numbers are.
#[derive(Clone)]
struct Places {
    /// All parameters, their gradients and Adam's two means, in the order of [`Mlp::parameters`].
    p: Place,
    g: Place,
    m: Place,
    v: Place,
    /// The images, then each layer's outputs.
    outputs: Vec<Place>,
    /// The derivatives of each of these; of the images there are none.
    slopes: Vec<Place>,
}

/// One layer's sides, and its part of the parameters.
#[derive(Clone, Debug)]
struct Layer {
    sides: Sides,
    weights: Range<usize>,
    bias: Range<usize>,
}

impl InPlace {
    /// A network with the first weights of chapter 3's networks with the same settings.
    ///
    /// # Errors
    /// As [`Settings::check`].
    pub fn new(settings: Settings, team: Team) -> Result<Self> {
        let first = Mlp::<f32>::new(&settings.sizes, settings.seed)?.parameters();
        Self::with(settings, team, &first)
    }

    /// A network with these parameters, in the order of [`Mlp::parameters`].
    ///
    /// # Errors
    /// As [`Settings::check`]; [`Error::Config`] if there are more or fewer parameters than the sizes need.
    pub fn with(settings: Settings, team: Team, first: &[f32]) -> Result<Self> {
        settings.check()?;
        let mut model = Mlp::zeros(&settings.sizes)?;
        model.set_parameters(first)?;
        let mut end = 0;
        let mut next = |len: usize| {
            end += len;
            end - len..end
        };
        let layers = model.layers.iter().map(|layer| Layer {
            sides: Sides { inputs: layer.inputs, outputs: layer.outputs },
            weights: next(layer.weights.len()),
            bias: next(layer.bias.len()),
        });
        let layers = layers.collect();
        let dev = Cpu::seed_from_u64(settings.seed);
        let place = |len: usize| Place::new(&dev, len).map_err(failed);
        let rows = |size: &usize| place(size * settings.batch);
        let inner = settings.sizes.iter().skip(1).map(rows);
        let places = Places {
            p: place(first.len())?,
            g: place(first.len())?,
            m: place(first.len())?,
            v: place(first.len())?,
            outputs: settings.sizes.iter().map(rows).collect::<Result<_>>()?,
            slopes: std::iter::once(place(0)).chain(inner).collect::<Result<_>>()?,
        };
        let mut store = Store::leaky();
        lend(&mut store, [&places.p], |[p]| {
            p.copy_from_slice(first);
            Ok::<_, Error>(())
        })?;
        let loss = dev.try_zeros().map_err(failed)?;
        Ok(Self { settings, team, store, places, layers, loss, labels: Vec::new(), t: 0 })
    }

    // ANCHOR: step
    /// One step on the images with these numbers. Returns their mean loss.
    fn step(&mut self, data: &Examples, index: &[usize], step: u64) -> Result<f64> {
        self.gather(data, index)?;
        let loss = self.passes(index.len(), step)?;
        self.update()?;
        Ok(loss)
    }

    /// Forward and backward on the first `rows` images of the buffer.
    fn passes(&mut self, rows: usize, step: u64) -> Result<f64> {
        let mut tape = OwnedTape::default();
        for at in 0..self.layers.len() {
            self.forward(at, rows, step, &mut tape)?;
        }
        let loss = self.loss(rows, &mut tape)?;
        self.loss.copy_from(&[loss as f32]);
        // dfdx walks the tape backward, and owns the store.
        let store = std::mem::replace(&mut self.store, Store::leaky());
        let (end, whole) = self.loss.clone().traced(store).split_tape();
        let end = end.put_tape(whole.merge(tape));
        self.store = end.try_backward().map_err(failed)?;
        Ok(loss)
    }
    // ANCHOR_END: step

    /// The images and their labels, copied to their buffers.
    fn gather(&mut self, data: &Examples, index: &[usize]) -> Result<()> {
        self.labels.clear();
        self.labels.extend(index.iter().map(|i| data.labels[*i]));
        let (width, threads) = (data.width, self.team.passes);
        lend(&mut self.store, [&self.places.outputs[0]], |[x]| {
            let each = rows_each(index.len(), width, threads);
            let parts = x.chunks_mut(each * width).zip(index.chunks(each));
            share(parts, |(x, index): &mut (&mut [f32], &[usize])| {
                for (row, i) in x.chunks_exact_mut(width).zip(*index) {
                    row.copy_from_slice(data.image(*i));
                }
            });
            Ok(())
        })
    }

    // ANCHOR: forward
    /// Layer `at`, forward now and backward on the tape.
    fn forward(
        &mut self,
        at: usize,
        rows: usize,
        step: u64,
        tape: &mut OwnedTape<f32, Cpu>,
    ) -> Result<()> {
        let Layer { sides, weights, bias } = self.layers[at].clone();
        let team = self.team;
        let (ins, outs) = (rows * sides.inputs, rows * sides.outputs);
        let behind = if at + 1 < self.layers.len() {
            Behind::Relu(Mask::new(self.settings.dropout, key(&[step, at as u64]))?)
        } else {
            Behind::Nothing
        };
        let Places { p, g, outputs, slopes, .. } = self.places.clone();
        lend(&mut self.store, [&p, &outputs[at], &outputs[at + 1]], |[p, x, y]| {
            let own = (&p[weights.clone()], &p[bias.clone()]);
            layer::forward(&mut y[..outs], &x[..ins], own, sides, behind, team)
        })?;
        // ANCHOR_END: forward
        // ANCHOR: backward
        tape.add_backward_op(move |store| {
            let (x, y) = (&outputs[at], &outputs[at + 1]);
            let (dx, dy) = (&slopes[at], &slopes[at + 1]);
            lend(store, [&p, &g, x, y, dx, dy], |[p, g, x, y, dx, dy]| {
                let (before, db) = g.split_at_mut(bias.start);
                let dw = &mut before[weights.clone()];
                let parameters = (dw, &mut db[..sides.outputs]);
                // The first layer has no buffer for the data's derivatives.
                let inputs = dx.get_mut(..ins);
                let to = Derivatives { parameters, inputs, add: false };
                let dy = (&mut dy[..outs], &y[..outs]);
                let own = (&x[..ins], &p[weights]);
                layer::backward(to, dy, own, sides, behind, team)
                    .map_err(|_| CpuError::WrongNumElements)
            })
        });
        Ok(())
        // ANCHOR_END: backward
    }

    /// The mean loss. The derivatives of the scores are made with it.
    fn loss(&mut self, rows: usize, tape: &mut OwnedTape<f32, Cpu>) -> Result<f64> {
        let (last, labels) = (self.layers.len(), &self.labels);
        let (scores, slopes) = (&self.places.outputs[last], self.places.slopes[last].clone());
        let classes = self.settings.sizes[last];
        let loss = lend(&mut self.store, [scores, &slopes], |[scores, slopes]| {
            let slopes = &mut slopes[..rows * classes];
            slopes.copy_from_slice(&scores[..rows * classes]);
            Ok::<_, Error>(loss_in_place(slopes, labels, classes, classes))
        })?;
        let of_loss = self.loss.ghost();
        tape.add_backward_op(move |store| {
            let up = store.get_or_alloc_mut(&of_loss)?[0];
            lend(store, [&slopes], |[slopes]| {
                for slope in slopes.iter_mut() {
                    *slope *= up;
                }
                Ok(())
            })
        });
        Ok(loss)
    }

    fn update(&mut self) -> Result<()> {
        self.t += 1;
        let factors = Factors::new(&self.settings.rule, self.t);
        let (Places { p, g, m, v, .. }, threads) = (&self.places, self.team.passes);
        lend(&mut self.store, [p, g, m, v], |[p, g, m, v]| {
            // The next step writes over the gradients, so they need no clearing.
            update::shared(Rows { p, moments: (m, v), g }, factors, false, threads);
            Ok::<_, Error>(())
        })
    }
}

impl Learner for InPlace {
    fn epoch(&mut self, data: &Examples, order: &[usize], epoch: usize) -> Result<f64> {
        let sizes = &self.settings.sizes;
        data.check(sizes[0], sizes[self.layers.len()])?;
        data.check_order(order)?;
        let (seed, lr, mut sum) = (self.settings.seed, self.settings.rule.lr, 0.0);
        for (at, index) in order.chunks(self.settings.batch).enumerate() {
            let loss = self.step(data, index, step_key(seed, epoch, at + 1))?;
            if exploded(loss) {
                return Err(Error::Diverged { epoch, step: at + 1, lr, loss });
            }
            sum += loss * index.len() as f64;
        }
        Ok(sum / order.len() as f64)
    }

    fn model(&self) -> Result<Mlp<f32>> {
        let mut model = Mlp::zeros(&self.settings.sizes)?;
        let mut store = self.store.clone();
        lend(&mut store, [&self.places.p], |[p]| model.set_parameters(p))?;
        Ok(model)
    }
}
