//! The number of cards over which a model fits, by `ZeRO`'s stages.

/// The smallest number of cards with `memory` bytes each over which a model of so many `parameters` fits, with mixed precision
/// and Adam, if each card also keeps `activations` bytes. `None` if no number of cards will do.
pub fn cards(parameters: f64, activations: f64, memory: f64, stage: u8) -> Option<u64> {
    // EXERCISE: begin
    let parts = [12.0, 2.0, 2.0]; // the optimizer's, the gradient's, the weight's: in the order of the stages
    let shared: f64 = parts.iter().take(stage.into()).sum::<f64>() * parameters;
    let full: f64 = parts.iter().skip(stage.into()).sum::<f64>() * parameters + activations;
    let room = memory - full;
    if shared == 0.0 && room >= 0.0 {
        return Some(1);
    }
    (room > 0.0).then(|| (shared / room).ceil().max(1.0) as u64)
    // EXERCISE: instead
    // let _ = stage;
    // let bytes = (2.0 + 2.0 + 12.0) * parameters + activations;
    // Some((bytes / memory).ceil().max(1.0) as u64)
    // EXERCISE: end
}
