//! A made-small limit: what does not fit is refused before it runs, with the ways out.
//!
//! On a CPU, Rust ends the program when an allocation fails, and Linux may end it even later. On a GPU the failure is
//! an error in the middle of a step. Neither tells what to do; a prediction does.

use super::predict::timeline;
use crate::{Error, Result};
use backprop::{count::Model, fits::Moves};
use lab::Unit;

/// So many bytes and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit(pub u64);

impl Limit {
    /// The peak of a step that fits.
    ///
    /// # Errors
    /// [`Error::Config`] with the ways out if it does not fit, or if the model can't be.
    pub fn check(self, model: &Model, batch: u64, threads: u64) -> Result<u64> {
        let needed = timeline(model, batch, Moves::Adam, threads)?.peak();
        if needed <= self.0 {
            return Ok(needed);
        }
        let text = |bytes: u64| Unit::Bytes.format(bytes as f64);
        let (needed, limit) = (text(needed), text(self.0));
        let name = &model.name;
        Err(Error::Config(match self.largest_batch(model, threads)? {
            0 => format!(
                "{name} does not fit {limit} with a single image; \
                 split it over several devices, or take a smaller one"
            ),
            most => format!(
                "a step of {name} on {batch} images takes {needed}, \
                 and the limit is {limit}; take {most} at a time \
                 and add up their gradients, or recompute"
            ),
        }))
    }

    /// The largest batch whose step fits; 0 if not even one image does.
    ///
    /// # Errors
    /// [`Error::Config`] if the model can't be.
    pub fn largest_batch(self, model: &Model, threads: u64) -> Result<u64> {
        let fits = |batch: u64| -> Result<bool> {
            Ok(timeline(model, batch, Moves::Adam, threads)?.peak() <= self.0)
        };
        if !fits(1)? {
            return Ok(0);
        }
        // More images never take less. Each takes at least a byte, so the limit is a bound.
        let (mut yes, mut no) = (1, 2);
        while fits(no)? {
            (yes, no) = (no, 2 * no);
        }
        while no - yes > 1 {
            let middle = yes + (no - yes) / 2;
            if fits(middle)? {
                yes = middle;
            } else {
                no = middle;
            }
        }
        Ok(yes)
    }
}
