//! The learning rate over a run.

use std::f64::consts::PI;

/// The learning rate of a step, from 0, of a run of so many steps in all. Over the first `warmup`
/// steps it grows to `peak` in equal parts, beginning with one part; then it falls along half a
/// cosine, which would reach `floor` at step `steps`. After that it stays.
pub fn rate(step: usize, steps: usize, warmup: usize, peak: f64, floor: f64) -> f64 {
    // EXERCISE: begin
    if step < warmup {
        return peak * (step + 1) as f64 / warmup as f64;
    }
    let whole = steps.saturating_sub(warmup).max(1) as f64;
    let done = ((step - warmup) as f64 / whole).min(1.0);
    floor + (peak - floor) * (1.0 + (PI * done).cos()) / 2.0
    // EXERCISE: instead
    // // A straight line, which falls from the first step on, and never stops.
    // let done = step as f64 / steps as f64;
    // let _ = (warmup, PI);
    // peak + (floor - peak) * done
    // EXERCISE: end
}
