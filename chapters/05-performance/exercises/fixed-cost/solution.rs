//! The fixed cost of a step.

/// A step in a batch of b takes `fixed + image · b` seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Seconds of a step, whatever the batch.
    pub fixed: f64,
    /// Seconds for each image.
    pub image: f64,
}

/// The line through two measurements, each a batch and the seconds of a step. The batches differ.
pub fn line(small: (f64, f64), large: (f64, f64)) -> Line {
    // EXERCISE: begin
    let image = (large.1 - small.1) / (large.0 - small.0);
    Line { fixed: small.1 - image * small.0, image }
    // EXERCISE: instead
    // // As if nothing were fixed.
    // let _ = small;
    // Line { fixed: 0.0, image: large.1 / large.0 }
    // EXERCISE: end
}

/// How many times as long `theirs` takes as `ours` in this batch.
pub fn ratio(theirs: Line, ours: Line, batch: f64) -> f64 {
    // EXERCISE: begin
    let seconds = |line: Line| line.fixed + line.image * batch;
    seconds(theirs) / seconds(ours)
    // EXERCISE: instead
    // let _ = batch;
    // theirs.image / ours.image
    // EXERCISE: end
}

/// The batch, above 0, in which both take equally long; `None` if there is none, or if it is every batch.
pub fn even(theirs: Line, ours: Line) -> Option<f64> {
    // EXERCISE: begin
    let batch = (theirs.fixed - ours.fixed) / (ours.image - theirs.image);
    (batch.is_finite() && batch > 0.0).then_some(batch)
    // EXERCISE: instead
    // let _ = (theirs, ours);
    // None
    // EXERCISE: end
}
