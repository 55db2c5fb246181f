//! The training step of a network of dfdx's tensors, with dfdx's loss and update or with the fused ones.

use crate::engine::{
    failed,
    rows::cross_entropy,
    update::{self, Rows},
};
use backprop::{
    Error, Result,
    adam::{Adam, Factors, Moments},
    mlp::Mlp,
    train::{Examples, Learner, Settings, exploded},
};
use dfdx::{losses::cross_entropy_with_logits_loss, optim, prelude::*};
use training::model::{CLASSES, Images, Network, parameters, set_parameters};

/// Which parts of the step are fused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fused {
    /// Softmax and cross-entropy are one operation.
    pub loss: bool,
    /// Adam and the zeroing of the gradients are one pass.
    pub update: bool,
}

/// Whether a layer's weights lie as dfdx's `Linear` keeps them, outputs×inputs, or as a product wants them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Outputs×inputs.
    Turned,
    /// Inputs×outputs, as in chapter 3.
    Straight,
}

/// A network of tensors that trains as chapter 3's networks do.
pub struct Tensors<M: Network<Cpu>> {
    dev: Cpu,
    model: M,
    settings: Settings,
    lie: Lie,
    grads: Gradients<f32, Cpu>,
    adam: Moves<M>,
    fused_loss: bool,
}

/// How the parameters move.
enum Moves<M: Network<Cpu>> {
    Dfdx(Box<optim::Adam<M, f32, Cpu>>),
    Fused { p: Vec<f32>, moments: Moments<f32>, rule: Adam, t: i32 },
}

impl<M: Network<Cpu>> Tensors<M> {
    /// A network with the first weights of chapter 3's networks with the same settings. `change` sets what is special
    /// about it.
    ///
    /// # Errors
    /// As [`Settings::check`]; [`Error::Config`] if the network has other sizes than the settings.
    pub fn new(
        settings: Settings,
        lie: Lie,
        fused: Fused,
        change: impl FnOnce(&mut M),
    ) -> Result<Self> {
        settings.check()?;
        let dev = Cpu::seed_from_u64(settings.seed);
        let mut model: M = training::model::build(&dev).map_err(failed)?;
        let first = Mlp::<f32>::new(&settings.sizes, settings.seed)?;
        let fits = set_parameters(&mut model, &turned(&first, lie).parameters());
        fits.map_err(|e| Error::Config(e.to_string()))?;
        model.set_dropout(settings.dropout as f32);
        change(&mut model);
        let grads = model.try_alloc_grads().map_err(failed)?;
        let rule = settings.rule;
        let adam = if fused.update {
            let p = parameters(&model).map_err(failed)?;
            Moves::Fused { moments: Moments::zeros(p.len()), p, rule, t: 0 }
        } else {
            let (betas, weight_decay) = ([rule.beta1, rule.beta2], None);
            let config = AdamConfig { lr: rule.lr, betas, eps: rule.eps, weight_decay };
            Moves::Dfdx(Box::new(optim::Adam::new(&model, config)))
        };
        Ok(Self { dev, model, settings, lie, grads, adam, fused_loss: fused.loss })
    }

    /// One step on the images with these numbers. Returns their mean loss.
    fn step(&mut self, data: &Examples, index: &[usize]) -> Result<f64> {
        let (x, labels) = data.batch(index);
        let images: Images<Cpu> =
            self.dev.try_tensor_from_vec(x, (index.len(), Const)).map_err(failed)?;
        let grads = std::mem::replace(&mut self.grads, Gradients::leaky());
        let scores = self.model.learn(images.traced(grads)).map_err(failed)?;
        let loss = if self.fused_loss {
            cross_entropy(scores, &labels).map_err(failed)?
        } else {
            cross_entropy_with_logits_loss(scores, self.truth(&labels)?)
        };
        let value = f64::from(loss.array());
        self.grads = loss.try_backward().map_err(failed)?;
        self.update()?;
        Ok(value)
    }

