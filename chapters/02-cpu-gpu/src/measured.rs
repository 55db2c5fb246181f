//! What this chapter measures, and the figures and tables made from that: one file a part of the page in each.

pub mod experiments;
pub mod figures;

use experiments as measured;
use figures as drawn;
use lab::{Chapter, Part};

/// Chapter 2 as the course's command sees it.
pub fn chapter() -> Chapter {
    let part = |experiments, figures, tables| Part { experiments, figures, tables };
    let parts = [
        part(measured::devices::all(), drawn::devices::figures(), drawn::devices::tables()),
        part(measured::truck::all(), drawn::truck::figures(), drawn::truck::tables()),
        part(measured::counts::all(), drawn::counts::figures(), vec![]),
        part(measured::wrong::all(), vec![], drawn::wrong::tables()),
        part(measured::ladder::all(), drawn::ladder::figures(), drawn::ladder::tables()),
        part(measured::counters::all(), vec![], drawn::counters::tables()),
        part(measured::lu::all(), drawn::lu::figures(), vec![]),
    ];
    Chapter::of(2, "cpu_gpu", "The GPU", parts)
}
