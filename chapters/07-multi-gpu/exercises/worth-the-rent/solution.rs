//! The number of devices that is worth its rent.

/// What a data parallel step is made of.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Seconds of the forward and the backward pass on one device, for the whole batch.
    pub compute: f64,
    /// Seconds of the update.
    pub update: f64,
    /// Bytes of the gradient.
    pub bytes: f64,
    /// Start-up of a message, in seconds.
    pub alpha: f64,
    /// Seconds for each byte.
    pub beta: f64,
}

/// Seconds of a step on `p` devices.
pub fn time(step: Step, p: usize) -> f64 {
    let devices = p as f64;
    // EXERCISE: begin
    let message = step.alpha + step.beta * step.bytes / devices;
    step.compute / devices + 2.0 * (devices - 1.0) * message + step.update
    // EXERCISE: instead
    // let message = step.alpha + step.beta * step.bytes;
    // step.compute / devices + devices * message + step.update / devices
    // EXERCISE: end
}

/// The most devices, 1 to `limit`, with a parallel efficiency of at least `wanted`.
pub fn most(step: Step, wanted: f64, limit: usize) -> usize {
    // EXERCISE: begin
    let rent = |p: usize| p as f64 * time(step, p);
    let worth = |p: &usize| rent(1) >= wanted * rent(*p);
    (1..=limit).take_while(worth).count()
    // EXERCISE: instead
    // // The fastest.
    // let _ = wanted;
    // (1..=limit).min_by(|p, q| time(step, *p).total_cmp(&time(step, *q))).unwrap_or(1)
    // EXERCISE: end
}
