//! What this chapter measures, and the figures and tables made from that: one file a part of the page in each.

pub mod experiments;
pub mod figures;

use lab::Chapter;

/// Chapter 2 as the course's command sees it.
pub fn chapter() -> Chapter {
    Chapter {
        number: 2,
        name: "cpu_gpu",
        title: "The GPU",
        experiments: experiments::all(),
        figures: figures::all(),
        tables: figures::tables(),
    }
}
