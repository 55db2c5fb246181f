//! Adam: steps along the gradient, scaled for each parameter by how large its gradients have been.
//!
//! Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization", algorithm 1. [`step`] is the whole
//! idea on plain slices. [`Adam`] runs dfdx's kernel, on a CPU or a GPU, and differs from dfdx's own
//! optimizer in one thing: its state can be taken out and put back, so a run can be resumed.

use crate::{Error, Result};
use dfdx::{optim::AdamConfig, prelude::*, tensor_ops::Device};

// ANCHOR: step
/// One step on the parameters `p` with the gradient `g`.
pub fn step(rule: &AdamConfig, p: &mut [f32], state: &mut State, g: &[f32]) {
    let [beta1, beta2] = rule.betas.map(|beta| beta as f32);
    let (lr, eps) = (rule.lr as f32, rule.eps as f32);
    state.t += 1;
    // The means start at zero, so early ones are too small by this factor.
    let (part1, part2) = (1.0 - beta1.powi(state.t), 1.0 - beta2.powi(state.t));
    let means = state.m.iter_mut().zip(&mut state.v);
    for ((p, (m, v)), g) in p.iter_mut().zip(means).zip(g) {
        *m = beta1 * *m + (1.0 - beta1) * g; // running mean of the gradients
        *v = beta2 * *v + (1.0 - beta2) * g * g; // and of their squares
        *p -= lr * (*m / part1) / ((*v / part2).sqrt() + eps);
    }
}
// ANCHOR_END: step

/// The optimizer for the parameters of a model on a device.
pub struct Adam<D: Storage<f32>> {
    config: AdamConfig,
    t: i32,
    m: Gradients<f32, D>,
    v: Gradients<f32, D>,
}

/// What Adam has learned about the gradients, on the host. It starts with zeros.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Steps taken.
    pub t: i32,
    /// Running means of the gradients, in the order of [`crate::model::parameters`].
    pub m: Vec<f32>,
    /// Running means of their squares.
    pub v: Vec<f32>,
}

impl<D: Device<f32>> Adam<D> {
    /// An optimizer that has seen nothing.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory for the two means.
    pub fn new<M: TensorCollection<f32, D>>(model: &M, config: AdamConfig) -> Result<Self> {
        let m = model.try_alloc_grads().map_err(Error::device)?;
        let v = model.try_alloc_grads().map_err(Error::device)?;
        Ok(Self { config, t: 0, m, v })
    }

    /// Moves the parameters of `model` by one step along `grads`.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn update<M: TensorCollection<f32, D>>(
        &mut self,
        model: &mut M,
        grads: &mut Gradients<f32, D>,
    ) -> Result<()> {
        self.t += 1;
        let mut update = Update { adam: self, grads };
        M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut update })
            .map_err(Error::device)?;
        Ok(())
    }

    /// The state, copied to the host.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn state<M: TensorCollection<f32, D>>(&self, model: &M) -> Result<State> {
        let mut save = Save { adam: self, m: Vec::new(), v: Vec::new() };
        M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut save }).map_err(Error::device)?;
        Ok(State { t: self.t, m: save.m, v: save.v })
    }

    /// An optimizer for `model` that goes on from `state`.
    ///
    /// # Errors
    /// [`Error::Config`] if the state belongs to a model of another size, [`Error::Device`].
    pub fn from_state<M: TensorCollection<f32, D>>(
        model: &M,
        config: AdamConfig,
        state: &State,
    ) -> Result<Self> {
        let wanted = model.num_trainable_params();
        if state.m.len() != wanted || state.v.len() != wanted {
            return Err(Error::Config(format!(
                "the model has {wanted} parameters, and the optimizer's state is for {} and {}",
                state.m.len(),
                state.v.len()
            )));
        }
        let mut adam = Self::new(model, config)?;
        adam.t = state.t;
        for (gradients, values) in [(&mut adam.m, &state.m), (&mut adam.v, &state.v)] {
            let taken = std::mem::replace(gradients, Gradients::leaky());
            let mut load = Load { gradients: Some(taken), values };
            M::iter_tensors(&mut RecursiveWalker { m: model, f: &mut load })
                .map_err(Error::device)?;
            *gradients = load.gradients.unwrap_or_else(Gradients::leaky);
        }
        Ok(adam)
    }
}

/// One step on every parameter.
struct Update<'a, D: Storage<f32>> {
    adam: &'a mut Adam<D>,
    grads: &'a mut Gradients<f32, D>,
}

impl<D: Device<f32>> TensorVisitor<f32, D> for Update<'_, D> {
    type Viewer = ViewTensorMut;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, D>,
        p: &mut Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        if options.do_gradient_update {
            let Adam { config, t, m, v } = &mut *self.adam;
            let (m, v) = (m.get_or_alloc_mut(p)?, v.get_or_alloc_mut(p)?);
            let g = self.grads.get_or_alloc_mut(p)?;
            config.try_update(*t, p, m, v, g)?;
        }
        Ok(None)
    }
}

/// Copies the two means to the host.
struct Save<'a, D: Storage<f32>> {
    adam: &'a Adam<D>,
    m: Vec<f32>,
    v: Vec<f32>,
}

impl<D: Device<f32>> TensorVisitor<f32, D> for Save<'_, D> {
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
            self.m.extend(self.adam.m.get(p).as_vec());
            self.v.extend(self.adam.v.get(p).as_vec());
        }
        Ok(None)
    }
}

/// Puts values into gradients that are zero. dfdx has no public way to write into a gradient on every
/// device, but it has a derivative: that of the sum of p · values with respect to p is `values`, exactly.
struct Load<'a, D: Storage<f32>> {
    gradients: Option<Gradients<f32, D>>,
    values: &'a [f32],
}

