//! A step of training in mixed precision.

use crate::amp::{
    replica::{H, Half, HalfEngine, HalfModel, halved, loaded, unscaled},
    scaler::{PYTORCH, Scaler, Scaling},
};
use dfdx::{dtypes::f16, losses::cross_entropy_with_logits_loss, prelude::*};
use training::{
    Error, Result, Settings,
    checkpoint::{Checkpoint, LossScale},
    model::{self, Images, Logits, Network, Targets},
    step::{Full, Learner, Scores, Stepper},
};

/// A batch's scores, and the gradients of a model in f16.
pub type ScoresAndGradients<D> = (Logits<D>, Gradients<H, D>);

/// A model whose weights are f32, and whose forward and backward passes are f16.
pub struct Amp<M: Network<D>, D: HalfEngine> {
    /// The f32 weights and their optimizer.
    pub master: Full<M, D>,
    /// The factor before the loss.
    pub scaler: Scaler,
    /// Whether the weights stay f32 between steps. Without that they are rounded to f16 after each: an ablation.
    pub keep_f32: bool,
    /// Whether the last gradients were finite.
    finite: bool,
}

impl<M, D> Amp<M, D>
where
    D: HalfEngine,
    M: Network<D>,
    Half<M, D>: HalfModel<D> + TensorCollection<H, D, To<f32, D> = M>,
{
    /// A model with random weights, the same ones as in f32, and PyTorch's dynamic scale.
    ///
    /// # Errors
    /// [`Error::Device`] if there is no memory for it.
    pub fn new(dev: &D, settings: &Settings) -> Result<Self> {
        Ok(Self {
            master: Full::new(dev, settings)?,
            scaler: Scaler::new(Scaling::Dynamic(PYTORCH)),
            keep_f32: true,
            finite: true,
        })
    }

    /// The same with another factor before the loss.
    #[must_use]
    pub fn scaling(self, scaling: Scaling) -> Self {
        Self { scaler: Scaler::new(scaling), ..self }
    }

    // ANCHOR: passes
    /// The batch's scores, and the gradients of the f16 copy, times the factor.
    #[allow(clippy::missing_errors_doc)] // the device's own
    pub fn passes(
        &mut self,
        half: &mut Half<M, D>,
        images: Images<D>,
        targets: Targets<D>,
    ) -> Result<ScoresAndGradients<D>, D::Err> {
        // Forward, in f16.
        let images = images.try_to_dtype::<H>()?.traced(half.try_alloc_grads()?);
        let scores = half.learn(images)?;
        // The loss in f32, times the factor, and its gradient at the scores.
        let wide = scores.retaped::<NoneTape>().try_to_dtype::<f32>()?;
        let loss = cross_entropy_with_logits_loss(wide.leaky_trace(), targets);
        let scaled = loss.try_mul(self.scaler.scale())?;
        let up = scaled.try_backward()?.get(&wide).try_to_dtype::<H>()?;
        // Backward from there, in f16.
        let grads = scores.try_mul(up)?.try_sum::<Rank0, _>()?.try_backward()?;
        Ok((wide, grads))
    }
    // ANCHOR_END: passes
}

impl<M, D> Learner for Amp<M, D>
where
    D: HalfEngine,
    M: Network<D>,
    Half<M, D>: HalfModel<D> + TensorCollection<H, D, To<f32, D> = M>,
{
    // ANCHOR: step
    /// Forward and backward, on a copy of the weights in f16.
    fn gradients(
        &mut self,
        images: Images<D>,   // (batch, 784)
        targets: Targets<D>, // (batch, 10)
    ) -> Result<Logits<D>> {
        let mut half = halved(&self.master.model)?;
        let passes = self.passes(&mut half, images, targets);
        let (scores, grads) = passes.map_err(Error::device)?;
        // Out of f16, and the factor out again.
        let scale = self.scaler.scale();
        let grads = unscaled::<M, D>(&half, &grads, scale).map_err(Error::device)?;
        self.finite = grads.is_some();
        if let Some(grads) = &grads {
            let loaded = loaded(&self.master.model, grads);
            self.master.grads = loaded.map_err(Error::device)?;
        }
        Ok(scores)
    }
    // ANCHOR_END: step

    // ANCHOR: update
    /// If all are finite, the f32 weights move. Otherwise the step is skipped.
    /// Both update the factor.
    fn update(&mut self, lr: f64) -> Result<()> {
        if self.finite {
            self.master.update(lr)?;
        }
        self.scaler.update(self.finite)?;
        self.finite = true; // there are none until the next step
        self.round()
    }
    // ANCHOR_END: update

    fn discard(&mut self) -> Result<()> {
        self.master.discard()?;
        self.finite = true;
        self.scaler.update(false)
    }

    fn skip(&self, dev: &D, steps: usize) {
        self.master.skip(dev, steps);
    }

    fn pack(&self, row: &mut Vec<f32>) -> Result<()> {
        self.master.pack(row)
    }

    fn unpack(&mut self, row: &[f32]) -> Result<()> {
        self.master.unpack(row)
    }
}

impl<M, D> Stepper for Amp<M, D>
where
    D: HalfEngine,
    M: Network<D>,
    Half<M, D>: HalfModel<D> + TensorCollection<H, D, To<f32, D> = M>,
{
    type Device = D;

    fn step(&mut self, lr: f64, images: Images<D>, targets: Targets<D>) -> Scores {
        self.step_in_parts(lr, images, targets)
    }

    training::left_to!(master);

    fn loss_scale(&self) -> Option<LossScale> {
        Some(self.scaler.state())
    }

    fn restore(&mut self, dev: &D, saved: &Checkpoint) -> Result<()> {
        if let Some(state) = saved.header.loss_scale {
            self.scaler.set_state(state);
        }
        self.master.restore(dev, saved)
    }
}

impl<M: Network<D>, D: HalfEngine> Amp<M, D> {
    /// Without f32 weights, what f16 can't represent of them is lost after each step.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn round(&mut self) -> Result<()> {
        if self.keep_f32 {
            return Ok(());
        }
        let mut weights = model::parameters(&self.master.model)?;
        for weight in &mut weights {
            *weight = f16::from_f32(*weight).to_f32();
        }
        model::set_parameters(&mut self.master.model, &weights)
    }
}
