//! What happens without each part of mixed precision.

use crate::amp::{
    deep::Deep,
    replica::{H, Half, HalfEngine, HalfModel, halved},
    scaler::{PYTORCH, Scaling},
    step::Amp,
};
use dfdx::{
    losses::cross_entropy_with_logits_loss,
    optim::{Adam, AdamConfig, Optimizer},
    prelude::*,
};
use lab::data::DataSet;
use std::fmt;
use training::{
    Config, Error, Outcome, Result, Settings, Silent,
    checkpoint::Checkpoint,
    mlp::Mlp,
    model::{self, Images, Network, Targets},
    optimizer::State,
    step::{Full, Stepper},
    team::Alone,
    train_stepper,
};

/// A way to train: all of mixed precision, or all but one part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Variant {
    /// No f16 at all.
    F32,
    /// All parts, with PyTorch's dynamic scale.
    Amp,
    /// No factor before the loss.
    NoScale,
    /// No factor, and a loss that is 65,536 times smaller, as that of a term with a small weight: after the backward
    /// pass, its gradients are multiplied by as much in f32. So all that is missing is what f16 has lost.
    SmallLoss,
    /// No f32 weights: they are f16 between steps, though Adam's sums are f32.
    NoMasters,
    /// All in f16: weights, Adam's means, and this ε in its division.
    HalfAdam {
        /// Keeps the division away from zero.
        epsilon: f64,
    },
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::F32 => f.write_str("f32"),
            Self::Amp => f.write_str("amp"),
            Self::NoScale => f.write_str("no scale"),
            Self::SmallLoss => f.write_str("no scale, small loss"),
            Self::NoMasters => f.write_str("no masters"),
            Self::HalfAdam { epsilon } => write!(f, "f16 adam {epsilon:e}"),
        }
    }
}

/// What is trained, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Whether the model is [`Deep`], or else chapter 4's perceptron.
    pub deep: bool,
    /// Images of one step.
    pub batch: usize,
    /// The learning rate.
    pub lr: f64,
    /// Its epochs.
    pub epochs: usize,
    /// The ways to train it.
    pub variants: &'static [Variant],
}

/// The batch of the deep network: the more images the mean is taken of, the smaller is each one's part in it.
pub const DEEP_BATCH: usize = 4096;

/// What a small loss is multiplied by.
const SMALL_LOSS: f32 = 1.0 / 65536.0;

/// The settings: the article's example, one with small gradients, and one with small steps.
pub const SETTINGS: [Setting; 3] = [
    Setting {
        name: "usual",
        deep: false,
        batch: 128,
        lr: 1e-3,
        epochs: 5,
        variants: &[
            Variant::F32,
            Variant::Amp,
            Variant::NoScale,
            Variant::SmallLoss,
            Variant::NoMasters,
            Variant::HalfAdam { epsilon: 1e-8 },
            Variant::HalfAdam { epsilon: 1e-3 },
        ],
    },
    Setting {
        name: "deep",
        deep: true,
        batch: DEEP_BATCH,
        lr: 1e-3,
        epochs: 10,
        variants: &[Variant::F32, Variant::Amp, Variant::NoScale],
    },
    Setting {
        name: "small steps",
        deep: false,
        batch: 128,
        lr: 1e-5,
        epochs: 5,
        variants: &[Variant::F32, Variant::Amp, Variant::NoMasters],
    },
];

impl Setting {
    /// The choices of one run.
    pub fn settings(&self, seed: u64) -> Settings {
        Settings {
            batch: self.batch,
            lr: self.lr,
            epochs: self.epochs,
            seed,
            ..Settings::default()
        }
    }

    /// Trains one variant on the CPU.
    ///
    /// # Errors
    /// As [`training::train_on`]; [`Error::Diverged`] where the variant can't work.
    pub fn train(&self, variant: Variant, seed: u64, data: &DataSet) -> Result<Outcome> {
        let config = Config { settings: self.settings(seed), ..Config::default() };
        let dev = Cpu::seed_from_u64(seed);
        if self.deep {
            return with::<Deep<f32, Cpu>>(variant, &dev, &config, data);
        }
        with::<Mlp<Cpu>>(variant, &dev, &config, data)
    }
}

