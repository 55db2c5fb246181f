//! How many steps a run of so many seconds has.

/// What is known at some moment of a run.
#[derive(Clone, Copy, Debug)]
pub struct Now<'a> {
    /// Steps taken.
    pub done: u64,
    /// Seconds since the run began.
    pub spent: f64,
    /// Seconds of each of the latest steps: at least one, each above 0.
    pub timed: &'a [f64],
    /// Tests to come, with the one after the last step.
    pub tests: u64,
    /// Seconds of a test.
    pub test: f64,
}

/// The steps of the whole run, of which [`Now::done`] are taken, so that it ends within `budget` seconds, tests included. At
/// least one, and never fewer than are taken.
pub fn steps(budget: f64, now: Now) -> u64 {
    // EXERCISE: begin
    let left = budget - now.spent - now.tests as f64 * now.test;
    let mean = now.timed.iter().sum::<f64>() / now.timed.len() as f64;
    // `as` rounds down, and makes 0 of what is negative.
    now.done.saturating_add((left / mean) as u64).max(1)
    // EXERCISE: instead
    // // As if the run began now, all steps took as long as the usual one, and tests took no time.
    // let _ = (now.done, now.spent, now.tests, now.test);
    // let mut times = now.timed.to_vec();
    // times.sort_by(f64::total_cmp);
    // (budget / times[times.len() / 2]) as u64
    // EXERCISE: end
}
