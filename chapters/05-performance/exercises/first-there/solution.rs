//! The time to an accuracy, over several runs.

/// An epoch: seconds from the start of the run to its end, and the test accuracy there.
pub type Epoch = (f64, f64);

/// The seconds at the end of the first epoch with an accuracy of at least `goal`; `None` if there is none.
pub fn reached(run: &[Epoch], goal: f64) -> Option<f64> {
    // EXERCISE: begin
    run.iter().find(|epoch| epoch.1 >= goal).map(|epoch| epoch.0)
    // EXERCISE: instead
    // run.iter().filter(|epoch| epoch.1 >= goal).map(|epoch| epoch.0).next_back()
    // EXERCISE: end
}

/// The median of the runs' times to the goal, where a run that does not reach it takes infinitely long. `None` if
/// that is not a number, or if there are no runs.
pub fn typical(runs: &[Vec<Epoch>], goal: f64) -> Option<f64> {
    // EXERCISE: begin
    let time = |run: &Vec<Epoch>| reached(run, goal).unwrap_or(f64::INFINITY);
    let mut times: Vec<f64> = runs.iter().map(time).collect();
    times.sort_by(f64::total_cmp);
    let last = times.len().checked_sub(1)?;
    let median = f64::midpoint(times[last / 2], times[last.div_ceil(2)]);
    median.is_finite().then_some(median)
    // EXERCISE: instead
    // let mut times: Vec<f64> = runs.iter().filter_map(|run| reached(run, goal)).collect();
    // times.sort_by(f64::total_cmp);
    // times.get(times.len() / 2).copied()
    // EXERCISE: end
}
