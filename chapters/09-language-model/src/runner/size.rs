//! The sizes that a user names.

use crate::{Config, Error, count, train::Settings};
use std::str::FromStr;

/// A size by name, or by its number of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Size {
    /// [`Config::tiny`].
    #[default]
    Tiny,
    /// [`Config::small`].
    Small,
    /// The model of the family of [`count::near`] with about so many parameters.
    Parameters(f64),
}

/// The smallest and the largest number of parameters that a user may ask for.
const LIMITS: (f64, f64) = (1e4, 2e9);

impl Size {
    /// The sizes as numbers, with a context of so many tokens (the size's own without one).
    pub fn config(self, context: Option<usize>) -> Config {
        let config = match self {
            Self::Tiny => Config::tiny(),
            Self::Small => Config::small(),
            Self::Parameters(number) => {
                let vocabulary = if number < 3e6 { 1024 } else { 2048 };
                count::near(number, vocabulary, 256)
            }
        };
        Config { context: context.unwrap_or(config.context), ..config }
    }
}

/// The usual settings of a model: the learning rate falls with the width, so that a step changes what a layer makes by about
/// as much (Yang et al. 2021, "Tensor Programs V", for Adam).
pub fn settings(config: &Config) -> Settings {
    let usual = Settings::default();
    let lr = usual.lr * (Config::tiny().width as f64 / config.width as f64).min(1.0);
    // Two figures are all that a learning rate is known by.
    let unit = 10f64.powf(lr.log10().floor() - 1.0);
    Settings { length: config.context, lr: (lr / unit).round() * unit, ..usual }
}

impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let name = text.to_ascii_lowercase();
        let units = [('k', 1e3), ('m', 1e6), ('b', 1e9)];
        let cut = |(letter, unit): (char, f64)| Some((name.strip_suffix(letter)?, unit));
        let (digits, unit) = units.into_iter().find_map(cut).unwrap_or((name.as_str(), 1.0));
        match (name.as_str(), digits.parse::<f64>()) {
            ("tiny", _) => Ok(Self::Tiny),
            ("small", _) => Ok(Self::Small),
            (_, Ok(number)) if (LIMITS.0..=LIMITS.1).contains(&(number * unit)) => {
                Ok(Self::Parameters(number * unit))
            }
            _ => Err(Error::Config(format!(
                "{text:?} is no size; take tiny, small, or a number of parameters from 10k to 2B, such as 3M"
            ))),
        }
    }
}
