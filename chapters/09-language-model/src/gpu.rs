//! The same trainer on a GPU: the list of operations is the engine's, and so is the backend (chapter 5). This chapter adds the
//! kernels of its layers, in `kernels/`, and what a run needs: memory that is asked for, and a way home.

use crate::{
    Config, Result,
    train::{Backend, Settings, Step, Trainer},
    transformer::{of_run, passes},
};
use cpu_gpu::gpu;
use engine::tensor::Place;
use engine_gpu::{Gpu, cast};

/// Steps that are begun before it is asked what the first came to.
const AHEAD: u64 = 2;

/// A trainer with its model and its optimizer's memory on a device, at the step of one on this machine's cores.
///
/// # Errors
/// A sentence for more memory than the device has; as [`Trainer::new`]; what the device or its compiler says.
pub fn trainer<'g>(
    gpu: &'g dyn gpu::Gpu,
    begun: &Trainer,
    stream: &[u32],
) -> Result<Trainer<Gpu<'g>>> {
    let device = Gpu::new(gpu);
    let Trainer { config, settings, step, .. } = *begun;
    let text = 4 * stream.len() as u64;
    let needed = |batch| bytes(&config, &settings, batch).saturating_add(text);
    device.fits(settings.batch, "sequences", [1, 1], needed)?;
    let model = begun.model();
    let parameters = model.parameters.clone();
    let mut own = Trainer::on(device, model, settings, stream)?;
    own.restore(step, &parameters, &begun.moments());
    own.sound()?;
    Ok(own)
}

/// Bytes that a step on so many sequences takes on a GPU; more than any has for a batch that can't be cut into its pieces.
pub(crate) fn bytes(config: &Config, settings: &Settings, batch: usize) -> u64 {
    let Settings { accumulate, length, .. } = *settings;
    if !batch.is_multiple_of(accumulate) {
        return u64::MAX;
    }
    let passes = passes(&Settings { batch, ..*settings }, batch / accumulate * length);
    cast::bytes(&of_run(config, settings), &passes)
}

impl Backend for Trainer<Gpu<'_>> {
    fn step(&mut self, stream: &[u32]) -> Result<Step> {
        Trainer::step(self, stream)
    }

    fn step_of(&mut self, stream: &[u32], last: u64) -> Result<Step> {
        while self.ahead() == 0 || self.ahead() <= AHEAD && self.step + self.ahead() < last {
            self.begin(stream)?;
        }
        self.end()
    }

    fn ahead(&self) -> u64 {
        Trainer::ahead(self)
    }

    fn plan(&mut self, steps: u64) {
        self.settings.steps = steps;
    }

    fn hand_back(&mut self, trainer: &mut Trainer) -> Result<()> {
        let (parameters, moments) = (self.transformer.step.to_file(Place::Params), self.moments());
        self.sound()?;
        trainer.restore(self.step, &parameters, &moments);
        Ok(())
    }
}
