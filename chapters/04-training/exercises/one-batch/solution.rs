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
    if let Some(step) = losses.iter().position(|loss| !loss.is_finite()) {
        return Verdict::NotFinite(step);
    }
    let (Some(first), Some(last)) = (losses.first(), losses.last()) else {
        return Verdict::Still;
    };
    let guess = (classes as f64).ln();
    if (first - guess).abs() > guess / 5.0 {
        Verdict::BadStart
    } else if *last < first / 10.0 {
        Verdict::Memorised
    } else if losses.iter().all(|loss| (loss - first).abs() <= first / 1000.0) {
        Verdict::Still
    } else if last > first {
        Verdict::Rises
    } else {
        Verdict::Stops
    }
    // EXERCISE: instead
    // let _ = classes;
    // match losses.last() {
    //     Some(last) if *last < 0.1 => Verdict::Memorised,
    //     _ => Verdict::Stops,
    // }
    // EXERCISE: end
}
