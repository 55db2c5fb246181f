//! What the chapter measures and draws, one file for each part of the page.

pub mod experiments;
pub mod figures;

use experiments as measured;
use figures as drawn;
use lab::{Chapter, Part};

/// Chapter 9, for the course's command and its book.
pub fn chapter() -> Chapter {
    let part = |experiments| Part { experiments, ..Part::default() };
    let parts = [
        part(measured::text::experiments()),
        part(measured::count::experiments()),
        part(measured::step::experiments()),
        part(measured::attention::experiments()),
        Part {
            experiments: measured::learning::experiments(),
            figures: drawn::learning::figures(),
            tables: drawn::learning::tables(),
        },
        part(measured::gpu::experiments()),
        Part { tables: drawn::devices::tables(), ..part(measured::devices::experiments()) },
        part(measured::serving::experiments()),
        part(measured::decoding::experiments()),
        part(measured::quality::experiments()),
        Part { tables: drawn::cost::tables(), ..part(measured::cost::experiments()) },
    ];
    Chapter::of(9, "language_model", "A language model that writes Rust", parts)
}