    /// The labels as probabilities.
    fn truth(&self, labels: &[u8]) -> Result<Tensor<(usize, Const<CLASSES>), f32, Cpu>> {
        let mut truth = vec![0.0; labels.len() * CLASSES];
        for (row, label) in truth.chunks_exact_mut(CLASSES).zip(labels) {
            row[usize::from(*label)] = 1.0;
        }
        self.dev.try_tensor_from_vec(truth, (labels.len(), Const)).map_err(failed)
    }

    fn update(&mut self) -> Result<()> {
        match &mut self.adam {
            Moves::Dfdx(adam) => {
                adam.update(&mut self.model, &self.grads).map_err(|e| failed(format!("{e:?}")))?;
                self.model.try_zero_grads(&mut self.grads).map_err(failed)
            }
            Moves::Fused { p, moments, rule, t } => {
                *t += 1;
                let factors = Factors::new(rule, *t);
                let (m, v) = moments.slices();
                let mut update = Update { factors, p, m, v, grads: &mut self.grads };
                M::iter_tensors(&mut RecursiveWalker { m: &mut self.model, f: &mut update })
                    .map(|_| ())
                    .map_err(failed)
            }
        }
    }
}

/// Fused steps of all tensors, one after the other. Their buffers lie outside, for dfdx gives no access to a tensor's
/// own; each is copied into its tensor.
struct Update<'a> {
    factors: Factors,
    p: &'a mut [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
    grads: &'a mut Gradients<f32, Cpu>,
}

impl TensorVisitor<f32, Cpu> for Update<'_> {
    type Viewer = ViewTensorMut;
    type Err = CpuError;
    type E2 = f32;
    type D2 = Cpu;

    fn visit<S: Shape>(
        &mut self,
        _: TensorOptions<S, f32, Cpu>,
        tensor: &mut Tensor<S, f32, Cpu>,
    ) -> Result<Option<Tensor<S, f32, Cpu>>, CpuError> {
        let len = tensor.shape().num_elements();
        let mine = [&mut self.p, &mut self.m, &mut self.v].map(|rest| rest.split_off_mut(..len));
        let [Some(p), Some(m), Some(v)] = mine else { return Err(CpuError::WrongNumElements) };
        let g = self.grads.get_or_alloc_mut(tensor)?;
        update::shared(Rows { p: &mut *p, moments: (m, v), g }, self.factors, true, 1);
        tensor.copy_from(p);
        Ok(None)
    }
}

/// The same layers with weights laid out by `lie`, if those of `model` are straight, and the other way round.
fn turned(model: &Mlp<f32>, lie: Lie) -> Mlp<f32> {
    let mut model = model.clone();
    if lie == Lie::Turned {
        for layer in &mut model.layers {
            let (inputs, outputs) = (layer.inputs, layer.outputs);
            let from = layer.weights.clone();
            for (i, w) in layer.weights.iter_mut().enumerate() {
                *w = from[i % inputs * outputs + i / inputs];
            }
        }
    }
    model
}

impl<M: Network<Cpu>> Learner for Tensors<M> {
    fn epoch(&mut self, data: &Examples, order: &[usize], epoch: usize) -> Result<f64> {
        data.check(self.settings.sizes[0], CLASSES)?;
        data.check_order(order)?;
        let mut sum = 0.0;
        for (at, index) in order.chunks(self.settings.batch).enumerate() {
            let loss = self.step(data, index)?;
            if exploded(loss) {
                let lr = self.settings.rule.lr;
                return Err(Error::Diverged { epoch, step: at + 1, lr, loss });
            }
            sum += loss * index.len() as f64;
        }
        Ok(sum / order.len() as f64)
    }

    fn model(&self) -> Result<Mlp<f32>> {
        let mut model = Mlp::zeros(&self.settings.sizes)?;
        let values = parameters(&self.model).map_err(failed)?;
        model.set_parameters(&values)?;
        if self.lie == Lie::Turned {
            // Read with the sides exchanged, turning is its own inverse.
            for layer in &mut model.layers {
                std::mem::swap(&mut layer.inputs, &mut layer.outputs);
            }
            model = turned(&model, Lie::Turned);
            for layer in &mut model.layers {
                std::mem::swap(&mut layer.inputs, &mut layer.outputs);
            }
        }
        Ok(model)
    }
}
