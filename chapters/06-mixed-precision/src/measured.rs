//! What the chapter measures and draws, one file for each part of the page.

pub mod experiments;
pub mod figures;

use experiments as measured;
use figures as drawn;
use lab::{Chapter, Part};

/// Chapter 6, for the course's command and its book.
pub fn chapter() -> Chapter {
    let part = |experiments, figures, tables| Part { experiments, figures, tables };
    let parts = [
        part(measured::formats::experiments(), vec![], vec![]),
        part(measured::amp::experiments(), drawn::amp::figures(), drawn::amp::tables()),
        part(measured::models::experiments(), vec![], vec![]),
        part(measured::bf16::experiments(), vec![], drawn::bf16::tables()),
    ];
    Chapter::of(6, "mixed_precision", "Mixed precision", parts)
}
