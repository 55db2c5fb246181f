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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rises_in_equal_steps_and_falls_to_a_tenth() {
        let settings = Settings { lr: 0.5, warmup: 4, steps: 104, ..Settings::default() };
        let rates: Vec<f64> = (0..5).map(|step| rate(&settings, step)).collect();
        assert_eq!(rates, [0.125, 0.25, 0.375, 0.5, 0.5]);
        assert!((4..104).all(|step| rate(&settings, step + 1) < rate(&settings, step)));
        assert!((rate(&settings, 54) - 0.275).abs() < 1e-12, "half way");
        assert!((rate(&settings, 104) - 0.05).abs() < 1e-12);
        assert_eq!(rate(&settings, 104), rate(&settings, 9999));
        let short = Settings { warmup: 10, steps: 3, ..settings };
        assert!((0..20).all(|step| rate(&short, step) > 0.0));
        assert!(rate(&Settings { warmup: 0, ..settings }, 0) == 0.5);
    }
}
