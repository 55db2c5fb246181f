//! The settings of a run.

use crate::{Error, Result};
use lab::out::short;
use serde::{Deserialize, Serialize};

lab::named! {
    /// The models of this chapter.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Model("model") {
        /// One layer: a weighted sum of the pixels for each digit.
        Linear = "linear",
        /// A multi-layer perceptron: 784, 128 and 10 units, with dropout.
        #[default]
        Mlp = "mlp",
        /// A convolutional network: two convolutions with pools, two dense layers, with dropout.
        Cnn = "cnn",
        /// A residual network: convolutions with batch normalisation, and ways around them.
        Resnet = "resnet",
        /// A recurrent network: the rows of an image one after the other.
        Rnn = "rnn",
        /// A transformer: the patches of an image, each looking at all others.
        Transformer = "transformer",
    }
}

lab::named! {
    /// The number format of the weights and the arithmetic.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Precision("precision") {
        /// 32-bit floating point throughout.
        #[default]
        F32 = "f32",
        /// Automatic mixed precision: weights in f32, products in f16, with a loss scale. It is chapter 6's, which trains with it.
        Amp = "amp",
        /// The same with products in bf16, which needs no scale; chapter 6's too.
        Bf16 = "bf16",
    }
}

lab::named! {
    /// What computes a step.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum EngineKind("engine") {
        /// This chapter's models, operation by operation: the readable one.
        #[default]
        #[serde(alias = "plain")]
        Dfdx = "dfdx" | "plain",
        /// Chapter 5's engine, which has all of these models, on a CPU and on GPUs.
        Fast = "fast",
    }
}

lab::named! {
    /// The rule by which an optimizer steps.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Rule("optimizer") {
        /// [`sgd`](crate::learning::optimizer::sgd).
        Sgd = "sgd",
        /// [`momentum`](crate::learning::optimizer::momentum).
        Momentum = "momentum",
        /// [`rmsprop`](crate::learning::optimizer::rmsprop).
        RmsProp = "rmsprop",
        /// [`adam`](crate::learning::optimizer::adam).
        #[default]
        Adam = "adam",
        /// [`adamw`](crate::learning::optimizer::adamw).
        AdamW = "adamw",
    }
}

impl Rule {
    /// A learning rate to begin with.
    pub fn usual_rate(self) -> f64 {
        match self {
            Self::Sgd => 0.1,
            Self::Momentum => 0.03,
            Self::RmsProp | Self::Adam | Self::AdamW => 1e-3,
        }
    }

    /// Numbers that it keeps for each parameter from step to step.
    pub fn memory(self) -> usize {
        match self {
            Self::Sgd => 0,
            Self::Momentum | Self::RmsProp => 1,
            Self::Adam | Self::AdamW => 2,
        }
    }
}

lab::named! {
    /// What the learning rate does after the warm-up.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Schedule("schedule") {
        /// It stays.
        #[default]
        Constant = "constant",
        /// It falls along half a cosine, to zero at the end. Loshchilov and Hutter 2017, equation 5, without restarts.
        Cosine = "cosine",
    }
}

/// The choices that decide what a run computes. With the data set they determine its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The model.
    pub model: Model,
    /// Its number format.
    pub precision: Precision,
    /// What computes its steps.
    #[serde(default)]
    pub engine: EngineKind,
    /// The rule of its steps.
    pub optimizer: Rule,
    /// How many times it sees all images.
    pub epochs: usize,
    /// Images of one step.
    pub batch: usize,
    /// The learning rate: how far one step goes.
    pub lr: f64,
    /// What becomes of the learning rate.
    pub schedule: Schedule,
    /// Steps in which the learning rate grows from almost nothing.
    pub warmup: usize,
    /// The fraction of itself that a weight loses in a step, before the learning rate.
    pub decay: f64,
    /// The fraction of units that dropout switches off, where the model has dropout.
    pub dropout: f64,
    /// Whether each epoch shows the images a little changed.
    pub augment: bool,
    /// Hold out a sixth of the training images, stop after so many epochs without a smaller loss on them, and
    /// keep the weights of the best epoch.
    pub patience: Option<usize>,
    /// Where weights, order, changes and dropout come from.
    pub seed: u64,
    /// Only so many images of the training set, drawn by the seed.
    pub limit: Option<usize>,
    /// At most so many images at a time, whose gradients are added up to those of the batch. Chapter 5's engine does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accumulate: Option<usize>,
    /// In so many segments the model keeps nothing but what goes in, and computes the rest again. Chapter 5's engine does it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub recompute: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_zero(segments: &usize) -> bool {
    *segments == 0
}

