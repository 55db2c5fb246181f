//! What this chapter measures, and the figures and tables that are made from the records: the model for all chapters.

pub mod experiments;
pub mod figures;

use crate::Chapter;

/// Chapter 0, for the course's command and its book.
pub fn chapter() -> Chapter {
    Chapter {
        number: 0,
        name: "lab",
        title: "The lab",
        experiments: experiments::experiments(),
        figures: figures::figures(),
        tables: figures::tables(),
    }
}
