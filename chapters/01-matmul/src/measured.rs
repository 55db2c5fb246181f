//! What the page measures and draws: records, and the figures and tables made from them.

pub mod experiments;
pub mod figures;

use lab::Chapter;

/// Chapter 1, for the course's command and its book.
pub fn chapter() -> Chapter {
    Chapter {
        number: 1,
        name: "matmul",
        title: "One matrix product",
        experiments: experiments::experiments(),
        figures: figures::figures(),
        tables: figures::tables(),
    }
}
