//! A training step: draw, forward, backward, clip, update.

use crate::{
    Config, Error, Layout, Model, Result,
    train::{adamw::Moments, batches, schedule, settings::Settings},
    transformer::Transformer,
};
use engine::{backend::Backend, cpu::Cpu, step, tensor::Place};
use mixed_precision::amp::scaler::Scaler;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its number, from 1.
    pub step: u64,
    /// The batch's mean loss, in nats a token, before the update.
    pub loss: f64,
    /// The learning rate.
    pub lr: f64,
    /// The gradient's norm before it was clipped.
    pub norm: f64,
}

impl Step {
    /// # Errors
    /// [`Error::Diverged`] if loss or norm is no number.
    fn check(&self) -> Result<()> {
        let Self { step, loss, lr, norm } = *self;
        for (what, found) in [("the loss", loss), ("the gradient's norm", norm)] {
            if !found.is_finite() {
                return Err(Error::Diverged { step, lr, what, found });
            }
        }
        Ok(())
    }
}

/// A model that learns, and all that its next step depends on, on a device of the engine.
pub struct Trainer<B: Backend = Cpu> {
    /// The model's sizes.
    pub config: Config,
    /// What the run was told.
    pub settings: Settings,
    /// Steps taken, of which it is known what they came to.
    pub step: u64,
    /// The model in the engine.
    pub transformer: Transformer<B>,
    /// The factor before derivatives in f16.
    pub scaler: Option<Scaler>,
    tokenizer: String,
    /// Steps that were begun behind these.
    begun: VecDeque<Begun<B::Fetching>>,
}

/// What a step that was begun will have come to.
struct Begun<F> {
    losses: Vec<F>,
    norm: F,
    lr: f64,
}

impl Trainer {
    /// A run that begins, on `stream`, on so many threads (0 for all).
    ///
    /// # Errors
    /// [`Error::Config`], [`Error::Length`], [`Error::TooShort`] or [`Error::Token`] if model, settings and stream do not fit
    /// each other.
    pub fn new(model: Model, settings: Settings, stream: &[u32], threads: usize) -> Result<Self> {
        check(&model, &settings, stream)?;
        let transformer = Transformer::new(&model, &settings, threads)?;
        Ok(Self::with(transformer, model, settings))
    }
}

/// Refuses what does not fit together.
pub(crate) fn check(model: &Model, settings: &Settings, stream: &[u32]) -> Result<()> {
    settings.check()?;
    model.config.check_tokens(stream)?;
    batches::places(stream, settings.length).map(drop)
}

impl<B: Backend> Trainer<B> {
    /// [`Trainer::new`] on a device.
    ///
    /// # Errors
    /// As [`Trainer::new`]; what the device fails with is [`Trainer::sound`]'s.
    pub fn on(device: B, model: Model, settings: Settings, stream: &[u32]) -> Result<Self> {
        check(&model, &settings, stream)?;
        let transformer = Transformer::on(device, &model, &settings)?;
        Ok(Self::with(transformer, model, settings))
    }

    fn with(transformer: Transformer<B>, model: Model, settings: Settings) -> Self {
        let Model { config, tokenizer, .. } = model;
        let (scaler, begun) = (settings.scaler(), VecDeque::new());
        Self { config, settings, step: 0, transformer, scaler, tokenizer, begun }
    }

    /// What has failed on the device.
    ///
    /// # Errors
    /// [`Error::Lab`].
    pub fn sound(&mut self) -> Result<()> {
        let told = self.transformer.step.device.told();
        told.map_err(|why| lab::Error::message(why.to_string()).into())
    }

    /// Tokens of a step.
    pub fn tokens(&self) -> usize {
        self.settings.batch * self.settings.length
    }

    /// The learning rate of the last step.
    pub fn last_rate(&self) -> f64 {
        schedule::rate(&self.settings, self.step.saturating_sub(1))
    }

    /// The model as it is now.
    pub fn model(&self) -> Model {
        let (config, tokenizer) = (self.config, self.tokenizer.clone());
        let parameters = self.transformer.step.to_file(Place::Params);
        Model { layout: Layout::new(&config), config, parameters, tokenizer }
    }

    /// The optimizer's memory.
    pub fn moments(&self) -> Moments {
        let [m, v] = [Place::Mean, Place::Square].map(|mean| self.transformer.step.to_file(mean));
        Moments { m, v }
    }