impl<D: Device<f32>> TensorVisitor<f32, D> for Load<'_, D> {
    type Viewer = ViewTensorRef;
    type Err = D::Err;
    type E2 = f32;
    type D2 = D;

    fn visit<S: Shape>(
        &mut self,
        options: TensorOptions<S, f32, D>,
        p: &Tensor<S, f32, D>,
    ) -> Result<Option<Tensor<S, f32, D>>, D::Err> {
        if let (true, Some(gradients)) = (options.do_gradient_update, self.gradients.take()) {
            let (mine, rest) = self.values.split_at(p.shape().num_elements());
            self.values = rest;
            let values = p.device().try_tensor_from_vec(mine.to_vec(), *p.shape())?;
            let product = p.clone().traced(gradients).try_mul(values)?;
            self.gradients = Some(product.try_sum::<Rank0, _>()?.try_backward()?);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{parameters, set_parameters};
    use dfdx::optim::Optimizer;

    type Small = (modules::Linear<5, 4, f32, Cpu>, ReLU, modules::Linear<4, 3, f32, Cpu>);

    fn gradients(model: &Small, dev: &Cpu, grads: Gradients<f32, Cpu>) -> Gradients<f32, Cpu> {
        let x: Tensor<Rank2<6, 5>, f32, _> = dev.sample_normal();
        model.forward(x.traced(grads)).square().mean().backward()
    }

    #[test]
    fn equals_dfdx_bit_for_bit_and_the_plain_version_closely() {
        let dev = Cpu::seed_from_u64(3);
        let mut ours = Small::build(&dev);
        let mut theirs = ours.clone();
        let config = AdamConfig { lr: 1e-2, ..AdamConfig::default() };
        let mut adam = Adam::new(&ours, config).unwrap();
        let mut dfdx = dfdx::optim::Adam::new(&theirs, config);
        let mut plain = parameters(&ours).unwrap();
        let mut state = State { t: 0, m: vec![0.0; plain.len()], v: vec![0.0; plain.len()] };
        let start = plain.clone();
        for _ in 0..50 {
            let mut grads = gradients(&ours, &dev, ours.alloc_grads());
            // The same gradient, moved to the other model's parameters.
            let flat = flat_gradients(&ours, &grads);
            let mut other = Load { gradients: Some(theirs.alloc_grads()), values: &flat };
            Small::iter_tensors(&mut RecursiveWalker { m: &theirs, f: &mut other }).unwrap();
            dfdx.update(&mut theirs, &other.gradients.unwrap()).unwrap();
            adam.update(&mut ours, &mut grads).unwrap();
            step(&config, &mut plain, &mut state, &flat);
        }
        let ours = parameters(&ours).unwrap();
        assert_eq!(ours, parameters(&theirs).unwrap());
        assert!(ours.iter().zip(&start).any(|(a, b)| (a - b).abs() > 0.05), "it did not move");
        for (a, b) in ours.iter().zip(&plain) {
            assert!((a - b).abs() < 2e-5, "{a} is not {b}");
        }
    }

    fn flat_gradients(model: &Small, grads: &Gradients<f32, Cpu>) -> Vec<f32> {
        let tensors = [
            grads.get(&model.0.weight).as_vec(),
            grads.get(&model.0.bias).as_vec(),
            grads.get(&model.2.weight).as_vec(),
            grads.get(&model.2.bias).as_vec(),
        ];
        tensors.concat()
    }

    #[test]
    fn goes_on_from_its_state_bit_for_bit() {
        let run = |stop: Option<usize>| {
            let dev = Cpu::seed_from_u64(8);
            let mut model = Small::build(&dev);
            let mut adam = Adam::new(&model, AdamConfig::default()).unwrap();
            for at in 0..20 {
                if stop == Some(at) {
                    let (weights, state) =
                        (parameters(&model).unwrap(), adam.state(&model).unwrap());
                    assert_eq!(state.t as usize, at);
                    model = Small::build(&Cpu::seed_from_u64(99));
                    set_parameters(&mut model, &weights).unwrap();
                    adam = Adam::from_state(&model, AdamConfig::default(), &state).unwrap();
                    assert_eq!(adam.state(&model).unwrap(), state);
                }
                let mut grads = gradients(&model, &dev, model.alloc_grads());
                adam.update(&mut model, &mut grads).unwrap();
            }
            parameters(&model).unwrap()
        };
        let whole = run(None);
        for stop in [1, 7, 19] {
            assert_eq!(run(Some(stop)), whole, "stopped at {stop}");
        }
    }

    #[test]
    fn the_first_step_is_as_long_as_the_learning_rate() {
        // m / (1 - β₁) = g and v / (1 - β₂) = g², so the step is lr · g / |g|.
        let config = AdamConfig { lr: 0.25, ..AdamConfig::default() };
        let mut p = [1.0, 1.0];
        let mut state = State { t: 0, m: vec![0.0; 2], v: vec![0.0; 2] };
        step(&config, &mut p, &mut state, &[3.0, -0.01]);
        assert!((p[0] - 0.75).abs() < 1e-5 && (p[1] - 1.25).abs() < 1e-5, "{p:?}");
    }

    #[test]
    fn a_state_of_another_size_is_refused() {
        let model = Small::build(&Cpu::default());
        let state = State { t: 1, m: vec![0.0; 2], v: vec![0.0; 2] };
        assert!(Adam::from_state(&model, AdamConfig::default(), &state).is_err());
    }
}
