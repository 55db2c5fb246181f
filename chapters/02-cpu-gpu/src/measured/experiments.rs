//! What this chapter measures, one file a part.

pub mod counters;
pub mod counts;
pub mod devices;
pub mod ladder;
pub mod lu;
pub mod truck;
pub mod wrong;

use lab::Experiment;

/// In the order of the page.
pub fn all() -> Vec<Experiment> {
    [
        devices::all(),
        truck::all(),
        counts::all(),
        wrong::all(),
        ladder::all(),
        counters::all(),
        lu::all(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
