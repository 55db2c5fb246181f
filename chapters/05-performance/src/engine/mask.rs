//! Dropout from few random numbers. dfdx asks a generator made for secrets (`ChaCha`) twice for each unit, once forward
//! and once backward. A mask needs no secrets: one number of 64 bits, a function of the step and the position, decides
//! about four units.

use backprop::{Error, Result, random};

/// Which units of a step are left out, and what the others are multiplied with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mask {
    key: u64,
    /// Parts of 16 bits below this one leave their unit out.
    below: u16,
}

impl Mask {
    /// Leaves nothing out.
    pub const NONE: Self = Self { key: 0, below: 0 };

    /// Leaves out this fraction of the units, rounded to a 65536th, from 0 up to, not including, 1. `key` is another
    /// one in each step and each layer.
    ///
    /// # Errors
    /// [`Error::Config`] for another fraction.
    pub fn new(share: f64, key: u64) -> Result<Self> {
        if !(0.0..1.0).contains(&share) {
            return Err(Error::Config(format!(
                "a dropout of {share} can't be; give a fraction from 0 up to, not including, 1, such as 0.2"
            )));
        }
        Ok(Self { key, below: (share * 65536.0).round().min(65535.0) as u16 })
    }

    /// What the units that stay are multiplied with: one over their fraction.
    pub fn scale(self) -> f32 {
        (1.0 / (1.0 - f64::from(self.below) / 65536.0)) as f32
    }

    /// Whether unit `index` of a batch stays.
    pub fn keeps(self, index: usize) -> bool {
        let four = random::at(self.key, (index / 4) as u64);
        (four >> (16 * (index % 4))) as u16 >= self.below
    }

    // ANCHOR: apply
    /// Leaves units out of `y`, whose first one is number `first` of the
    /// batch, and scales the others: one random number for four units.
    pub fn apply(self, first: usize, y: &mut [f32]) {
        if self.below == 0 {
            return;
        }
        let scale = self.scale();
        let lead = y.len().min(first.wrapping_neg() % 4);
        let (lead, rest) = y.split_at_mut(lead);
        let start = (first + lead.len()) / 4;
        let (fours, last) = rest.as_chunks_mut::<4>();
        let after = 4 * (start + fours.len());
        for (index, four) in (start..).zip(fours) {
            let random = random::at(self.key, index as u64);
            for (part, y) in four.iter_mut().enumerate() {
                let stays = (random >> (16 * part)) as u16 >= self.below;
                *y *= if stays { scale } else { 0.0 };
            }
        }
        for (index, y) in (first..).zip(lead).chain((after..).zip(last)) {
            *y *= if self.keeps(index) { scale } else { 0.0 };
        }
    }
    // ANCHOR_END: apply
}
