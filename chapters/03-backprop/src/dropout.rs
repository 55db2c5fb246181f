//! Dropout: in training, each unit is left out with a given probability, so that no unit can rely
//! on one other. What remains is scaled up, so that the sums keep their size and testing needs no change.
//! (Srivastava and others 2014.)

use crate::{Error, Result, random};

/// How often units are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The fraction of units that is left out.
    rate: f64,
    /// Numbers of 32 bits below this one leave the unit out.
    below: u64,
}

impl Dropout {
    /// Leaves out this fraction of the units, from 0 up to, not including, 1.
    ///
    /// # Errors
    /// [`Error::Config`] for another rate.
    pub fn new(rate: f64) -> Result<Self> {
        if !(0.0..1.0).contains(&rate) {
            return Err(Error::Config(format!(
                "a dropout of {rate} can't be; give a fraction from 0 up to, not including, 1, such as 0.2"
            )));
        }
        Ok(Self { rate, below: (rate * 2f64.powi(32)).round() as u64 })
    }

    /// The fraction of units that is left out.
    pub fn rate(self) -> f64 {
        self.rate
    }

    /// What the units that stay are multiplied with: 1 / (1 − rate).
    pub fn scale(self) -> f64 {
        1.0 / (1.0 - self.rate)
    }

    /// Whether unit `index` of a batch stays; `key` is another one in each step (see [`random::key`]).
    #[inline]
    pub fn keeps(self, key: u64, index: usize) -> bool {
        random::at(key, index as u64) >> 32 >= self.below
    }

    /// What each of `len` units is multiplied with: 0 or [`Dropout::scale`].
    // ANCHOR: mask
    pub fn mask<T: crate::real::Real>(self, key: u64, len: usize) -> Vec<T> {
        let scale = T::of(self.scale());
        let factor = |index| if self.keeps(key, index) { scale } else { T::ZERO };
        (0..len).map(factor).collect()
    }
    // ANCHOR_END: mask
}
