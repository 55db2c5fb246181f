//! The learning rate over a run: warm up, then stay or fall.

use crate::config::Settings;
use std::f64::consts::PI;

pub use crate::config::Schedule;

// ANCHOR: rate
/// The learning rate of a step, from 0, of a run of so many steps in all.
pub fn rate(settings: &Settings, step: usize, steps: usize) -> f64 {
    let Settings { lr, warmup, schedule, .. } = *settings;
    if step < warmup {
        // The first gradients know little: begin with small steps.
        return lr * (step + 1) as f64 / warmup as f64;
    }
    match schedule {
        Schedule::Constant => lr,
        Schedule::Cosine => {
            let left = (steps.max(warmup + 1) - warmup) as f64;
            let done = (step - warmup) as f64 / left;
            lr * (1.0 + (PI * done.min(1.0)).cos()) / 2.0
        }
    }
}
// ANCHOR_END: rate
