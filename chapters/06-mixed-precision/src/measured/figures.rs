//! The chapter's pictures and tables, made from one machine's records.

use lab::{Figure, Table};

mod amp;
mod bf16;
mod formats;

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    let parts = [formats::figures(), amp::figures(), bf16::figures()];
    parts.into_iter().flatten().collect()
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    let parts = [formats::tables(), amp::tables(), bf16::tables()];
    parts.into_iter().flatten().collect()
}
