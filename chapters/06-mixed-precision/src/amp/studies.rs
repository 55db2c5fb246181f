//! x
pub fn experiments() -> Vec<lab::Experiment> {
    vec![]
}
