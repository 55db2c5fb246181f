//! What the chapter measures and draws, one file for each part of the page.

use lab::Chapter;

pub mod experiments;
pub mod figures;

/// Chapter 6, for the course's command and its book.
pub fn chapter() -> Chapter {
    Chapter {
        number: 6,
        name: "mixed_precision",
        title: "Mixed precision",
        experiments: experiments::experiments(),
        figures: figures::figures(),
        tables: figures::tables(),
    }
}
