//! The verdict on a program that was trained on one batch.

/// What a curve of losses says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The loss of this step, from 0, is the first that is NaN or infinite.
    NotFinite(usize),
    /// The first loss is not that of guessing.
    BadStart,
    /// The batch was memorised: the program passes.
    Memorised,
    /// Nothing moves.
    Still,
    /// It ends above its beginning.
    Rises,
    /// It falls, and stops well above zero.
    Stops,
}

/// The verdict on the losses of training on one batch of images of so many classes.
pub fn verdict(losses: &[f64], classes: usize) -> Verdict {
    // EXERCISE: begin
    let _ = classes;
    match losses.last() {
        Some(last) if *last < 0.1 => Verdict::Memorised,
        _ => Verdict::Stops,
    }
    // EXERCISE: end
}
