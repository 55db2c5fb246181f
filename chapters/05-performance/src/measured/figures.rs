//! The chapter's pictures and tables, made from one machine's records.

use lab::{Figure, Table};

mod compare;
mod engine;
mod gpu;
mod input;
mod memory;
mod profile;

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    let parts = [
        profile::figures(),
        engine::figures(),
        input::figures(),
        memory::figures(),
        compare::figures(),
    ];
    parts.into_iter().flatten().collect()
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    let parts = [
        profile::tables(),
        engine::tables(),
        input::tables(),
        memory::tables(),
        compare::tables(),
        gpu::tables(),
    ];
    parts.into_iter().flatten().collect()
}