    /// Goes on behind so many steps, with these parameters and means, and the trainer's own factor.
    pub fn restore(&mut self, step: u64, parameters: &[f32], moments: &Moments) {
        self.begun.clear();
        restore(&mut self.transformer.step, (step, self.scaler), parameters, moments);
        self.step = step;
    }

    /// The last step's gradient, in the layout of the parameters, before it was clipped.
    pub fn gradient(&self) -> Vec<f32> {
        self.transformer.step.to_file(Place::Gradient)
    }

    /// The next step on the stream. Nothing changes if it fails.
    ///
    /// # Errors
    /// [`Error::Diverged`] if the loss or the gradient's norm is no number; [`Error::Config`] if f16 has none for gradients,
    /// whatever their factor; as [`Trainer::sound`].
    pub fn step(&mut self, stream: &[u32]) -> Result<Step> {
        self.begin(stream)?;
        self.end()
    }

    /// Begins the step behind all that were begun; a device is not waited for.
    ///
    /// # Errors
    /// As [`Trainer::new`], of the stream.
    pub fn begin(&mut self, stream: &[u32]) -> Result<()> {
        let at = self.step + self.ahead();
        begin(&mut self.transformer.step, self.scaler);
        let lr = schedule::rate(&self.settings, at);
        let (losses, norm) = self.transformer.begin(&self.settings, (at, lr), stream)?;
        self.begun.push_back(Begun { losses, norm, lr });
        Ok(())
    }

    /// Steps that are begun and have not ended.
    pub fn ahead(&self) -> u64 {
        self.begun.len() as u64
    }

    /// What the first step that was begun came to. Neither it nor those behind it change anything if it fails.
    ///
    /// # Errors
    /// As [`Trainer::step`].
    pub fn end(&mut self) -> Result<Step> {
        let tokens = self.tokens();
        let Some(Begun { losses, norm, lr }) = self.begun.pop_front() else {
            return Err(Error::Config("no step was begun".to_owned()));
        };
        let loss = self.transformer.loss(losses, tokens);
        let norm = self.transformer.step.device.fetched(norm);
        self.sound()?;
        let step = Step { step: self.step + 1, loss, lr, norm: f64::from(norm[0]) };
        let closed = close(&mut self.transformer.step, &mut self.scaler, &step);
        if closed.is_err() {
            self.begun.clear();
        }
        closed?;
        self.step = step.step;
        Ok(step)
    }
}

/// Puts parameters and means back, behind so many steps, some of which this factor's overflows have skipped.
pub(crate) fn restore<B: Backend>(
    engine: &mut step::Step<B>,
    (steps, scaler): (u64, Option<Scaler>),
    parameters: &[f32],
    moments: &Moments,
) {
    let places = [Place::Params, Place::Mean, Place::Square];
    for (place, values) in places.into_iter().zip([parameters, &moments.m, &moments.v]) {
        engine.from_file(place, values);
    }
    engine.set_updates((steps - updates_skipped(scaler)) as u32);
}

/// A step begins, with this factor before its derivatives.
pub(crate) fn begin<B: Backend>(engine: &mut step::Step<B>, scaler: Option<Scaler>) {
    if let Some(scaler) = scaler {
        engine.set_scale(scaler.scale());
    }
}

/// A step has come to this. Where its gradient left the range of f16, nothing has moved, and the factor changes.
///
/// # Errors
/// [`Error::Diverged`] if its loss or its norm is no number; [`Error::Config`] if no factor helps. Nothing has moved.
pub(crate) fn close<B: Backend>(
    engine: &mut step::Step<B>,
    scaler: &mut Option<Scaler>,
    step: &Step,
) -> Result<()> {
    let (finite, skipped) = (step.norm.is_finite(), updates_skipped(*scaler));
    let closed = match scaler {
        Some(scaler) if step.loss.is_finite() => {
            scaler.update(finite).map_err(|why| Error::Config(why.to_string()))
        }
        _ => step.check(),
    };
    if !finite {
        engine.set_updates((step.step - 1 - skipped) as u32);
        engine.set_clip(1.0); // the next may move them again
    }
    closed
}

/// Steps after which nothing moved.
fn updates_skipped(scaler: Option<Scaler>) -> u64 {
    scaler.map_or(0, |scaler| scaler.state().skipped as u64)
}