impl Default for Settings {
    /// The Keras example: 10 epochs with Adam's usual learning rate, which stays. Keras' batch of 32 is
    /// here [`DEFAULT_BATCH`].
    fn default() -> Self {
        Self {
            model: Model::Mlp,
            precision: Precision::F32,
            engine: EngineKind::Dfdx,
            optimizer: Rule::Adam,
            epochs: 10,
            batch: DEFAULT_BATCH,
            lr: 1e-3,
            schedule: Schedule::Constant,
            warmup: 0,
            decay: 0.0,
            dropout: 0.2,
            augment: false,
            patience: None,
            seed: 0,
            limit: None,
            accumulate: None,
            recompute: 0,
        }
    }
}

// ANCHOR: recipes
impl Settings {
    /// What suits a model, found by trying.
    pub fn of(model: Model) -> Self {
        let usual = Self { model, ..Self::default() };
        let falls = Self { schedule: Schedule::Cosine, ..usual.clone() };
        let adamw = Self { optimizer: Rule::AdamW, ..falls.clone() };
        let decays = Self { decay: 0.02, ..adamw };
        let slow = Self { lr: 3e-3, warmup: 200, ..decays.clone() };
        let turned = Self { dropout: 0.0, augment: true, ..slow };
        let attends = Self { lr: 2e-3, warmup: 400, ..decays };
        match model {
            Model::Linear => usual,
            Model::Mlp => Self { lr: 3e-3, epochs: 15, ..falls },
            Model::Cnn => Self { dropout: 0.5, epochs: 6, ..falls },
            Model::Resnet => Self { batch: 32, lr: 2e-3, epochs: 8, ..turned },
            Model::Rnn => Self { lr: 3e-3, warmup: 200, epochs: 6, ..falls },
            Model::Transformer => Self { epochs: 8, ..attends },
        }
    }
}
// ANCHOR_END: recipes

/// Keras takes 32. Four times as many images a step keep two cores busier and cost no accuracy that
/// the spread between seeds would not hide.
pub const DEFAULT_BATCH: usize = 128;

/// More images than MNIST has are no larger batch, and the memory for them is asked for before the first step.
pub const LARGEST_BATCH: usize = 65_536;

impl Settings {
    /// Whether dropout switches units off in the model.
    pub fn drops(&self) -> bool {
        self.dropout > 0.0 && matches!(self.model, Model::Mlp | Model::Cnn)
    }

    /// Which generator draws dropout's masks: 1 is chapter 5's. An engine that draws others gets another number, for a run with
    /// a part of each would be neither. 0 is dfdx's, what a program drew that wrote no number, and a model without dropout.
    pub fn masks(&self) -> u32 {
        u32::from(self.drops() && self.engine == EngineKind::Fast)
    }

    /// Refuses choices that can't work.
    ///
    /// # Errors
    /// [`Error::Config`] that names the option.
    pub fn check(&self) -> Result<()> {
        let zero = [
            ("--epochs", self.epochs),
            ("--batch", self.batch),
            ("--limit", self.limit.unwrap_or(1)),
            ("--patience", self.patience.unwrap_or(1)),
            ("--accumulate", self.accumulate.unwrap_or(1)),
        ];
        if let Some((flag, _)) = zero.iter().find(|(_, value)| *value == 0) {
            return Err(Error::Config(format!("{flag} must be at least 1")));
        }
        if self.engine != EngineKind::Fast && (self.accumulate.is_some() || self.recompute > 0) {
            return Err(Error::Config(
                "--accumulate and --recompute are for chapter 5's engine; take --engine fast"
                    .into(),
            ));
        }
        if self.batch > LARGEST_BATCH {
            return Err(Error::Config(format!("--batch must be at most {LARGEST_BATCH}")));
        }
        let Self { lr, decay, dropout, .. } = *self;
        // A step computes with 32 bits of them.
        let keeps_some = dropout >= 0.0 && (dropout as f32) < 1.0;
        for (flag, value, right, range) in [
            ("--lr", lr, lr as f32 > 0.0, "a number above 0, such as 0.001"),
            ("--decay", decay, decay >= 0.0, "a number from 0, such as 0.01"),
            ("--dropout", dropout, keeps_some, "a fraction from 0 to below 1"),
        ] {
            if !right || !(value as f32).is_finite() {
                let value = short(value);
                return Err(Error::Config(format!("{flag} must be {range}, not {value}")));
            }
        }
        Ok(())
    }
}
