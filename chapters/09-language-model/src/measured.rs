//! What the chapter measures and draws, one file for each part of the page.

pub mod experiments;
pub mod figures;

use experiments as measured;
use figures as drawn;
use lab::{Chapter, Part};

/// Chapter 9, for the course's command and its book.
pub fn chapter() -> Chapter {
    let part = |experiments, figures, tables| Part { experiments, figures, tables };
    let parts = [
        part(measured::text::experiments(), drawn::text::figures(), drawn::text::tables()),
        part(measured::count::experiments(), drawn::count::figures(), drawn::count::tables()),
        part(measured::step::experiments(), vec![], drawn::step::tables()),
        part(measured::attention::experiments(), drawn::attention::figures(), vec![]),
        part(
            measured::learning::experiments(),
            drawn::learning::figures(),
            drawn::learning::tables(),
        ),
        part(measured::gpu::experiments(), vec![], drawn::gpu::tables()),
        part(measured::devices::experiments(), drawn::devices::figures(), drawn::devices::tables()),
        part(measured::serving::experiments(), drawn::serving::figures(), drawn::serving::tables()),
        part(measured::decoding::experiments(), vec![], vec![]),
        part(measured::quality::experiments(), vec![], vec![]),
        part(measured::cost::experiments(), vec![], drawn::cost::tables()),
    ];
    Chapter::of(9, "language_model", "A language model that writes Rust", parts)
}
