//! A step of training in mixed precision.

use crate::amp::{
    replica::{
        H, Half, HalfEngine, HalfImages, HalfLogits, HalfModel, HalfTape, halved, loaded, unscaled,
    },
    scaler::{PYTORCH, Scaler, Scaling},
};
use dfdx::{dtypes::f16, losses::cross_entropy_with_logits_loss, prelude::*};
use training::{
    Error, Result, Settings,
    checkpoint::{Checkpoint, LossScale},
    model::{self, Images, Logits, Network, Targets},
    optimizer::State,
    step::{Full, Learner, Scores, Stepper},
};

/// The forward pass in f16, with every operation on the tape.
pub type Forward<M, D> = fn(
    &mut Half<M, D>,
    HalfImages<D, HalfTape<D>>,
) -> Result<HalfLogits<D, HalfTape<D>>, <D as HasErr>::Err>;

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
    forward: Forward<M, D>,
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
            forward: Half::<M, D>::learn,
            finite: true,
        })
    }

    /// The same with another factor before the loss.
    #[must_use]
    pub fn scaling(self, scaling: Scaling) -> Self {
        Self { scaler: Scaler::new(scaling), ..self }
    }

    /// The same with another forward pass.
    #[must_use]
    pub fn forward(self, forward: Forward<M, D>) -> Self {
        Self { forward, ..self }
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
        let scores = (self.forward)(half, images)?;
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

    /// What is not finite has no numbers here: all of the row says so.
    fn pack(&self, row: &mut Vec<f32>) -> Result<()> {
        let from = row.len();
        self.master.pack(row)?;
        if !self.finite {
            row[from..].fill(f32::NAN);
        }
        Ok(())
    }

    fn unpack(&mut self, row: &[f32]) -> Result<()> {
        self.finite = row.iter().all(|value| value.is_finite());
        if self.finite { self.master.unpack(row) } else { self.master.discard() }
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

    fn scores(&self, images: Images<D>) -> Result<Vec<f32>> {
        self.master.scores(images)
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        self.master.parameters()
    }

    fn learned(&self) -> usize {
        self.master.learned()
    }

    fn state(&self) -> Result<State> {
        self.master.state()
    }

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
    fn round(&mut self) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amp::scaler::Dynamic;
    use backprop::check::error_f32;
    use training::{mlp::Mlp, model::PIXELS};

    type Model = Mlp<Cpu>;

    fn batch(dev: &Cpu, size: f32) -> (Images<Cpu>, Targets<Cpu>) {
        let pixels: Vec<f32> =
            (0..8 * PIXELS).map(|i| size * ((i * 37 % 101) as f32) / 101.0).collect();
        let mut hot = vec![0.0; 80];
        for row in 0..8 {
            hot[row * 10 + row] = 1.0;
        }
        (dev.tensor_from_vec(pixels, (8, Const)), dev.tensor_from_vec(hot, (8, Const)))
    }

    fn amp(scaling: Scaling) -> (Cpu, Amp<Model, Cpu>) {
        let dev = Cpu::seed_from_u64(4);
        let settings = Settings { dropout: 0.0, ..Settings::default() };
        let amp = Amp::new(&dev, &settings).unwrap().scaling(scaling);
        (dev, amp)
    }

    /// The f32 gradient of the first layer, and that of a step in mixed precision.
    fn both(scaling: Scaling, size: f32) -> (Vec<f32>, Vec<f32>) {
        let (dev, mut amp) = amp(scaling);
        let (images, targets) = batch(&dev, size);
        let model = &mut amp.master.model;
        let scores = model.learn(images.clone().traced(model.alloc_grads())).unwrap();
        let grads = cross_entropy_with_logits_loss(scores, targets.clone()).backward();
        let full = grads.get(&amp.master.model.0.0.weight).as_vec();
        let mut half = halved(&amp.master.model).unwrap();
        let (_, grads) = amp.passes(&mut half, images, targets).unwrap();
        let back = unscaled::<Model, Cpu>(&half, &grads, amp.scaler.scale()).unwrap().unwrap();
        (full, back.0.0.weight.as_vec())
    }

    #[test]
    fn gradients_are_those_of_f32_to_a_thousandth() {
        let (full, half) = both(Scaling::Static(1024.0), 1.0);
        let off = error_f32(&half, &full);
        assert!(off > 0.0 && off < 3e-3, "{off}");
    }

    #[test]
    fn a_power_of_two_saves_small_gradients_and_changes_no_others() {
        let (full, small) = both(Scaling::Static(1.0 / 65536.0), 1.0);
        let (_, scaled) = both(Scaling::Static(1024.0), 1.0);
        assert!(error_f32(&small, &full) > 0.03, "nothing vanished");
        assert!(error_f32(&scaled, &full) < 3e-3);
        // Where nothing leaves the normal range, powers of two give the same bits.
        let (_, one) = both(Scaling::Static(2048.0), 1.0);
        let (_, two) = both(Scaling::Static(4096.0), 1.0);
        let same = one.iter().zip(&two).filter(|(a, b)| a.to_bits() == b.to_bits()).count();
        assert!(same * 100 > 99 * one.len(), "{same} of {}", one.len());
    }

    #[test]
    fn an_overflow_skips_the_step_and_halves_the_factor() {
        let start = 2f32.powi(40);
        let (dev, mut amp) = amp(Scaling::Dynamic(Dynamic { start, every: 2 }));
        let before = amp.parameters().unwrap();
        let (images, targets) = batch(&dev, 1.0);
        amp.step(1e-3, images.clone(), targets.clone()).unwrap();
        assert_eq!(amp.parameters().unwrap(), before);
        let state = amp.loss_scale().unwrap();
        assert_eq!((state.scale.to_bits(), state.skipped), ((start / 2.0).to_bits(), 1));
        assert_eq!(amp.state().unwrap().t, 0);
        for _ in 0..40 {
            amp.step(1e-3, images.clone(), targets.clone()).unwrap();
        }
        assert_ne!(amp.parameters().unwrap(), before);
        let state = amp.loss_scale().unwrap();
        assert_eq!(amp.state().unwrap().t, 41 - state.skipped);
    }

    #[test]
    fn weights_in_f16_lose_updates_below_half_an_ulp() {
        let moved = |keep_f32: bool, lr: f64| {
            let (dev, mut amp) = amp(Scaling::Static(1024.0));
            amp.keep_f32 = keep_f32;
            amp.round().unwrap();
            let before = amp.parameters().unwrap();
            let (images, targets) = batch(&dev, 1.0);
            amp.step(lr, images, targets).unwrap();
            let after = amp.parameters().unwrap();
            // Adam's first step is as long as the rate. For 2⁻⁶ and above, half an ulp of f16 is 2⁻¹⁷ or more.
            let large = before.iter().zip(&after).filter(|(b, _)| b.abs() > 2f32.powi(-6));
            let (mut all, mut moved) = (0, 0);
            for (b, a) in large {
                (all, moved) = (all + 1, moved + usize::from(a.to_bits() != b.to_bits()));
            }
            moved as f64 / f64::from(all)
        };
        let below = 0.9 * 2f64.powi(-17);
        assert!(moved(true, below) > 0.3);
        assert!(moved(false, below) < 1e-9);
        assert!(moved(false, 1e-3) > 0.3);
    }
}
