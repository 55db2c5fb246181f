//! The chapter's figures and tables, made from one machine's records: of the main [`job`], and of the [`studies`].

pub mod job;
pub mod studies;

use lab::{Figure, Table};

/// The figures that the page quotes.
pub fn figures() -> Vec<Figure> {
    job::figures().into_iter().chain(studies::figures()).collect()
}

/// The tables that the page quotes.
pub fn tables() -> Vec<Table> {
    job::tables().into_iter().chain(studies::tables()).collect()
}
