//! What the chapter measures and draws, one file for each part of the page.

pub mod experiments;
pub mod figures;

use experiments as measured;
use figures as drawn;
use lab::{Chapter, Part};

/// Chapter 5, for the course's command and its book.
pub fn chapter() -> Chapter {
    let part = |experiments, figures, tables| Part { experiments, figures, tables };
    let parts = [
        part(measured::profile::experiments(), drawn::profile::figures(), drawn::profile::tables()),
        part(measured::freed::experiments(), vec![], vec![]),
        part(measured::engine::experiments(), vec![], vec![]),
        part(measured::input::experiments(), drawn::input::figures(), drawn::input::tables()),
        part(measured::memory::experiments(), drawn::memory::figures(), drawn::memory::tables()),
        part(measured::compare::experiments(), drawn::compare::figures(), drawn::compare::tables()),
        part(measured::command::experiments(), vec![], vec![]),
        part(measured::gpu::experiments(), vec![], vec![]),
        part(measured::pytorch::experiments(), vec![], vec![]),
        part(measured::timeline::experiments(), drawn::timeline::figures(), vec![]),
    ];
    Chapter::of(5, "performance", "Making a training step fast", parts)
}
