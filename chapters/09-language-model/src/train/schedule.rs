//! The learning rate over a run: it rises in equal steps, then falls along a cosine to a tenth (Loshchilov and Hutter 2017,
//! "SGDR"; Brown et al. 2020, GPT-3, appendix B, for the tenth).

use crate::train::settings::Settings;
use std::f64::consts::PI;

/// What is left of the learning rate at the end.
const FLOOR: f64 = 0.1;

/// The learning rate of a step, from 0.
// ANCHOR: rate
pub fn rate(settings: &Settings, step: u64) -> f64 {
    let Settings { lr, warmup, steps, .. } = *settings;
    if step < warmup {
        return lr * (step + 1) as f64 / warmup as f64;
    }
    let done = (step - warmup) as f64 / (steps.max(warmup + 1) - warmup) as f64;
    lr * (FLOOR + (1.0 - FLOOR) * (1.0 + (PI * done.min(1.0)).cos()) / 2.0)
}
// ANCHOR_END: rate
