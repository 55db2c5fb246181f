//! What this chapter measures or calculates, and the figures and tables made from that.

pub mod experiments;
pub mod figures;

use lab::{Chapter, Part};

/// This chapter, for the course's command and its book.
pub fn chapter() -> Chapter {
    let part = Part {
        experiments: experiments::experiments(),
        figures: figures::figures(),
        tables: figures::tables(),
    };
    Chapter::of(8, "hardware", "Choosing hardware", [part])
}
