//! What this chapter measures and shows.

pub mod experiments;
pub mod figures;

use lab::{Chapter, Part};

/// This chapter, for the course's command and its book.
pub fn chapter() -> Chapter {
    let part = |experiments, figures, tables| Part { experiments, figures, tables };
    let parts = [
        part(experiments::comm::experiments(), figures::comm::figures(), figures::comm::tables()),
        part(
            experiments::split::experiments(),
            figures::split::figures(),
            figures::split::tables(),
        ),
        part(experiments::replicas::experiments(), vec![], vec![]),
        part(experiments::plan::experiments(), figures::plan::figures(), vec![]),
    ];
    Chapter::of(7, "multi_gpu", "Many GPUs", parts)
}
