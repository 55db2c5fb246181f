//! What this chapter measures, one file for each question.

pub mod counters;
pub mod counts;
pub mod devices;
pub mod ladder;
pub mod lu;
pub mod truck;

use crate::figures;
use lab::{Chapter, Experiment};

/// Chapter 2 as the course's command sees it.
pub fn chapter() -> Chapter {
    Chapter {
        number: 2,
        name: "cpu_gpu",
        title: "CPU and GPU",
        experiments: experiments(),
        figures: figures::all(),
        tables: figures::tables(),
    }
}

/// In the order of the page.
fn experiments() -> Vec<Experiment> {
    [devices::all(), truck::all(), counts::all(), ladder::all(), counters::all(), lu::all()]
        .into_iter()
        .flatten()
        .collect()
}