/// Trains a model of one kind.
fn with<M>(variant: Variant, dev: &Cpu, config: &Config, data: &DataSet) -> Result<Outcome>
where
    M: Network<Cpu>,
    Half<M, Cpu>: HalfModel<Cpu> + TensorCollection<H, Cpu, To<f32, Cpu> = M>,
{
    let settings = &config.settings;
    let scaling = match variant {
        Variant::F32 => {
            let mut full = Full::<M, Cpu>::new(dev, settings)?;
            return train_stepper(&mut full, &Alone, dev, config, data, &mut Silent);
        }
        Variant::HalfAdam { epsilon } => {
            let mut half = AllHalf::<M, Cpu>::new(dev, settings, epsilon)?;
            return train_stepper(&mut half, &Alone, dev, config, data, &mut Silent);
        }
        Variant::NoScale => Scaling::Off,
        Variant::SmallLoss => Scaling::Static(SMALL_LOSS),
        Variant::Amp | Variant::NoMasters => Scaling::Dynamic(PYTORCH),
    };
    let mut amp = Amp::<M, Cpu>::new(dev, settings)?.scaling(scaling);
    amp.keep_f32 = variant != Variant::NoMasters;
    train_stepper(&mut amp, &Alone, dev, config, data, &mut Silent)
}

// ANCHOR: all_half
/// dfdx's model and dfdx's Adam, in f16 throughout: the shortest way.
struct AllHalf<M: Network<D>, D: HalfEngine> {
    model: Half<M, D>,
    adam: Adam<Half<M, D>, H, D>,
}

impl<M, D> AllHalf<M, D>
where
    D: HalfEngine,
    M: Network<D>,
    Half<M, D>: HalfModel<D> + TensorCollection<H, D, To<f32, D> = M>,
{
    fn new(dev: &D, settings: &Settings, eps: f64) -> Result<Self> {
        let model = halved(&Full::<M, D>::new(dev, settings)?.model)?;
        let usual = AdamConfig::default();
        let config = AdamConfig { lr: settings.lr, eps, ..usual };
        let adam = Adam::new(&model, config);
        Ok(Self { model, adam })
    }
}
// ANCHOR_END: all_half

impl<M, D> Stepper for AllHalf<M, D>
where
    D: HalfEngine,
    M: Network<D>,
    Half<M, D>: HalfModel<D> + TensorCollection<H, D, To<f32, D> = M>,
{
    type Device = D;

    fn step(&mut self, _: f64, images: Images<D>, targets: Targets<D>) -> Result<Vec<f32>> {
        let grads = self.model.try_alloc_grads().map_err(Error::device)?;
        let images = images.try_to_dtype::<H>().map_err(Error::device)?;
        let scores = self.model.learn(images.traced(grads)).map_err(Error::device)?;
        let seen = scores.as_vec().iter().map(|score| score.0.to_f32()).collect();
        let targets = targets.try_to_dtype::<H>().map_err(Error::device)?;
        let loss = cross_entropy_with_logits_loss(scores, targets);
        let grads = loss.try_backward().map_err(Error::device)?;
        let done = Optimizer::update(&mut self.adam, &mut self.model, &grads);
        done.map_err(|e| Error::Config(format!("the optimizer failed: {e:?}")))?;
        Ok(seen)
    }

    fn scores(&self, images: Images<D>) -> Result<Vec<f32>> {
        let wide = self.model.try_to_dtype::<f32>().map_err(Error::device)?;
        Ok(wide.predict(images).map_err(Error::device)?.as_vec())
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        let wide = self.model.try_to_dtype::<f32>().map_err(Error::device)?;
        model::parameters(&wide)
    }

    fn learned(&self) -> usize {
        self.model.num_trainable_params()
    }

    fn state(&self) -> Result<State> {
        Err(cannot_be_saved())
    }

    fn restore(&mut self, _: &D, _: &Checkpoint) -> Result<()> {
        Err(cannot_be_saved())
    }
}

fn cannot_be_saved() -> Error {
    Error::Config("an ablation can't be saved or resumed; train without a folder".into())
}
