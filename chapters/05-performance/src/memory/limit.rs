//! A made-small limit: what does not fit is refused before it runs, with the ways out.
//!
//! On a CPU, Rust ends the program when an allocation fails, and Linux may end it even later. On a GPU the failure is
//! an error in the middle of a step. Neither tells what to do; a prediction does.

use crate::{Error, Result, learner::needs};
use lab::Unit;
use training::Settings;

/// So many bytes and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit(pub u64);

/// What a step by the settings takes on so many images, and predictions of no more at a time.
fn bytes(settings: &Settings, images: usize) -> u64 {
    let most = settings.accumulate.unwrap_or(images).min(images);
    needs(&Settings { accumulate: Some(most), ..settings.clone() }, images).total()
}

impl Limit {
    /// The bytes of a step that fits.
    ///
    /// # Errors
    /// [`Error::Config`] with the ways out if it does not fit.
    pub fn check(self, settings: &Settings, images: usize) -> Result<u64> {
        let needed = bytes(settings, images);
        if needed <= self.0 {
            return Ok(needed);
        }
        let text = |bytes: u64| Unit::Bytes.format(bytes as f64);
        let (needed, limit) = (text(needed), text(self.0));
        let model = settings.model;
        Err(Error::Config(match self.largest_batch(settings) {
            0 => format!(
                "{model} does not fit {limit} with a single image; \
                 split it over several devices, or take a smaller one"
            ),
            most => format!(
                "a step of {model} on {images} images takes {needed}, \
                 and the limit is {limit}; take {most} at a time \
                 (--accumulate {most}), or recompute (--recompute)"
            ),
        }))
    }

    /// The largest batch whose step fits; 0 if not even one image does.
    pub fn largest_batch(self, settings: &Settings) -> usize {
        let settings = Settings { accumulate: None, ..settings.clone() };
        let fits = |batch: usize| bytes(&settings, batch) <= self.0;
        if !fits(1) {
            return 0;
        }
        // Each image takes at least a byte, so the limit is a bound.
        let (mut yes, mut no) = (1, 2);
        while fits(no) {
            (yes, no) = (no, 2 * no);
        }
        while no - yes > 1 {
            let middle = yes + (no - yes) / 2;
            if fits(middle) {
                yes = middle;
            } else {
                no = middle;
            }
        }
        yes
    }
}
