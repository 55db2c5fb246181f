//! What the chapter measures and draws: its [`experiments`], the [`race`] against the [`peers`], and the [`figures`] and
//! tables made from the records.

use lab::Chapter;

pub mod experiments;
pub mod figures;
pub mod peers;
pub mod race;

/// Chapter 3, for the course's command and its book.
pub fn chapter() -> Chapter {
    Chapter {
        number: 3,
        name: "backprop",
        title: "Backpropagation is matrix multiplication",
        experiments: experiments::experiments(),
        figures: figures::figures(),
        tables: figures::tables(),
    }
}
