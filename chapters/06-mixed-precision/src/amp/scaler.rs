//! The factor before the loss: large enough that gradients do not vanish in f16, small enough that they do not overflow.

pub use training::checkpoint::LossScale;
use training::{Error, Result};

/// How the factor changes while training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dynamic {
    /// The first factor.
    pub start: f32,
    /// Good steps after which it doubles.
    pub every: u32,
}

/// The constants of PyTorch's `GradScaler`: `init_scale` and `growth_interval`. Its growth factor is 2 and its backoff
/// factor one half, as here.
pub const PYTORCH: Dynamic = Dynamic { start: 65536.0, every: 2000 };

/// The factor before the loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// Always one.
    Off,
    /// Always the same. A power of two costs no rounding.
    Static(f32),
    /// Found while training.
    Dynamic(Dynamic),
}

/// Below this the gradients are so large that no factor helps.
const HOPELESS: f32 = 1.0 / 65536.0;

// ANCHOR: scaler
/// The factor and its rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaler {
    scaling: Scaling,
    at: LossScale,
}

impl Scaler {
    /// Notes whether a step's gradients were all finite.
    fn note(&mut self, finite: bool) {
        if finite {
            self.at.good += 1;
        } else {
            self.at.skipped += 1; // the step is lost, the weights are not
        }
        let Scaling::Dynamic(rule) = self.scaling else { return };
        if !finite {
            (self.at.scale, self.at.good) = (self.at.scale / 2.0, 0);
        } else if self.at.good >= rule.every && self.at.scale < LARGEST {
            (self.at.scale, self.at.good) = (self.at.scale * 2.0, 0);
        }
    }
}
// ANCHOR_END: scaler

/// The factor grows no further: its inverse must stay a normal f32.
const LARGEST: f32 = 1e37;

impl Scaler {
    /// A scaler that has seen no step.
    pub fn new(scaling: Scaling) -> Self {
        let scale = match scaling {
            Scaling::Off => 1.0,
            Scaling::Static(scale) => scale,
            Scaling::Dynamic(rule) => rule.start,
        };
        Self { scaling, at: LossScale { scale, good: 0, skipped: 0 } }
    }

    /// The factor of the next step.
    pub fn scale(&self) -> f32 {
        self.at.scale
    }

    /// The state, to save.
    pub fn state(&self) -> LossScale {
        self.at
    }

    /// Goes on from a saved state.
    pub fn set_state(&mut self, at: LossScale) {
        self.at = at;
    }

    /// Notes whether a step's gradients were all finite: after an overflow the factor halves, after enough good steps
    /// it doubles.
    ///
    /// # Errors
    /// [`Error::Config`] if gradients overflow whatever the factor is.
    pub fn update(&mut self, finite: bool) -> Result<()> {
        self.note(finite);
        if self.at.scale < HOPELESS {
            return Err(Error::Config(
                "the gradients are too large for f16 whatever the loss scale; choose a smaller --lr, or train with \
                 --precision f32"
                    .into(),
            ));
        }
        Ok(())
    }
}
